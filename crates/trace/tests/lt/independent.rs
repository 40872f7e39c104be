//! A decoder in another language, written from the document alone, reads the same in all golden files.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use lifetrace_trace::event::{Event, GROWTH, Source};
use lifetrace_trace::fact::{Exit, Fact, Holder, Module};
use lifetrace_trace::ids::{LocationCode, Size};
use lifetrace_trace::lt::{Item, Reader};

use crate::support::fixtures_with;

#[test]
fn an_independent_decoder_reads_the_same() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lt/independent.py");
    for path in fixtures_with("lt") {
        let output = match Command::new("python3").arg(&script).arg(&path).output() {
            Ok(output) => output,
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "python3: {error}");
                eprintln!("skipped: no python3 ({error})");
                return;
            }
        };
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {errors}", path.display());
        let theirs = String::from_utf8(output.stdout).unwrap();
        let ours = lines(&std::fs::read(&path).unwrap());
        for (number, (theirs, ours)) in theirs.lines().zip(ours.lines()).enumerate() {
            assert_eq!(theirs, ours, "{}: line {}", path.display(), number + 1);
        }
        assert_eq!(theirs.lines().count(), ours.lines().count(), "{}", path.display());
    }
}

fn lines(trace: &[u8]) -> String {
    let mut reader = Reader::open(trace).unwrap();
    let mut out = header(&reader);
    while let Some((time, item)) = reader.next().unwrap() {
        let mut tail = match item {
            Item::Fact(fact) => fact_fields(&fact),
            Item::Event(Event::Promotion(id)) => format!("promotion\t{}", id.0),
            Item::Event(Event::Collection(id)) => format!("collection\t{}", id.0),
            Item::Event(Event::Allocation(it)) => {
                let backtrace = it.backtrace.to_vec();
                let (id, samples, source) = (it.id.0, it.samples, it.source);
                birth(&reader, id, samples, source, backtrace)
            }
        };
        let (thread, domain) = (reader.thread().0, reader.domain().0);
        tail.insert_str(0, &format!("{}\t{thread}\t{domain}\t", time.0));
        writeln!(out, "{tail}").unwrap();
    }
    let index = reader.index().unwrap();
    let it = index.summary;
    let fields = [it.allocations, it.samples, it.promotions, it.collections, it.facts, it.frames];
    let fields =
        fields.into_iter().chain([it.duration, it.packets, index.checkpoints.len() as u64]);
    writeln!(out, "index{}", joined(fields)).unwrap();
    if let Some(closing) = &index.closing {
        let peak = figure(closing.peak_resident.map(|bytes| bytes.0));
        writeln!(out, "closing\t{}\t{peak}", closing.truncated_backtraces).unwrap();
        for fact in &closing.facts {
            writeln!(out, "of all\t{}", fact_fields(fact)).unwrap();
        }
    }
    out
}

fn figure(it: Option<u64>) -> String {
    it.map_or("-".to_owned(), |it| it.to_string())
}

fn joined<T: std::fmt::Display>(fields: impl IntoIterator<Item = T>) -> String {
    fields.into_iter().map(|field| format!("\t{field}")).collect()
}

fn header(reader: &Reader<&[u8]>) -> String {
    let it = reader.info();
    let mut out = format!("header\t{}\t{}", it.start_time.0, it.sample_rate.to_bits());
    write!(out, "\t{}\t{}\t{}", it.word_bits, it.pid, it.initial_domain.0).unwrap();
    out += &joined([&it.executable_name, &it.host_name, &it.runtime_params]);
    out += &joined(&it.context);
    out + "\n"
}

fn birth(
    reader: &Reader<&[u8]>,
    id: u64,
    samples: u64,
    source: Source,
    mut backtrace: Vec<LocationCode>,
) -> String {
    let details = reader.birth().unwrap();
    let (in_bytes, size) = match details.size {
        Size::Words(words) => (0, words.0),
        Size::Bytes(bytes) => (1, bytes.0),
    };
    let class = source as u32
        | in_bytes << 2
        | u32::from(details.is_growth) << 3
        | u32::from(details.is_truncated) << 4
        | u32::from(samples != 1) << 5
        | u32::from(details.sampler.0) << 6;
    if backtrace.last() == Some(&GROWTH) {
        backtrace.pop();
    }
    let mut hasher = crc32fast::Hasher::new();
    backtrace.iter().for_each(|code| hasher.update(&code.0.to_le_bytes()));
    let (depth, checksum) = (backtrace.len(), hasher.finalize());
    let mut out = format!("birth\t{id}\t{class}\t{size}\t{samples}\t{depth}\t{checksum}");
    let Some(frame) = backtrace.last().map(|code| reader.frame(*code).unwrap()) else {
        return out + "\t0\t0";
    };
    let module = frame.module.map_or(0, |module| module + 1);
    write!(out, "\t{}\t{module}", frame.kind as u32).unwrap();
    for it in &frame.locations {
        let (line, start, end) = (it.line, it.start_char, it.end_char);
        write!(out, "\t{}\t{line}\t{start}\t{end}\t{}", it.filename, it.defname).unwrap();
    }
    out
}

fn fact_fields(fact: &Fact) -> String {
    match fact {
        Fact::Counters(it) => {
            let figures = [
                it.resident.map(|bytes| bytes.0),
                it.proportional.map(|bytes| bytes.0),
                it.minor_faults,
                it.major_faults,
                it.allocator_in_use.map(|bytes| bytes.0),
                it.allocator_held.map(|bytes| bytes.0),
                it.most_resident.map(|bytes| bytes.0),
            ];
            format!("counters{}", joined(figures.map(figure)))
        }
        Fact::ThreadName(it) => format!("thread\t{}\t{}\t{}", it.thread.0, it.os_id, it.name),
        Fact::Module(it) => {
            let build_id: String = it.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
            let Module { number, start, end, bias, path, .. } = it;
            format!("module\t{number}\t{start}\t{end}\t{bias}\t{build_id}\t{path}")
        }
        Fact::Sampler(it) => {
            let (unit, rate) = (it.unit as u32, it.rate.to_bits());
            format!("sampler\t{}\t{unit}\t{rate}\t{}", it.id.0, it.name)
        }
        Fact::Cycle(it) => {
            format!("cycle\t{}\t{}\t{}", it.generation as u32, u32::from(it.begins), it.number)
        }
        Fact::Resize(it) => match it.size {
            Size::Words(words) => format!("resize\t{}\t0\t{}", it.id.0, words.0),
            Size::Bytes(bytes) => format!("resize\t{}\t1\t{}", it.id.0, bytes.0),
        },
        Fact::Label(it) => format!("label\t{}\t{}", it.key, it.value),
        Fact::Marker(text) => format!("marker\t{text}"),
        Fact::Lost(it) => format!("lost\t{}\t{}", it.reason, it.count),
        Fact::Process(it) => {
            let start = it.start.map_or(0, |start| start.0 + 1);
            let names = [&it.executable, &it.host, &it.container];
            let runtime = [&it.runtime, &it.runtime_version, &it.agent_version];
            let arguments = joined(&it.arguments);
            let numbers = joined([it.pid, it.parent_pid, start]);
            let called = [&it.name, &it.title];
            let names = joined(names.into_iter().chain(runtime).chain(called));
            format!("process\t{}{arguments}{numbers}{names}", it.arguments.len())
        }
        Fact::Parent(it) => format!("parent\t{}\t{}", it.pid, it.trace),
        Fact::Exit(exit) => match exit {
            Exit::Unknown => "exit\t0\t0".to_owned(),
            Exit::Status(status) => format!("exit\t1\t{status}"),
            Exit::Signal(signal) => format!("exit\t2\t{signal}"),
            Exit::Exec => "exit\t3\t0".to_owned(),
        },
        Fact::WallClock(time) => format!("clock\t{}", time.0),
        Fact::Collector(it) => {
            let standing = u8::from(it.is_behind) + 2 * u8::from(it.has_samplers_share);
            format!("collector{}\t{standing}", joined(it.figures().map(figure)))
        }
        Fact::Notice(code) => format!("notice\t{code}"),
        Fact::RuntimeCount(it) => format!("count\t{}\t{}", it.name, it.value),
        Fact::Looked(it) => format!("looked\t{}\t{}", it.bytes.0, it.micros),
        Fact::Held(it) => {
            let by = match &it.by {
                Holder::Nothing => "0".to_owned(),
                Holder::Lost => "1".to_owned(),
                Holder::Variable(name) => format!("2\t{name}"),
                Holder::Block(id) => format!("3\t{}", id.0),
                Holder::Kernel => "4".to_owned(),
                Holder::Thread(name) => format!("5\t{name}"),
                Holder::File(name) => format!("6\t{name}"),
                Holder::Memory => "7".to_owned(),
            };
            format!("held\t{by}{}", joined(it.blocks.iter().map(|id| id.0)))
        }
    }
}
