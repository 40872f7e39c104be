//! From what the child says to a file.

use std::fs::File;
use std::io::BufWriter;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lifetrace_trace::ids::AllocationId;
use lifetrace_trace::lth::{self, Address, Header, KindId, Outcome, Writer};
use lifetrace_transport::message::SampleId;
use lifetrace_transport::stream::{self, Ending, Field, Form, FramePlace, Head, Item, Summary};
use rustc_hash::FxHashMap;
use rustix::process::{Pid, Signal, kill_process};

use super::births::Births;
use super::error::SnapshotError;
use super::incoming::{Heard, Stop, Wish, hear, sender};
use super::names::Names;
use super::subject::Subject;
use super::wishes::{SavedSnapshot, SnapshotWish};
use crate::output;
use crate::queue::Numbers;
use crate::shm::Mapping;

/// Writes what comes from the child; a file that is begun and cannot be finished is left, as far as it is.
pub(super) fn save(
    subject: &Subject,
    connection: &OwnedFd,
    parent: Pid,
    wish: &SnapshotWish,
    segment: Option<&Mapping>,
) -> Result<SavedSnapshot, SnapshotError> {
    // Nothing is done to a process that may be the program itself.
    let child = sender(connection).filter(|child| *child != parent);
    let file =
        output::open(&subject.path, wish.overwrite).map_err(|error| of_file(subject, error))?;
    let length = file.try_clone().map_err(|error| of_file(subject, error))?;
    let numbers = subject.numbers.gather();
    let mut saving = Saving::begin(subject, child.unwrap_or(parent), &wish.cause, file)?;
    hear(connection, |heard| saving.take(heard))
        .map_err(|failure| saving.explain(failure, child))?;
    let summary = saving.summary.take().ok_or(SnapshotError::Malformed)?;
    let copied = child.and_then(|child| copied_bytes(child, summary.memory));
    let pause = segment.map_or(Duration::ZERO, pause_of);
    saving.tell_samples(&numbers.recv().unwrap_or_default())?;
    saving.finish(&summary, pause, copied)?;
    if summary.ending == Ending::Memory {
        let _ = std::fs::remove_file(&subject.path);
        return Err(SnapshotError::Memory { pid: subject.pid, limit: wish.memory });
    }
    let file_bytes =
        length.metadata().map(|it| it.len()).map_err(|error| of_file(subject, error))?;
    let Summary { blocks, bytes, cpu_nanos, memory, .. } = summary;
    let (path, cpu) = (subject.path.clone(), Duration::from_nanos(cpu_nanos));
    Ok(SavedSnapshot { path, blocks, bytes, pause, cpu, memory, copied, file_bytes })
}

/// For how long the program was stopped, which it says itself: on a busy machine it may go on later than its child ends.
fn pause_of(segment: &Mapping) -> Duration {
    const PATIENCE: Duration = Duration::from_secs(1);
    const LOOKS_APART: Duration = Duration::from_millis(1);
    let begun = Instant::now();
    loop {
        let (_, nanos) = segment.header().wish().answered();
        if nanos > 0 || begun.elapsed() >= PATIENCE {
            return Duration::from_nanos(nanos);
        }
        std::thread::sleep(LOOKS_APART);
    }
}

fn of_file(subject: &Subject, error: std::io::Error) -> SnapshotError {
    SnapshotError::File { path: subject.path.clone(), error }
}

/// A snapshot that is being written.
struct Saving<'a> {
    subject: &'a Subject,
    writer: Writer<BufWriter<File>>,
    names: Names,
    /// By the child's numbers, and whether a block's words are its fields.
    kinds: Vec<(KindId, bool)>,
    /// What the file has.
    called: FxHashMap<lth::Kind, KindId>,
    categories: Vec<Arc<str>>,
    frames: Vec<Arc<str>>,
    fields: Vec<lth::Field>,
    blocks: u64,
    samples: Vec<(SampleId, u64)>,
    summary: Option<Summary>,
}

/// Why nothing more can be taken.
enum Failure {
    Stop(Stop),
    File(std::io::Error),
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Failure {
        Failure::Stop(stop)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::File(error)
    }
}

impl<'a> Saving<'a> {
    fn begin(
        subject: &'a Subject,
        child: Pid,
        cause: &str,
        file: File,
    ) -> Result<Saving<'a>, SnapshotError> {
        let trace = subject.trace.file_name().map(|name| name.to_string_lossy().into());
        let header = Header {
            program: subject.executable.to_string_lossy().into(),
            pid: subject.pid.into(),
            number: subject.number,
            time: now(),
            runtime: subject.runtime.into(),
            cause: cause.into(),
            word_bytes: 8,
            labels: Vec::new(),
            trace,
        };
        let writer = Writer::new(BufWriter::new(file), &header);
        Ok(Saving {
            subject,
            writer: writer.map_err(|error| of_file(subject, error))?,
            // The program may be gone by now; the child has what it had.
            names: Names::of(child.as_raw_nonzero().get().unsigned_abs()),
            kinds: Vec::new(),
            called: FxHashMap::default(),
            categories: Vec::new(),
            frames: Vec::new(),
            fields: Vec::new(),
            blocks: 0,
            samples: Vec::new(),
            summary: None,
        })
    }

    fn take(&mut self, heard: Heard<'_>) -> Result<Wish, Failure> {
        match heard {
            Heard::Block(head, fields) => self.block(&head, fields)?,
            Heard::Item(Item::Kind { form, word, name }) => self.kind(form, word, name)?,
            Heard::Item(Item::Category(name)) => {
                self.categories.push(String::from_utf8_lossy(name).into());
            }
            Heard::Item(Item::Frame(place)) => self.frame(&place),
            Heard::Item(Item::Root { category, frame, slot, to }) => {
                self.root(category, frame, slot, to)?;
            }
            Heard::Item(Item::Sample { id, address }) => self.samples.push((SampleId(id), address)),
            Heard::Item(Item::End(summary)) => {
                self.summary = Some(summary);
                return Ok(Wish::Nothing);
            }
            Heard::Item(Item::Block(_)) => return Err(Stop::Malformed.into()),
        }
        Ok(Wish::More)
    }

    /// Kinds that are called alike are one: classes without names of their own.
    fn kind(&mut self, form: Form, word: u64, name: &[u8]) -> Result<(), Failure> {
        let kind = lth::Kind { name: self.names.kind(form, word, name), form: of_form(form) };
        let known = self.called.get(&kind).copied();
        let id = match known {
            Some(id) => id,
            None => self.writer.kind(&kind)?,
        };
        self.called.insert(kind, id);
        self.kinds.push((id, has_fields(form)));
        Ok(())
    }

    fn frame(&mut self, place: &FramePlace<'_>) {
        self.frames.push(self.names.frame(place));
    }

    fn root(
        &mut self,
        category: u64,
        frame: Option<u64>,
        slot: u64,
        to: Field,
    ) -> Result<(), Failure> {
        let category = self.categories.get(category as usize).ok_or(Stop::Malformed)?;
        let to = of_field(to).ok_or(Stop::Malformed)?;
        let name = match frame {
            Some(frame) => Some(self.frames.get(frame as usize).ok_or(Stop::Malformed)?.clone()),
            None => self.names.slot(slot),
        };
        let category = Arc::clone(category);
        self.writer.root(&lth::Root { category, name, slot: Address(slot), to })?;
        Ok(())
    }

    /// In pieces: an array may have more fields than anybody wants to hold.
    fn block(&mut self, head: &Head, fields: &[Field]) -> Result<(), Failure> {
        let (kind, has_fields) = *self.kinds.get(head.kind as usize).ok_or(Stop::Malformed)?;
        let words = head.bytes / WORD;
        self.blocks += 1;
        self.fields.clear();
        let (mut is_begun, mut values) = (false, 0u64);
        for &field in fields {
            let (field, mut left) = match field {
                Field::Values(count) => (lth::Field::Value, count),
                other => (of_field(other).ok_or(Stop::Malformed)?, 1),
            };
            values = values.saturating_add(if field == lth::Field::Value { left } else { 0 });
            if values > words.min(MOST_WORDS) {
                return Err(Stop::Malformed.into());
            }
            while left > 0 {
                let count = left.min((PIECE - self.fields.len()) as u64);
                self.fields.extend(std::iter::repeat_n(field, count as usize));
                left -= count;
                if self.fields.len() == PIECE {
                    self.put_piece(head, kind, &mut is_begun)?;
                }
            }
        }
        if has_fields && words <= MOST_PADDED {
            // Values at the end go without saying in what the child says.
            let length = (words.saturating_sub(1) as usize).max(self.fields.len());
            self.fields.resize(length, lth::Field::Value);
        }
        if is_begun && self.fields.is_empty() {
            Ok(())
        } else {
            self.put_piece(head, kind, &mut is_begun)
        }
    }

    /// The block with its first fields, or more of them.
    fn put_piece(&mut self, head: &Head, kind: KindId, is_begun: &mut bool) -> Result<(), Failure> {
        let &Head { address, bytes, outside, .. } = head;
        let (address, fields) = (Address(address), &self.fields);
        if std::mem::replace(is_begun, true) {
            self.writer.fields(fields)?;
        } else {
            let detail = None;
            self.writer.block(&lth::Block { address, bytes, outside, kind, fields, detail })?;
        }
        self.fields.clear();
        Ok(())
    }

    /// Where and when they were allocated; those of which nobody knows are left out.
    fn tell_samples(&mut self, numbers: &Numbers) -> Result<(), SnapshotError> {
        let numbers: FxHashMap<SampleId, AllocationId> = numbers.iter().copied().collect();
        let ids = self.samples.iter().filter_map(|(sample, _)| numbers.get(sample).copied());
        let births = Births::read(&self.subject.trace, &ids.collect());
        self.write_samples(&numbers, &births).map_err(|error| of_file(self.subject, error))
    }

    fn write_samples(
        &mut self,
        numbers: &FxHashMap<SampleId, AllocationId>,
        births: &Births,
    ) -> std::io::Result<()> {
        let sites = births.sites.iter().map(|site| self.writer.site(site));
        let sites = sites.collect::<std::io::Result<Vec<_>>>()?;
        for &(sample, address) in &self.samples {
            let Some(id) = numbers.get(&sample) else { continue };
            let Some(born) = births.by_id.get(id) else { continue };
            self.writer.sample(&lth::Sample {
                id: id.0,
                address: Address(address),
                site: sites[born.site],
                weight: born.weight,
                born: born.time.0.saturating_mul(1000),
            })?;
        }
        Ok(())
    }

    fn finish(
        self,
        summary: &Summary,
        pause: Duration,
        copied: Option<u64>,
    ) -> Result<(), SnapshotError> {
        let gave_up = (summary.ending == Ending::Memory).then(|| "too little memory".into());
        let outcome = Outcome {
            pause_ns: pause.as_nanos() as u64,
            cpu_ns: summary.cpu_nanos,
            private_bytes: summary.memory,
            copied_bytes: copied.unwrap_or(0),
            gave_up,
            figures: Vec::new(),
        };
        let subject = self.subject;
        let buffered = self.writer.finish(&outcome).map_err(|error| of_file(subject, error))?;
        buffered.into_inner().map_err(|error| of_file(subject, error.into_error()))?;
        Ok(())
    }

    fn explain(&self, failure: Failure, child: Option<Pid>) -> SnapshotError {
        match failure {
            Failure::Stop(Stop::Stuck) => {
                // It has not closed its connection, so it is still the one that has come. If it has ended all the same,
                // nothing is to be done.
                let _ = child.map(|child| kill_process(child, Signal::KILL));
                SnapshotError::Broken { blocks: self.blocks }
            }
            Failure::Stop(Stop::Ended) => SnapshotError::Broken { blocks: self.blocks },
            Failure::Stop(Stop::Malformed) => SnapshotError::Malformed,
            Failure::File(error) => of_file(self.subject, error),
        }
    }
}

const WORD: u64 = 8;

/// So many fields are written at once.
const PIECE: usize = 1 << 12;

/// What a block is taken for goes by its number of fields if it is no longer than this, in words.
const MOST_PADDED: u64 = 64;

/// No block is longer, in words: what says so makes no sense.
const MOST_WORDS: u64 = 1 << 34;

/// Whether each word of such a block, but for its header, is a field.
fn has_fields(form: Form) -> bool {
    matches!(form, Form::Fields | Form::Closure | Form::Object | Form::Lazy | Form::Forward)
}

fn of_form(form: Form) -> lth::Form {
    match form {
        Form::Fields => lth::Form::Fields,
        Form::String => lth::Form::String,
        Form::Float => lth::Form::Float,
        Form::Floats => lth::Form::FloatArray,
        Form::Closure => lth::Form::Closure,
        Form::Object => lth::Form::Object,
        Form::Lazy => lth::Form::Lazy,
        Form::Forward => lth::Form::Forward,
        Form::Abstract | Form::Ephemeron => lth::Form::Abstract,
        Form::Custom => lth::Form::Custom,
        Form::Continuation => lth::Form::Continuation,
        Form::Instance => lth::Form::Instance,
        Form::Internal => lth::Form::Internal,
    }
}

/// `None` of several values, which are told apart.
fn of_field(field: Field) -> Option<lth::Field> {
    Some(match field {
        Field::Next => lth::Field::Next,
        Field::To(address) => lth::Field::To(Address(address)),
        Field::Outside => lth::Field::Outside,
        stream::Field::Values(_) => return None,
    })
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64)
}

/// What the system has copied since the fork, as the program went on: the child's memory that is nobody else's, but for
/// its own. The child waits for us before it ends.
fn copied_bytes(child: Pid, own: u64) -> Option<u64> {
    let path = format!("/proc/{}/smaps_rollup", child.as_raw_nonzero());
    let text = std::fs::read_to_string(path).ok()?;
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok()
    };
    let private = (of("Private_Clean:")? + of("Private_Dirty:")?) << 10;
    Some(private.saturating_sub(own))
}
