//! A trace without names: what is left are shapes, sizes and times.
//!
//! Each name becomes a pseudonym, the same one wherever it is told. Codes of frames and modules'
//! places, which are addresses, become small numbers. What is kept is chosen name by name: a fact of
//! a new kind does not compile until somebody has decided what it may tell.

use std::io::{self, Read, Write};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::for_each;
use super::pseudonyms::Pseudonyms;
use super::writer::AnyWriter;
use crate::event::{
    DESERIALISED_NAME, GROWTH, GROWTH_NAME, LEFT_OUT_NAME, Location, TRUNCATED_NAME, TraceInfo,
    class_of, class_remark,
};
use crate::fact::{Fact, Held, Holder, Label, Module, Parent, Process, Sampler, ThreadName};
use crate::frame::Frame;
use crate::ids::LocationCode;
use crate::record::RecordKind;
use crate::{AnyReader, ReadError};

/// Names of samplers and runtimes that are nobody's own.
const COMMON: [&str; 4] = ["malloc", "native", "ocaml", "ruby"];

/// What Memtrace and this crate write where there is no name.
const NO_NAMES: [&str; 6] =
    ["??", "<unknown>", GROWTH_NAME, DESERIALISED_NAME, LEFT_OUT_NAME, TRUNCATED_NAME];

/// Names and their pseudonyms, in one trace.
#[derive(Debug)]
pub struct Strip {
    without_lines: bool,
    functions: Pseudonyms,
    sources: Pseudonyms,
    /// The executable is one.
    modules: Pseudonyms,
    threads: Pseudonyms,
    hosts: Pseudonyms,
    containers: Pseudonyms,
    arguments: Pseudonyms,
    contexts: Pseudonyms,
    values: Pseudonyms,
    markers: Pseudonyms,
    traces: Pseudonyms,
    samplers: Pseudonyms,
    runtimes: Pseudonyms,
    codes: FxHashMap<LocationCode, LocationCode>,
    /// The codes that have the numbers 1, 2 and so on.
    numbered: Vec<LocationCode>,
    /// Where the next module is put.
    next_module: u64,
}

impl Strip {
    /// Line numbers are kept, unless they are to go as well.
    pub fn new(without_lines: bool) -> Self {
        Self {
            without_lines,
            functions: Pseudonyms::new('f'),
            sources: Pseudonyms::new('s'),
            modules: Pseudonyms::new('m'),
            threads: Pseudonyms::new('t'),
            hosts: Pseudonyms::new('h'),
            containers: Pseudonyms::new('k'),
            arguments: Pseudonyms::new('a'),
            contexts: Pseudonyms::new('c'),
            values: Pseudonyms::new('v'),
            markers: Pseudonyms::new('n'),
            traces: Pseudonyms::new('p'),
            samplers: Pseudonyms::new('q'),
            runtimes: Pseudonyms::new('r'),
            codes: FxHashMap::default(),
            numbered: Vec::new(),
            next_module: 0,
        }
    }

    /// What the stripped trace says about itself.
    pub fn info(&mut self, info: &TraceInfo) -> TraceInfo {
        let has_names = !are_settings(&info.runtime_params);
        TraceInfo {
            sample_rate: info.sample_rate,
            word_bits: info.word_bits,
            executable_name: self.modules.of_path(&info.executable_name).to_string(),
            host_name: self.hosts.of(&info.host_name).to_string(),
            runtime_params: if has_names { String::new() } else { info.runtime_params.clone() },
            pid: info.pid,
            start_time: info.start_time,
            initial_domain: info.initial_domain,
            context: info.context.as_ref().map(|context| self.contexts.of(context).to_string()),
        }
    }

    fn fact(&mut self, fact: Fact) -> Fact {
        match fact {
            Fact::Counters(_)
            | Fact::Collector(_)
            | Fact::RuntimeCount(_)
            | Fact::Cycle(_)
            | Fact::Resize(_)
            | Fact::Looked(_)
            | Fact::Lost(_)
            | Fact::Exit(_)
            | Fact::WallClock(_) => fact,
            Fact::Notice(code) => Fact::Notice(self.notice(&code)),
            Fact::Marker(text) => Fact::Marker(self.markers.of(&text)),
            Fact::Label(Label { key, value }) => {
                Fact::Label(Label { key, value: self.values.of(&value) })
            }
            Fact::ThreadName(ThreadName { thread, os_id, name }) => {
                Fact::ThreadName(ThreadName { thread, os_id, name: self.threads.of(&name) })
            }
            Fact::Parent(Parent { pid, trace }) => {
                Fact::Parent(Parent { pid, trace: self.traces.of_path(&trace) })
            }
            Fact::Sampler(sampler) => {
                let name = common_or(&sampler.name, &mut self.samplers);
                Fact::Sampler(Sampler { name, ..sampler })
            }
            Fact::Module(module) => Fact::Module(self.module(&module)),
            Fact::Process(process) => Fact::Process(self.process(&process)),
            Fact::Held(Held { by, blocks }) => Fact::Held(Held { by: self.holder(by), blocks }),
        }
    }

    fn holder(&mut self, holder: Holder) -> Holder {
        match holder {
            Holder::Variable(name) => Holder::Variable(self.functions.of(&name)),
            Holder::Thread(name) => Holder::Thread(self.threads.of(&name)),
            Holder::File(path) => Holder::File(self.modules.of_path(&path)),
            nameless => nameless,
        }
    }

    /// A file, or a number, or both with a colon between.
    fn subject(&mut self, subject: &str) -> String {
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        match subject.split_once(':') {
            _ if is_number(subject) => subject.to_owned(),
            Some((number, file)) if is_number(number) => {
                format!("{number}:{}", self.modules.of_path(file))
            }
            _ => self.modules.of_path(subject).to_string(),
        }
    }

    /// Recorders' codes are nobody's own, but what stands behind a colon is the file that one is about.
    /// What is no code may be anything.
    fn notice(&mut self, notice: &str) -> Arc<str> {
        let is_code = |code: &str| code.bytes().all(|it| it.is_ascii_lowercase() || it == b'-');
        match notice.split_once(':') {
            Some((code, subject)) if is_code(code) => {
                format!("{code}:{}", self.subject(subject)).into()
            }
            _ if is_code(notice) => notice.into(),
            _ => self.markers.of(notice),
        }
    }

    /// Modules lie one behind the other, each linked to where it is.
    fn module(&mut self, module: &Module) -> Module {
        let start = self.next_module;
        let end = start.saturating_add(module.end.saturating_sub(module.start));
        self.next_module = end;
        let path = self.modules.of_path(&module.path);
        Module { number: module.number, start, end, bias: start, build_id: Vec::new(), path }
    }

    fn process(&mut self, process: &Process) -> Process {
        Process {
            arguments: process.arguments.iter().map(|it| self.arguments.of(it)).collect(),
            executable: self.modules.of_path(&process.executable),
            pid: process.pid,
            parent_pid: process.parent_pid,
            host: self.hosts.of(&process.host),
            container: self.containers.of(&process.container),
            runtime: common_or(&process.runtime, &mut self.runtimes),
            runtime_version: process.runtime_version.clone(),
            agent_version: process.agent_version.clone(),
            start: process.start,
            name: self.modules.of_path(&process.name),
            title: self.contexts.of(&process.title),
        }
    }

    fn code(&mut self, code: LocationCode) -> LocationCode {
        if code == GROWTH {
            return code;
        }
        let numbered = &mut self.numbered;
        *self.codes.entry(code).or_insert_with(|| {
            numbered.push(code);
            LocationCode(numbered.len() as u64)
        })
    }

    /// What a code was before.
    fn original(&self, code: LocationCode) -> LocationCode {
        let index = (code.0 as usize).wrapping_sub(1);
        self.numbered.get(index).copied().unwrap_or(code)
    }

    fn frame(&mut self, frame: Frame) -> Frame {
        let locations = frame.locations.iter().map(|it| self.location(it)).collect();
        Frame { locations, ..frame }
    }

    fn location(&mut self, location: &Location) -> Location {
        let defname = match class_of(location) {
            Some(class) => class_remark(&self.functions.of(class)).defname,
            None if NO_NAMES.contains(&&*location.defname) => location.defname.clone(),
            None => self.functions.of(&location.defname),
        };
        let filename = match NO_NAMES.contains(&&*location.filename) {
            true => location.filename.clone(),
            false => self.sources.of_path(&location.filename),
        };
        match self.without_lines {
            true => Location { filename, line: 0, start_char: 0, end_char: 0, defname },
            false => Location { filename, defname, ..*location },
        }
    }
}

fn common_or(name: &str, pseudonyms: &mut Pseudonyms) -> Arc<str> {
    if COMMON.contains(&name) { name.into() } else { pseudonyms.of(name) }
}

/// Whether these are settings such as `a=0,H=0x1f,s=256k`, and nothing else.
fn are_settings(parameters: &str) -> bool {
    parameters.split(',').all(|setting| {
        let mut chars = setting.chars();
        let key = chars.next().is_none_or(|it| it.is_ascii_alphabetic());
        let equals = chars.next().is_none_or(|it| it == '=');
        let value = chars.as_str();
        let is_number = match value.strip_prefix("0x") {
            Some(digits) => digits.chars().all(|it| it.is_ascii_hexdigit()),
            None => value.trim_end_matches(['k', 'M', 'G']).chars().all(|it| it.is_ascii_digit()),
        };
        key && equals && is_number
    })
}

/// Copies all that is left, without names. The writer must have been given [`Strip::info`].
///
/// Returns what kept the input from being read to its end; what was told before has been copied.
///
/// # Errors
///
/// The output's.
pub fn strip<R: Read, W: Write>(
    reader: &mut AnyReader<R>,
    writer: &mut AnyWriter<W>,
    strip: &mut Strip,
) -> io::Result<Option<ReadError>> {
    let mut backtrace = Vec::new();
    let stopped = for_each(reader, |reader, mut record| {
        match &mut record.kind {
            RecordKind::Birth(birth) => {
                backtrace.truncate(birth.common_prefix);
                let new = &reader.backtrace()[backtrace.len()..];
                backtrace.extend(new.iter().map(|code| strip.code(*code)));
            }
            RecordKind::Fact(fact) => **fact = strip.fact((**fact).clone()),
            RecordKind::Promotion(_) | RecordKind::Collection(_) => {}
        }
        writer.put(&record, &backtrace, &mut |code| {
            let original = strip.original(code);
            strip.frame(reader.frame(original))
        })
    })?;
    writer.extend(reader.end_time())?;
    Ok(stopped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_stays_one_by_another_name() {
        let mut strip = Strip::new(false);
        let class = strip.location(&class_remark("Secret::Plan"));
        assert_eq!(class, class_remark("f1"));
        assert_eq!(strip.location(&class_remark("Secret::Plan")), class);
    }
}
