//! What a trace tells beside the lives of blocks: of its process, its end, its threads and files.

use lifetrace_trace::fact::{Exit, Fact, Process};

use crate::support::fixture;
use crate::support::profile::facts_of;
use crate::support::run::{Recording, Target, file_name};

const EXACT: &[&str] = &["--rate", "1"];

fn facts(recording: &Recording, program: &str) -> Vec<Fact> {
    facts_of(&recording.trace_of(program))
}

fn process(facts: &[Fact]) -> &Process {
    let found = facts.iter().find_map(|fact| match fact {
        Fact::Process(process) => Some(process),
        _ => None,
    });
    found.expect("a trace tells of its process")
}

fn exits(facts: &[Fact]) -> Vec<Exit> {
    let exit = |fact: &Fact| match fact {
        Fact::Exit(exit) => Some(*exit),
        _ => None,
    };
    facts.iter().filter_map(exit).collect()
}

#[test]
fn the_process_its_modules_and_what_the_user_says() {
    let program = fixture::c("family");
    let target = Target::new(&[&program]);
    let facts = facts(&target.record(&["--rate", "1", "--label", "build=7"]), "family");
    let process = process(&facts);
    assert_eq!(process.arguments, [program.to_str().unwrap().into()]);
    assert_eq!((&*process.executable, &*process.runtime), (program.to_str().unwrap(), "native"));
    let age = process.start.expect("it has begun").0;
    let wall = facts.iter().find_map(|fact| match fact {
        Fact::WallClock(time) => Some(time.0),
        _ => None,
    });
    assert!(wall.expect("the clock is told").abs_diff(age) < 600_000_000);
    let modules = facts.iter().filter_map(|fact| match fact {
        Fact::Module(module) => Some(module),
        _ => None,
    });
    let modules: Vec<_> = modules.collect();
    assert!((0..).zip(&modules).all(|(number, module)| module.number == number));
    assert!(modules.iter().any(|it| it.path.contains("libc.so") && it.build_id.len() == 20));
    let label = facts.iter().any(
        |fact| matches!(fact, Fact::Label(label) if (&*label.key, &*label.value) == ("build", "7")),
    );
    assert!(label, "{facts:?}");
}

#[test]
fn how_the_command_ends() {
    for (script, expected) in [
        ("exit 0", Exit::Status(0)),
        ("exit 123", Exit::Status(123)),
        ("kill -KILL $$", Exit::Signal(9)),
        ("kill -SEGV $$", Exit::Signal(11)),
    ] {
        let recording = Target::new(&["bash", "-c", script]).record(EXACT);
        assert_eq!(exits(&facts(&recording, "bash")), [expected], "{script}");
    }
}

#[test]
fn a_program_that_becomes_another_says_so() {
    let recording = Target::new(&["bash", "-c", "exec perl -e 'exit 3'"]).record(EXACT);
    assert_eq!(exits(&facts(&recording, "bash")), [Exit::Exec]);
    assert_eq!(exits(&facts(&recording, "perl")), [Exit::Status(3)]);
}

#[test]
fn a_recording_that_is_over_does_not_know_the_end() {
    let target = Target::new(&[&fixture::c("steady")]).arguments(&["600"]);
    let recording = target.record(&["--rate", "1", "--duration", "100ms"]);
    assert_eq!(exits(&facts(&recording, "steady")), []);
}

#[test]
fn a_child_names_the_trace_of_its_parent() {
    let script = "perl -e 'exit 3'; exit 0";
    let recording = Target::new(&["bash", "-c", script]).record(EXACT);
    let childs = facts(&recording, "perl");
    let parent = process(&childs).parent_pid;
    let told = childs.iter().find_map(|fact| match fact {
        Fact::Parent(parent) => Some((parent.pid, parent.trace.to_string())),
        _ => None,
    });
    assert_eq!(told, Some((parent, format!("bash.{parent}.lt"))));
    let name = format!("bash.{parent}.lt");
    let traces = recording.traces();
    let parents = traces.iter().find(|path| file_name(path) == name);
    let parents = facts_of(parents.expect("the parent has a trace"));
    assert_eq!((process(&parents).pid, exits(&parents)), (parent, vec![Exit::Status(0)]));
}

#[test]
fn threads_have_their_names_and_counters_go_on() {
    let target = Target::new(&[&fixture::c("steady")]).arguments(&["400"]);
    let recording = target.record(&["--rate", "1", "--counters", "10ms"]);
    let facts = facts(&recording, "steady");
    let named = facts.iter().any(
        |fact| matches!(fact, Fact::ThreadName(it) if &*it.name == "steady" && it.thread.0 > 0),
    );
    let resident = facts.iter().filter_map(|fact| match fact {
        Fact::Counters(counters) => counters.resident,
        _ => None,
    });
    assert!(named, "{facts:?}");
    assert!(resident.count() > 3, "{facts:?}");
}
