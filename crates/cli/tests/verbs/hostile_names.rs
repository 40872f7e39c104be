//! Names that drive terminals, or turn the order of what is around them: nothing that is shown has them as
//! they are.

use lifetrace_pprof::proto::{Label as PprofLabel, Line, Profile, Sample};
use lifetrace_pprof::tables::{Code, Strings};
use lifetrace_trace::event::{Location, Source, TraceInfo};
use lifetrace_trace::fact::{
    Exit, Fact, Label, Lost, Parent, Process, SampledUnit, Sampler, ThreadName,
};
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{
    AllocationId, Bytes, DomainId, LocationCode, SamplerId, Size, ThreadId, Timestamp,
};
use lifetrace_trace::lt::{NewBirth, Writer};

use crate::imports::import;
use crate::*;

/// What follows is right to left; red; the screen is cleared by one character of two bytes; another line.
const HOSTILE: &str = "a\u{202e}\u{1b}[31m\u{9b}2J\nZ\u{2066}\u{200f}";
const SHOWN: &str = "a\\u{202e}\\u{1b}[31m\\u{9b}2J\\u{a}Z\\u{2066}\\u{200f}";

fn facts() -> Vec<Fact> {
    let process = Process {
        arguments: vec![HOSTILE.into(), HOSTILE.into()],
        executable: HOSTILE.into(),
        pid: 7,
        parent_pid: 1,
        host: HOSTILE.into(),
        container: HOSTILE.into(),
        runtime: HOSTILE.into(),
        runtime_version: HOSTILE.into(),
        agent_version: HOSTILE.into(),
        start: None,
        name: HOSTILE.into(),
        title: HOSTILE.into(),
    };
    let sampler =
        Sampler { id: SamplerId(0), name: HOSTILE.into(), unit: SampledUnit::Byte, rate: 1e-3 };
    let thread = ThreadName { thread: ThreadId(0), os_id: 8, name: HOSTILE.into() };
    vec![
        Fact::Process(process),
        Fact::Sampler(sampler),
        Fact::ThreadName(thread),
        Fact::Label(Label { key: HOSTILE.into(), value: HOSTILE.into() }),
        Fact::Lost(Lost { reason: HOSTILE.into(), count: 3 }),
        Fact::Parent(Parent { pid: 3, trace: HOSTILE.into() }),
        Fact::Marker(HOSTILE.into()),
        Fact::Notice(HOSTILE.into()),
        Fact::Notice(format!("became-static:{HOSTILE}").into()),
        Fact::Notice(format!("cut-at-file:5:{HOSTILE}").into()),
    ]
}

/// All its names are [`HOSTILE`], each function's with a number after it.
fn trace(count: u64) -> Scratch {
    let info = TraceInfo {
        sample_rate: 1e-3,
        word_bits: 64,
        executable_name: HOSTILE.into(),
        host_name: HOSTILE.into(),
        runtime_params: HOSTILE.into(),
        pid: 7,
        start_time: Timestamp(1_000_000),
        initial_domain: DomainId(0),
        context: Some(HOSTILE.into()),
    };
    let mut writer = Writer::new(Vec::new(), &info).unwrap();
    for fact in facts() {
        writer.fact(Timestamp(1_000_000), &fact).unwrap();
    }
    let mut frame = |code: LocationCode| Frame {
        locations: vec![Location {
            filename: HOSTILE.into(),
            line: 3,
            start_char: 0,
            end_char: 0,
            defname: format!("{HOSTILE}{}", code.0).into(),
        }],
        ..Frame::default()
    };
    for number in 0..count {
        let time = Timestamp(1_000_000 + 100 * number);
        let birth = NewBirth {
            size: Size::Bytes(Bytes(16 << (number % 8))),
            samples: 1,
            source: Source::External,
            sampler: SamplerId(0),
            is_truncated: false,
            backtrace: &[LocationCode(0), LocationCode(1 + number % 5)],
            common_prefix: 0,
            id: None,
        };
        writer.birth(time, &birth, &mut frame).unwrap();
        if number % 2 == 0 {
            writer.collection(time, AllocationId(number)).unwrap();
        }
    }
    writer.fact(Timestamp(1_000_000 + 100 * count), &Fact::Exit(Exit::Status(0))).unwrap();
    Scratch::new(&writer.finish().unwrap())
}

fn is_hostile(character: char) -> bool {
    let is_layout = character == '\n' || character == '\t' || character == '\r';
    let turns =
        matches!(u32::from(character), 0x61c | 0x200e | 0x200f | 0x2028..=0x202e | 0x2066..=0x2069);
    character.is_control() && !is_layout || turns
}

/// All that is said; it has no such name as it is.
fn said(arguments: &[&str]) -> String {
    let output = run(arguments);
    let said = text(&output.stdout) + &text(&output.stderr);
    if let Some(at) = said.find(is_hostile) {
        let before: String = said[..at].chars().rev().take(60).collect();
        panic!("{arguments:?}: after {:?}", before.chars().rev().collect::<String>());
    }
    // The name has a line feed, too, before its `Z`.
    assert!(!said.lines().any(|line| line.starts_with('Z')), "{arguments:?}: {said}");
    said
}

#[test]
fn pages() {
    let (trace, short) = (trace(400), trace(3));
    let (path, other) = (trace.path(), short.path());
    let (path, other) = (argument(&path), argument(&other));
    for view in VIEWS {
        let page = said(&[&["report", path], view].concat());
        assert!(page.starts_with(SHOWN), "{view:?}: {page}");
        said(&[&["report", path, "--json"], view].concat());
    }
    for arguments in [
        &["report", path, "--view", "threads"][..],
        &["report", path, other, "--per-process"],
        &["report", path, other, "--view", "tree"],
        &["report", path, "--filter", "label:a"],
        &["report", path, "--focus", "nobody", "--strict", "--fail-if", "live > 1"],
        &["diff", path, other, "--all"],
        &["diff", path, other, "--all", "--by", "function"],
        &["diff", path, other, "--all", "--by", "tree"],
        &["diff", path, other, "--all", "--json"],
        &["info", path],
        &["info", path, "--json"],
        &["check", path],
        &["check", path, "--json"],
        &["dump", path],
        &["dump", path, "--all-columns"],
        &["dump", path, "--packets"],
    ] {
        said(arguments);
    }
    assert!(said(&["report", path, "--view", "threads"]).matches(SHOWN).count() > 3);
    assert!(said(&["dump", path]).contains(&format!("marker\ttext={SHOWN}")));
}

#[test]
fn text_of_exports() {
    let trace = trace(400);
    for format in [
        "collapsed",
        "speedscope",
        "firefox",
        "svg",
        "dhat",
        "events-csv",
        "events-json",
        "callsites-csv",
        "callsites-json",
    ] {
        said(&["export", "-F", format, argument(&trace.path()), "-o", "-"]);
    }
}

#[test]
fn json_means_the_names_as_they_are() {
    let trace = trace(400);
    let report = json(&["report", argument(&trace.path()), "--json"]);
    assert_eq!(report["callsites"][0]["file"], HOSTILE);
    assert_eq!(report["trace"]["executable"], HOSTILE);
}

/// What is said of a file whose name is such a one, and which is none.
#[test]
fn messages() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x\u{202e}\u{1b}[31m");
    fs::write(&path, b"nothing").unwrap();
    for verb in ["report", "info", "check", "dump", "import"] {
        let said = said(&[verb, argument(&path)]);
        assert!(said.contains("x\\u{202e}\\u{1b}[31m"), "{verb}: {said}");
    }
}

/// The trace of a recording of heaptrack that has such names.
#[test]
fn heaptracks_recordings() {
    let name = HOSTILE.replace('\n', "");
    let string = |text: &str| format!("s {:x} {text}\n", text.len());
    let strings: String = [format!("{name}main"), name.clone(), format!("/{name}")]
        .iter()
        .map(|it| string(it))
        .collect();
    let recording = format!(
        "v 10400 3\nX {name} -x\nI 1000 4000\n{strings}i 10 3 1 2 7\nt 1 0\na 10 1\n+ 0\nc a\n+ 0\n- 0\n"
    );
    imported(recording.as_bytes());
}

#[test]
fn profiles_of_pprof() {
    let (mut strings, mut code) = (Strings::default(), Code::default());
    let types = ["inuse_objects", "inuse_space"];
    let unit = |name: &str| if name.ends_with("objects") { "count" } else { "bytes" };
    let sample_type = types.iter().map(|name| strings.value_type(name, unit(name))).collect();
    let function_id = code.function(HOSTILE, HOSTILE, &mut strings);
    let location_id = vec![code.add(0, vec![Line { function_id, line: 1, column: 0 }])];
    let label = PprofLabel {
        key: strings.index(HOSTILE),
        text: strings.index(HOSTILE),
        ..PprofLabel::default()
    };
    let sample = Sample { location_id, value: vec![2, 4096], label: vec![label] };
    let profile = Profile {
        sample_type,
        sample: vec![sample],
        location: code.locations,
        function: code.functions,
        comment: vec![strings.index(HOSTILE)],
        string_table: strings.all,
        ..Profile::default()
    };
    let mut packed = Vec::new();
    lifetrace_pprof::write(&profile, &mut packed).unwrap();
    imported(&packed);
}

fn imported(input: &[u8]) {
    let (trace, output) = import(&Scratch::new(input).path());
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(!told.contains(is_hostile), "{told:?}");
    let path = trace.path();
    let page = said(&["report", argument(&path), "--metric", "live"]);
    assert!(page.contains("a\\u{202e}"), "{page}");
    said(&["info", argument(&path)]);
    said(&["dump", argument(&path), "--all-columns"]);
}
