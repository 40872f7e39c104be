//! The gem: programs that sample themselves, read by our readers.
//!
//! The program is `ruby/test/sampled.rb`; what it does at a word is said there.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use lifetrace_pprof::proto::Profile;
use lifetrace_trace::event::{Event, class_of};
use lifetrace_trace::fact::Fact;
use tempfile::TempDir;

use crate::support::pprof::decoded;
use crate::support::profile::{assert_complete, facts_of, read_through};
use crate::support::reader::Reader;
use crate::support::ruby::{gem, native_library, run, sampled};
use crate::support::run::{Outcome, files};
use crate::support::snapshot::Snapshot;

/// What the program prints, and what it leaves in a folder.
fn done(word: &str) -> (TempDir, Outcome) {
    let folder = tempfile::tempdir().unwrap();
    let outcome = sampled(word, folder.path()).bare();
    assert_eq!((outcome.code, outcome.stderr_text().as_str()), (0, ""), "{outcome:?}");
    (folder, outcome)
}

/// Lines of words and numbers.
fn table(outcome: &Outcome) -> Vec<(String, Vec<u64>)> {
    let text = outcome.stdout_text();
    let row = |line: &str| {
        let (words, numbers): (Vec<&str>, Vec<&str>) =
            line.split(' ').partition(|word| word.parse::<u64>().is_err());
        (words.join(" "), numbers.iter().map(|number| number.parse().unwrap()).collect())
    };
    text.lines().map(row).collect()
}

fn profile(path: &Path) -> Profile {
    decoded(&std::fs::read(path).unwrap())
}

/// What each function that is called so has, of objects of its own class: its profile's four numbers.
fn by_function(profile: &Profile, class: &str) -> BTreeMap<String, [i64; 4]> {
    let string = |index: i64| profile.string_table[index as usize].as_str();
    let function = |location: u64| {
        let line = &profile.location[location as usize - 1].line[0];
        string(profile.function[line.function_id as usize - 1].name).to_owned()
    };
    let mut sums = BTreeMap::new();
    for sample in &profile.sample {
        let is_of_class = |label: &lifetrace_pprof::proto::Label| {
            (string(label.key), string(label.text)) == ("class", class)
        };
        let found =
            sample.location_id.iter().map(|&it| function(it)).find(|it| it.starts_with("Object#"));
        if let (true, Some(function)) = (sample.label.iter().any(is_of_class), found) {
            let sum = sums.entry(function).or_insert([0; 4]);
            sum.iter_mut().zip(&sample.value).for_each(|(sum, value)| *sum += value);
        }
    }
    sums
}

#[test]
fn what_is_retained_is_so_to_the_byte() {
    let (folder, outcome) = done("retained");
    for (name, numbers) in table(&outcome) {
        let (file, function) = name.split_once(' ').unwrap();
        let class = match function {
            "Object#retained_strings" => "String",
            "Object#retained_things" => "Thing",
            _ => "Array",
        };
        let profile = profile(&folder.path().join(file));
        let [.., objects, bytes] = by_function(&profile, class)[function];
        assert_eq!([objects, bytes], [numbers[0] as i64, numbers[1] as i64], "{name}");
    }
}

#[test]
fn a_program_takes_snapshots_of_itself() {
    let (folder, outcome) = done("snapshots");
    let things = table(&outcome)[0].1[0] as usize;
    let mut files = files(folder.path());
    files.retain(|path| path.extension().is_some_and(|it| it == "lth"));
    assert_eq!(files.len(), 10, "{files:?}");
    for path in &files {
        let snapshot = Snapshot::read(path);
        // Other threads make some, of which each may have one on its stack.
        let held = snapshot.held_by(|_| true);
        let of_class = snapshot.blocks.iter().zip(held);
        let found = of_class.filter(|(it, is_held)| &*it.kind.name == "Thing" && *is_held).count();
        assert!((things..things + 20).contains(&found), "{}: {found}", path.display());
        let is_child = path.ends_with("child.lth");
        assert!(is_child || snapshot.samples.len() > things / 20, "{}", path.display());
    }
}

#[test]
fn a_profile_says_what_its_numbers_are() {
    let (folder, _) = done("retained");
    let first = |file: &str| {
        let profile = profile(&folder.path().join(file));
        let string = |index: i64| profile.string_table[index as usize].clone();
        let types: Vec<_> = profile.sample_type.iter().map(|it| string(it.kind)).collect();
        assert_eq!(types, ["alloc_objects", "alloc_space", "retained_objects", "retained_size"]);
        let period = profile.period_type.unwrap();
        assert_eq!((string(period.kind), profile.period), ("objects".to_owned(), 1));
        // Classes are labels here, and nothing of the machine's own is outside of the program.
        assert!(!profile.string_table.iter().any(|it| it.starts_with("[class")));
        let mains = profile.function.iter().filter(|it| string(it.name) == "<main>");
        assert_eq!(mains.count(), 1);
        let dropped = by_function(&profile, "Thing")["Object#dropped"];
        let rounds = 1 + file.as_bytes()[0] as i64 - i64::from(b'0');
        assert!(dropped[0] == 5_000 * rounds && dropped[2] <= 1, "{dropped:?}");
        string(profile.default_sample_type)
    };
    assert_eq!(["0.pprof", "2.pprof"].map(first), ["retained_size", "alloc_space"]);
}

/// How many objects of a class a trace has.
fn made(trace: &Path, class: &str) -> u64 {
    let (mut reader, mut made) = (Reader::open(trace), 0);
    while let Some(step) = reader.next() {
        let Some((_, Event::Allocation(birth))) = step else { continue };
        let innermost = birth.backtrace.last().copied();
        made +=
            u64::from(innermost.is_some_and(|code| {
                reader.locations(code).first().and_then(class_of) == Some(class)
            }));
    }
    made
}

#[test]
fn each_start_has_a_trace_of_its_own() {
    let (folder, outcome) = done("restarts");
    for (file, numbers) in table(&outcome) {
        let trace = folder.path().join(&file);
        assert_complete(&trace);
        assert_eq!(made(&trace, "Thing"), numbers[0], "{file}");
        let facts = facts_of(&trace);
        let labels = facts.iter().filter_map(|fact| match fact {
            Fact::Label(label) => Some((&*label.key, &*label.value)),
            _ => None,
        });
        assert!(labels.eq([("round", file.strip_suffix(".lt").unwrap())]));
    }
}

#[test]
fn each_process_has_a_trace_and_profiles_of_its_own() {
    let (folder, outcome) = done("forks");
    let processes = outcome.stdout_text();
    let mut processes = processes.lines();
    let parent = processes.next().unwrap();
    let at = |name: &str| folder.path().join(name);
    let things = |name: &str| {
        assert_complete(&at(name));
        made(&at(name), "Thing")
    };
    assert_eq!(things("parent.lt"), 600);
    let mut expected = vec![at("parent.lt"), at(&format!("{parent}-0.pprof"))];
    for child in processes {
        let name = format!("parent.{child}.lt");
        assert_eq!(things(&name), 700);
        expected.push(at(&name));
        // Twice by the program, and once at its end.
        expected.extend((0..3).map(|index| at(&format!("{child}-{index}.pprof"))));
    }
    expected.sort();
    assert_eq!(files(folder.path()), expected);
}

#[test]
fn what_cannot_be_is_refused() {
    let (_, outcome) = done("refusals");
    assert_eq!(outcome.stdout_text(), "b.pprof\nthere.lt\n");
}

#[test]
fn a_child_that_cannot_be_recorded_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = sampled("unable", folder.path()).bare();
    assert_eq!(outcome.code, 0, "{outcome:?}");
}

#[test]
fn all_at_once() {
    let (folder, _) = done("torture");
    let traces = files(folder.path());
    // Six of the program, and as many of its children, which were not ended.
    assert_eq!(traces.len(), 12, "{traces:?}");
    traces.iter().for_each(|trace| {
        read_through(trace);
    });
}

#[test]
fn one_line_in_a_rack_program() {
    done("middleware");
}

#[test]
fn under_record_there_is_nothing_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let recording =
        sampled("elsewhere", folder.path()).record(&["--rate", "1", "--sources", "ruby"]);
    assert_eq!(recording.outcome.code, 0, "{:?}", recording.outcome);
    assert_eq!(made(&recording.traces()[0], "Thing"), 100);
}

/// As users get it: with its library, for their platform, in a folder of its own. Others than the system's Ruby come
/// without RubyGems.
#[test]
fn the_gem_is_built_and_installed() {
    if std::env::var_os("LIFETRACE_RUBY").is_some() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    run(Command::new("cp").arg("-r").arg(gem()).arg(&source));
    std::fs::copy(native_library(), source.join("lib/lifetrace/lifetrace.so")).unwrap();
    let home = folder.path().join("home");
    let gem = |words: &[&str]| {
        run(Command::new("gem").args(words).current_dir(&source).env("GEM_HOME", &home))
    };
    gem(&["build", "--strict", "lifetrace.gemspec", "-o", "lifetrace.gem"]);
    gem(&["install", "--local", "--no-document", "lifetrace.gem"]);
    let code = "require 'lifetrace'; print Lifetrace.profile(rate: 1) { 1000.times { Object.new } }.samples >= 1000";
    let mut ruby = Command::new("ruby");
    let told = run(ruby.args(["-e", code]).env("GEM_HOME", &home).current_dir("/"));
    assert_eq!(told, "true");
}

/// Built where it is installed, as Bundler does from a repository.
#[test]
fn the_gem_is_built_from_its_sources() {
    if std::env::var_os("LIFETRACE_RUBY").is_some() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let extension = gem().join("ext/lifetrace/extconf.rb");
    run(Command::new("ruby").arg(extension).current_dir(folder.path()));
    let root = folder.path().join("root");
    let mut make = Command::new("make");
    make.arg("install").arg(format!("DESTDIR={}", root.display())).arg("sitearchdir=/site");
    run(make.current_dir(folder.path()).env("LIFETRACE_GEM_LIBRARY", native_library()));
    assert!(root.join("site/lifetrace/lifetrace.so").is_file());
}
