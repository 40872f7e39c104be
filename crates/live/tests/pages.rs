//! The page at 80 and at 200 columns, and what keys do to it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use lifetrace_live::board::{Board, View};
use lifetrace_live::model::{Effect, Key, Model, Order};
use lifetrace_live::page::{self, Theme};
use lifetrace_live::process::{Aspect, Screen, Session, Sessions};
use lifetrace_study::choice::Choice;
use lifetrace_study::open::{Backtraces, Trace};
use lifetrace_trace::ids::Timestamp;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use unicode_width::UnicodeWidthStr;

/// A board with the fixtures' processes of these names, of which the first goes on.
fn board(names: &[&str]) -> (Board, Sessions, tempfile::TempDir) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces");
    let folder = tempfile::tempdir().unwrap();
    let session = |name: &&str| {
        let trace = folder.path().join(name);
        fs::copy(fixtures.join(name), &trace).unwrap();
        let told = Trace::open(&trace, Backtraces::Skip).unwrap().info().pid;
        Session {
            pid: u32::try_from(told).unwrap(),
            parent: 1,
            program: format!("prog\u{1b}[2J-{name}"),
            trace: Some(trace),
            since: Timestamp(5),
            bytes: 0,
            lost: 0,
        }
    };
    let all: Vec<_> = names.iter().map(session).collect();
    let sessions = Sessions { begun: all.len() as u64 + 2, all };
    let mut board = Board::new(Choice::default()).unwrap();
    board.take(sessions.clone());
    assert!(board.advance(Duration::from_secs(60)));
    (board, sessions, folder)
}

fn lines(model: &Model, view: &View, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let theme = Theme { has_colours: true };
    terminal.draw(|frame| page::draw(frame, model, view, theme)).unwrap();
    let buffer = terminal.backend().buffer();
    let rows = buffer.content.chunks(usize::from(width));
    let rows: Vec<String> =
        rows.map(|cells| cells.iter().map(|cell| cell.symbol()).collect()).collect();
    assert!(rows.iter().all(|row| !row.contains('\u{1b}')), "{rows:?}");
    assert!(rows.iter().all(|row| row.width() <= usize::from(width)));
    rows.iter().map(|row| row.trim_end().to_owned()).collect()
}

fn press(model: &mut Model, board: &mut Board, keys: &[Key]) -> Effect {
    let mut effect = Effect::Draw;
    for &key in keys {
        let view = board.view(model.screen());
        effect = model.key(key, &view, 10);
    }
    effect
}

fn contains(lines: &[String], part: &str) -> bool {
    lines.iter().any(|line| line.contains(part))
}

#[test]
fn processes_and_their_callsites() {
    let (mut board, _sessions, _folder) =
        board(&["server-1e-5-v2.1.lt", "leaking.lt", "native-python.lt"]);
    for (width, is_wide) in [(80, false), (200, true)] {
        let mut model = Model::default();
        let all = lines(&model, &board.view(model.screen()), width, 24);
        assert!(all[0].starts_with("lifetrace live  processes"), "{all:#?}");
        assert!(all[1].starts_with("3 recorded now, 0 ended, 2 more"), "{all:#?}");
        assert!(contains(&all, "prog\\u{1b}[2J-"), "{all:#?}");
        assert_eq!(all[4].contains("LOST"), is_wide, "{all:#?}");
        assert_eq!(all.len(), 24);
        press(&mut model, &mut board, &[Key::Enter]);
        let callsites = lines(&model, &board.view(model.screen()), width, 24);
        assert!(callsites[4].contains("LIVE▼") && callsites[4].contains("GROWTH/MIN"));
        assert_eq!(callsites[4].contains("AT PEAK"), is_wide, "{callsites:#?}");
        assert!(callsites[1].contains("  live "), "{callsites:#?}");
        assert!(callsites[23].contains("q quit"), "{callsites:#?}");
    }
}

#[test]
fn every_size_has_a_page() {
    let (mut board, _sessions, _folder) = board(&["leaking.lt"]);
    for keys in
        [&[][..], &[Key::Enter], &[Key::Enter, Key::Enter], &[Key::Enter, Key::Enter, Key::Tab]]
    {
        let mut model = Model::default();
        press(&mut model, &mut board, keys);
        let view = board.view(model.screen());
        for (width, height) in [(1, 1), (20, 5), (40, 8), (79, 9), (80, 24), (110, 30), (300, 100)]
        {
            lines(&model, &view, width, height);
        }
    }
}

#[test]
fn a_callsite_has_its_calls_and_lifetimes() {
    let (mut board, _sessions, _folder) = board(&["leaking.lt"]);
    let mut model = Model::default();
    press(&mut model, &mut board, &[Key::Enter, Key::Enter]);
    assert!(matches!(model.screen(), Screen::Callsite(_, _, Aspect::Tree)));
    let tree = lines(&model, &board.view(model.screen()), 80, 24);
    assert!(tree[0].contains("calls that lead to") && tree[4].contains("CALLED"), "{tree:#?}");
    assert!(contains(&tree, "main"), "{tree:#?}");
    press(&mut model, &mut board, &[Key::Tab]);
    board.view(model.screen());
    board.advance(Duration::from_secs(60));
    let lifetimes = lines(&model, &board.view(model.screen()), 80, 24);
    assert!(contains(&lifetimes, "live now") && contains(&lifetimes, "freed"), "{lifetimes:#?}");
    press(&mut model, &mut board, &[Key::Escape, Key::Escape]);
    assert_eq!(model.screen(), &Screen::Processes);
}

#[test]
fn the_end_is_told_and_the_page_stays() {
    let (mut board, sessions, _folder) = board(&["leaking.lt"]);
    let mut model = Model::default();
    press(&mut model, &mut board, &[Key::Enter]);
    board.take(Sessions { all: Vec::new(), ..sessions });
    board.advance(Duration::from_secs(60));
    let page = lines(&model, &board.view(model.screen()), 100, 24);
    assert!(page[1].contains("ENDED"), "{page:#?}");
    assert!(contains(&page, "LIVE▼") && page.iter().filter(|line| !line.is_empty()).count() > 5);
}

#[test]
fn filters_are_typed_and_mistakes_are_told() {
    let (mut board, _sessions, _folder) = board(&["leaking.lt"]);
    let mut model = Model::default();
    press(&mut model, &mut board, &[Key::Enter, Key::Char('f')]);
    let typed: Vec<_> = "size >> 1".chars().map(Key::Char).collect();
    press(&mut model, &mut board, &typed);
    assert_eq!(press(&mut model, &mut board, &[Key::Enter]), Effect::Draw);
    let page = lines(&model, &board.view(model.screen()), 200, 24);
    assert!(page[23].starts_with("filter: size >> 1_") && page[23].len() > 30, "{page:#?}");
    press(&mut model, &mut board, &[Key::Backspace; 9]);
    let typed: Vec<_> = "size > 1MiB".chars().map(Key::Char).collect();
    press(&mut model, &mut board, &typed);
    let Effect::Filter(filter) = press(&mut model, &mut board, &[Key::Enter]) else { panic!() };
    board.choose(filter).unwrap();
    board.advance(Duration::from_secs(60));
    let page = lines(&model, &board.view(model.screen()), 100, 24);
    assert!(page[2].contains("filter: size>1MiB"), "{page:#?}");
    let refused = board.choose("lifetime < 1s".parse().unwrap()).unwrap_err();
    assert!(refused.contains("while it lives"), "{refused}");
    assert_eq!(board.choice().filter.to_string(), "size>1MiB");
}

#[test]
fn a_mark_has_a_column() {
    let (mut board, _sessions, _folder) = board(&["leaking.lt"]);
    let mut model = Model::default();
    assert_eq!(press(&mut model, &mut board, &[Key::Enter, Key::Char('m')]), Effect::Mark);
    board.mark();
    let page = lines(&model, &board.view(model.screen()), 80, 24);
    assert!(page[4].contains("SINCE MARK") && !page[4].contains("GROWTH"), "{page:#?}");
    let wide = lines(&model, &board.view(model.screen()), 200, 24);
    assert!(wide[4].contains("SINCE MARK") && wide[4].contains("GROWTH"), "{wide:#?}");
    assert_eq!(press(&mut model, &mut board, &[Key::Char('d')]), Effect::Draw);
    assert_eq!(model.order(), Order::Marked);
    board.unmark();
    let page = lines(&model, &board.view(model.screen()), 80, 24);
    assert!(!page[4].contains("SINCE MARK"), "{page:#?}");
}

#[test]
fn rows_are_stepped_through_and_ordered() {
    let (mut board, _sessions, _folder) = board(&["server-1e-5-v2.1.lt"]);
    let mut model = Model::default();
    press(&mut model, &mut board, &[Key::Enter]);
    let first = |model: &Model, board: &mut Board| {
        let page = lines(model, &board.view(model.screen()), 120, 12);
        (page[5].clone(), page[10].clone())
    };
    let (top, told) = first(&model, &mut board);
    press(&mut model, &mut board, &[Key::End]);
    let (scrolled, last) = first(&model, &mut board);
    assert!(top != scrolled && told != last);
    press(&mut model, &mut board, &[Key::Home, Key::Down, Key::Up, Key::PageDown, Key::PageUp]);
    assert_eq!(first(&model, &mut board), (top.clone(), told));
    press(&mut model, &mut board, &[Key::Char('n')]);
    assert_ne!(first(&model, &mut board).0, top);
}

#[test]
fn what_would_end_with_the_page_is_asked_for() {
    let (mut board, _sessions, _folder) = board(&["leaking.lt"]);
    let mut model = Model::default();
    assert_eq!(press(&mut model, &mut board, &[Key::Char('q')]), Effect::Quit);
    model.ask_before_end(Some("really?".to_owned()));
    assert_eq!(press(&mut model, &mut board, &[Key::Char('q')]), Effect::Draw);
    let page = lines(&model, &board.view(model.screen()), 80, 24);
    assert_eq!(page[23], "really?");
    assert_eq!(press(&mut model, &mut board, &[Key::Char('n')]), Effect::Draw);
    assert_eq!(model.message(), None);
    assert_eq!(press(&mut model, &mut board, &[Key::Interrupt, Key::Char('y')]), Effect::Quit);
    let help = press(&mut model, &mut board, &[Key::Char('?')]);
    assert_eq!(help, Effect::Draw);
    let page = lines(&model, &board.view(model.screen()), 80, 24);
    assert!(contains(&page, "95 % interval"), "{page:#?}");
}

#[test]
fn as_text_it_has_no_keys() {
    let (mut board, _sessions, _folder) = board(&["leaking.lt"]);
    let mut model = Model::default();
    press(&mut model, &mut board, &[Key::Enter]);
    let text = page::text(&model, &board.view(model.screen()), 100, 3);
    assert!(text.starts_with("lifetrace live  ") && !text.contains("q quit"), "{text}");
    assert!(text.lines().count() <= 7, "{text}");
}
