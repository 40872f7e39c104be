//! A trace that is read while it grows comes to the same as `report` of all of it.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lifetrace_analysis::account::Balance;
use lifetrace_analysis::call_tree::NodeId;
use lifetrace_analysis::filter::Filter;
use lifetrace_analysis::{Callsites, Metric, Shaped, Sites};
use lifetrace_live::board::Board;
use lifetrace_live::book::{self, Book};
use lifetrace_live::lives::Lives;
use lifetrace_live::process::{Screen, Session, Sessions, Stage};
use lifetrace_live::rows;
use lifetrace_live::sites::SiteTable;
use lifetrace_study::accounts::Accounts;
use lifetrace_study::choice::Choice;
use lifetrace_study::{Study, watch};
use lifetrace_trace::ids::Timestamp;

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces");
    let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let traces = all.filter(|path| path.extension().is_some_and(|suffix| suffix == "lt"));
    let mut traces: Vec<_> = traces.collect();
    traces.sort();
    assert!(traces.len() > 3);
    traces
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

/// Reads a trace while it is copied in so many portions.
fn read_growing(
    trace: &Path,
    portions: usize,
    choice: &Choice,
) -> (Book, PathBuf, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("growing.lt");
    File::create(&copy).unwrap();
    let bytes = std::fs::read(trace).unwrap();
    let mut book = None;
    for portion in bytes.chunks(bytes.len().div_ceil(portions)) {
        OpenOptions::new().append(true).open(&copy).unwrap().write_all(portion).unwrap();
        if book.is_none() {
            book = Book::open(&copy, choice, None).unwrap();
        }
        if let Some(book) = &mut book {
            assert!(book.advance(soon()));
        }
    }
    let mut book = book.unwrap();
    book.close();
    assert!(book.advance(soon()) && book.is_finished());
    (book, copy, folder)
}

fn balances(of: &impl Accounts) -> Vec<(NodeId, Balance)> {
    // What survives to the end of a trace has an end there, which a growing one has not.
    let known = |(node, balance): (NodeId, Balance)| {
        (node, Balance { lives: Default::default(), ..balance })
    };
    of.balances().map(known).collect()
}

fn check(trace: &Path, filter: &str) {
    let choice = Choice { filter: filter.parse().unwrap(), ..Choice::default() };
    let study = Study::of(trace, choice.clone(), watch::unwatched).unwrap();
    let name = trace.display();
    for portions in [1, 17] {
        let (book, ..) = read_growing(trace, portions, &choice);
        assert_eq!(balances(&book), balances(&study), "{name}");
        let (now, then) = (book.summary(), study.summary());
        assert_eq!((now.live, now.allocated, now.peak), (then.live, then.allocated, then.peak));
        assert_eq!(book.reading().facts, study.reading.facts, "{name}");
        let mut table = SiteTable::default();
        table.update(&book);
        let mut rows = rows::amounts(&book, &table).rows;
        rows.retain(|row| row.has.live.samples > 0);
        let sites = Sites::new(Shaped::new(study.tree(), study.names(), study.view()));
        let report = Callsites::new(sites, study.balances(), Metric::Live);
        assert_eq!(rows.len(), report.callsites.len(), "{name}");
        for callsite in &report.callsites {
            let is_it = |row: &&rows::Row| {
                row.has.live == callsite.live
                    && row.name.told.function.as_deref() == callsite.place.function()
            };
            assert!(rows.iter().any(|row| is_it(&row)), "{name}: {:?}", callsite.place);
        }
    }
}

#[test]
fn of_all_blocks() {
    fixtures().iter().for_each(|trace| check(trace, ""));
}

#[test]
fn of_some_blocks() {
    fixtures().iter().for_each(|trace| check(trace, "size > 100B allocated 0s..50s"));
}

#[test]
fn what_is_not_known_yet_is_refused() {
    let refused = |text: &str| book::check(&text.parse::<Filter>().unwrap()).is_err();
    for text in ["alive at 5s", "not freed", "lifetime < 1s", "allocated peak..end", "promoted"] {
        assert!(refused(text), "{text}");
    }
    for text in ["", "size > 1KiB", "fn ~ parse", "allocated 10s..20s", "source=native"] {
        assert!(!refused(text), "{text}");
    }
}

#[test]
fn changes_since_a_mark_add_up() {
    for trace in fixtures() {
        let choice = Choice::default();
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("growing.lt");
        let bytes = std::fs::read(&trace).unwrap();
        std::fs::write(&copy, &bytes[..bytes.len() / 2]).unwrap();
        let Some(mut book) = Book::open(&copy, &choice, None).unwrap() else { continue };
        book.advance(soon());
        let before = book.summary().live.bytes.value;
        let at = book.mark();
        std::fs::write(&copy, &bytes).unwrap();
        book.close();
        book.advance(soon());
        let change = rows::total(&book).marked.unwrap().change();
        let after = book.summary().live.bytes.value;
        assert!((after - before - change).abs() <= 1e-6 * (before + after), "{}", trace.display());
        // Who begins again later knows the same.
        let mut again = Book::open(&copy, &choice, Some(at)).unwrap().unwrap();
        again.close();
        again.advance(soon());
        let same = rows::total(&again).marked.map(|marked| marked.change());
        assert!(same.is_none_or(|same| same == change), "{same:?} {change}");
    }
}

/// As a collector does from time to time.
#[test]
fn a_process_whose_recorder_begins_another_file_stays_the_same() {
    let trace = fixtures().remove(0);
    let folder = tempfile::tempdir().unwrap();
    let copy = |name: &str| {
        let copy = folder.path().join(name);
        std::fs::copy(&trace, &copy).unwrap();
        copy
    };
    let pid = Book::open(&trace, &Choice::default(), None).unwrap().unwrap();
    let pid = pid.reading().trace.info().pid as u32;
    let sessions = |path: PathBuf, since: u64| {
        let (program, trace, since) = ("a".to_owned(), Some(path), Timestamp(since));
        let session = Session { pid, parent: 1, program, trace, since, bytes: 0, lost: 0 };
        Sessions { all: vec![session], begun: 1 }
    };
    let mut board = Board::new(Choice::default()).unwrap();
    let mut shown = |sessions| {
        board.take(sessions);
        board.advance(Duration::from_secs(60));
        board.mark();
        board.view(&Screen::Processes).processes
    };
    let first = shown(sessions(copy("first.lt"), 5));
    let second = shown(sessions(copy("second.lt"), 5));
    assert!(matches!(&second[..], [it] if it.key == first[0].key && it.stage == Stage::Running));
    assert_eq!(second[0].session.trace, Some(folder.path().join("second.lt")));
    let third = shown(sessions(copy("third.lt"), 6));
    assert!(third.len() == 2 && third[1].key != first[0].key, "{third:?}");
}

#[test]
fn lifetimes_are_those_of_all_that_was_allocated() {
    for trace in fixtures() {
        let choice = Choice::default();
        let (book, copy, _folder) = read_growing(&trace, 3, &choice);
        let mut table = SiteTable::default();
        table.update(&book);
        let mut lives = Lives::open(&copy, &choice).unwrap().unwrap();
        lives.close();
        lives.advance(soon());
        assert!(!lives.is_behind());
        for row in rows::amounts(&book, &table).rows {
            let lifetime = lives.of(&table, &row.name);
            let blocks = lifetime.time.deaths().total().blocks()
                + lifetime.time.survivors().total().blocks();
            assert_eq!(blocks, row.has.allocated.samples, "{}", trace.display());
        }
    }
}

/// Callsites that are asked for again and again have what they have if they are asked for once.
#[test]
fn asking_changes_nothing() {
    for trace in fixtures() {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("growing.lt");
        File::create(&copy).unwrap();
        let bytes = std::fs::read(&trace).unwrap();
        let (mut often, mut table) = (None, SiteTable::default());
        for portion in bytes.chunks(bytes.len().div_ceil(9)) {
            OpenOptions::new().append(true).open(&copy).unwrap().write_all(portion).unwrap();
            if often.is_none() {
                often = Book::open(&copy, &Choice::default(), None).unwrap();
            }
            if let Some(book) = &mut often {
                book.advance(soon());
                // Sometimes their callsites are not known yet.
                table.update(book);
                book.settle(&table);
            }
        }
        let (often, once) = (often.unwrap(), read_growing(&trace, 1, &Choice::default()).0);
        let mut whole = SiteTable::default();
        whole.update(&once);
        let named = |book: &Book, table: &SiteTable| {
            let moved = |row: &rows::Row| (row.has.recent.new, row.has.recent.gone);
            let rows = rows::amounts(book, table).rows.into_iter();
            rows.map(|row| (row.name.clone(), moved(&row))).collect::<BTreeMap<_, _>>()
        };
        table.renew(&often);
        assert!(named(&often, &table) == named(&once, &whole), "{}", trace.display());
    }
}
