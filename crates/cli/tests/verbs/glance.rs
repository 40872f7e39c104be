//! `info` of a long trace: header and index say what reading all of it says.

use lifetrace_trace::event::{Source, TraceInfo};
use lifetrace_trace::fact::{Counters, Exit, Fact, Label, Lost};
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{
    AllocationId, Bytes, DomainId, LocationCode, SamplerId, Size, Timestamp,
};
use lifetrace_trace::lt::{NewBirth, Writer};
use serde_json::{Value, json};

use crate::*;

const START: u64 = 1_786_965_711_174_340;

/// Some 160 kB of births and deaths by a fixed rule, with facts before, among and after them.
fn long_trace() -> Vec<u8> {
    let info = TraceInfo {
        sample_rate: 1e-4,
        word_bits: 64,
        executable_name: "/bin/program".into(),
        host_name: "machine".into(),
        runtime_params: String::new(),
        pid: 4242,
        start_time: Timestamp(START),
        initial_domain: DomainId(0),
        context: Some("program --long".into()),
    };
    let mut writer = Writer::new(Vec::new(), &info).unwrap();
    let label = Label { key: "build".into(), value: "7".into() };
    writer.fact(Timestamp(START), &Fact::Label(label)).unwrap();
    let lost = |count| Fact::Lost(Lost { reason: "ring-full".into(), count });
    let mut random = 12_345u64;
    for number in 0..40_000u64 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
        let time = Timestamp(START + 10 * number);
        let birth = NewBirth {
            size: Size::Bytes(Bytes(random >> 44)),
            samples: 1 + number % 2,
            source: Source::External,
            sampler: SamplerId(0),
            is_truncated: number % 10_000 == 9_999,
            backtrace: &[LocationCode(7)],
            common_prefix: 0,
            id: None,
        };
        writer.birth(time, &birth, &mut |_| Frame::default()).unwrap();
        if number % 3 == 0 {
            writer.collection(time, AllocationId(number)).unwrap();
        }
        if number == 20_000 {
            writer.fact(time, &lost(5)).unwrap();
            writer.fact(time, &Fact::Notice("ocaml-domains-misreported".into())).unwrap();
            let resident = Some(Bytes(5 << 20));
            let counters = Counters { resident, ..Counters::default() };
            writer.fact(time, &Fact::Counters(counters)).unwrap();
        }
    }
    let end = Timestamp(START + 500_000);
    writer.fact(end, &lost(2)).unwrap();
    writer.fact(end, &Fact::Exit(Exit::Status(3))).unwrap();
    writer.finish().unwrap()
}

fn info(scratch: &Scratch, options: &[&str]) -> Value {
    json(&[&["info", "--json", argument(&scratch.path())], options].concat())
}

fn without(mut document: Value, fields: &[&str]) -> Value {
    let trace = document["trace"].as_object_mut().unwrap();
    fields.iter().for_each(|field| drop(trace.remove(*field).unwrap()));
    document
}

#[test]
fn the_index_says_what_reading_all_says() {
    let scratch = Scratch::new(&long_trace());
    let (glance, all) = (info(&scratch, &[]), info(&scratch, &["--all"]));
    let unknown = ["facts", "unmatched_events"];
    assert_eq!(without(glance.clone(), &unknown), without(all.clone(), &unknown));
    assert_eq!(glance["trace"]["unmatched_events"], Value::Null);
    assert_eq!(glance["trace"]["samples"], 40_000);
    assert_eq!(glance["trace"]["duration_us"], 500_000);
}

#[test]
fn a_trace_of_few_events_is_read_whole() {
    for trace in [SAMPLE, "listmap-1e-5-v1.0.lt"] {
        assert_eq!(json(&["info", "--json", trace]), json(&["info", "--json", "--all", trace]));
        assert_eq!(json(&["info", "--json", trace])["trace"]["facts"]["complete"], true);
    }
}

/// Wherever they were told.
#[test]
fn facts_of_the_whole_trace_are_there() {
    let scratch = Scratch::new(&long_trace());
    let (glance, all) = (info(&scratch, &[]), info(&scratch, &["--all"]));
    let (mut glance, mut all) = (glance["trace"]["facts"].clone(), all["trace"]["facts"].clone());
    assert_eq!(all["exit"], json!({"how": "status", "code": 3}));
    assert_eq!(all["lost"], json!({"ring-full": 7}));
    assert_eq!(all["notices"], json!(["ocaml-domains-misreported"]));
    assert_eq!(all["truncated_backtraces"], 4);
    assert_eq!(all["peak_resident_bytes"], 5 << 20);
    assert_eq!((&glance["complete"], &all["complete"]), (&json!(false), &json!(true)));
    for counted in ["complete", "markers", "modules", "thread_names", "gc_cycle_steps"] {
        glance[counted].take();
        all[counted].take();
    }
    assert_eq!(glance, all);
    let page = stdout(&["info", argument(&scratch.path())]);
    for note in [
        "ocaml/ocaml#14057",
        "7 events were lost",
        "4 backtraces lack their outermost frames",
        "those of the trace's index; --all reads the rest",
    ] {
        assert!(page.contains(note), "{note}: {page}");
    }
}

/// Cut before its index and end, as a killed recorder leaves it.
#[test]
fn a_trace_that_was_not_finished_is_read_whole() {
    let whole = long_trace();
    let index_at = u64::from_le_bytes(*whole.last_chunk().unwrap()) as usize;
    let scratch = Scratch::new(&whole);
    let expected = info(&scratch, &["--all"]);
    scratch.write(&whole[..index_at]);
    let output = run(&["info", "--json", argument(&scratch.path())]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("was not finished"), "{}", text(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let of_the_index = ["file_bytes", "complete", "contents"];
    assert_eq!(found["trace"]["complete"], false);
    assert_eq!(without(found, &of_the_index), without(expected, &of_the_index));
}

#[test]
fn a_damaged_index_is_told_and_not_believed() {
    let mut trace = long_trace();
    let index_at = u64::from_le_bytes(*trace.last_chunk().unwrap()) as usize;
    trace[index_at + 12] ^= 1;
    let scratch = Scratch::new(&trace);
    let output = run(&["info", "--json", argument(&scratch.path())]);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(message.contains("has no index: all of it was read"), "{message}");
    assert!(message.contains(&format!("byte {index_at}: ")), "{message}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["trace"]["samples"], 40_000);
    assert_eq!(found["damages_total"], 1);
}
