//! Traces as Memtrace writes them, byte for byte.

use std::io::{self, Write};

use super::event_codec::{self, Kind};
use super::info;
use super::new_allocation::NewAllocation;
use super::packet::{Header, MAX_ID, Verifier, Version};
use super::stream::{CHUNK, Origin, Stream, finish_packet};
use crate::event::{Location, TraceInfo};
use crate::ids::{AllocationId, DomainId, LocationCode, Timestamp};

/// Writes a trace to anything that can be written; it needs no buffering of its own.
///
/// Each write is one whole packet, so that whatever was written can be read. Events wait in the
/// packet that is being filled until there are 28 kB of them or 30 s have passed; [`flush`](Self::flush)
/// writes them now. Dropping the writer loses them: call [`finish`](Self::finish).
///
/// ```
/// use lifetrace_trace::event::{Source, TraceInfo};
/// use lifetrace_trace::ids::{DomainId, LocationCode, Timestamp, Words};
/// use lifetrace_trace::memtrace::{NewAllocation, Version, Writer};
///
/// let info = TraceInfo {
///     sample_rate: 1e-4,
///     word_bits: 64,
///     executable_name: "/usr/bin/sort".into(),
///     host_name: "localhost".into(),
///     runtime_params: String::new(),
///     pid: 1234,
///     start_time: Timestamp(1_700_000_000_000_000),
///     initial_domain: DomainId(0),
///     context: Some("sort names".into()),
/// };
/// let mut writer = Writer::new(Vec::new(), &info, Version::V3)?;
/// let block = NewAllocation {
///     length: Words(512),
///     samples: 1,
///     source: Source::External,
///     backtrace: &[LocationCode(1), LocationCode(2)],
///     common_prefix: 0,
///     id: None,
/// };
/// let born = Timestamp(1_700_000_000_250_000);
/// let id = writer.allocation(born, &block, &mut |_code| Vec::new())?;
/// writer.collection(Timestamp(1_700_000_000_250_900), id)?;
/// let trace = writer.finish()?;
/// # assert!(trace.len() > 200);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Limits
///
/// What doesn't fit the format is made to fit: times that go back become the domain's last; the
/// innermost frames of a backtrace whose coded form is longer than 4096 bytes are dropped; locations
/// too long for one event become `<unknown>`; strings end at their first NUL.
///
/// # Errors
///
/// Those of the output. After one, part of a packet may have been written, so all later calls fail as
/// well; [`written`](Self::written) tells how much of the output is good.
pub struct Writer<W> {
    output: Output<W>,
    origin: Origin,
    start_time: Timestamp,
    streams: Vec<Stream>,
    /// Index of the domain in which events happen.
    current: usize,
    /// Where no domain has drawn ids yet.
    next_chunk: u64,
}

impl<W: Write> Writer<W> {
    /// Writes the first packet, which is about the trace itself.
    ///
    /// # Errors
    ///
    /// Also when the sampling rate or the length of words is none.
    pub fn new(output: W, info: &TraceInfo, version: Version) -> io::Result<Self> {
        if !info::is_valid(info) {
            let problem = "a sampling rate or a length of words that can't be";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        let origin = Origin { version, pid: info.pid };
        let mut writer = Self {
            output: Output { inner: output, written: 0, has_failed: false },
            origin,
            start_time: info.start_time,
            streams: Vec::new(),
            current: 0,
            next_chunk: 0,
        };
        writer.write_info(info)?;
        writer.switch_domain(info.initial_domain);
        Ok(writer)
    }

    /// Says where the events that follow happen; before, it is the trace's initial domain. Costs
    /// half a megabyte for each new domain. Versions below 3 have but one.
    pub fn switch_domain(&mut self, domain: DomainId) {
        let is_current = |stream: &Stream| stream.domain() == domain;
        if !self.streams.is_empty() && !self.origin.version.has_domains() {
            return;
        }
        self.current = self.streams.iter().position(is_current).unwrap_or_else(|| {
            self.streams.push(Stream::new(self.origin, domain, self.start_time));
            self.streams.len() - 1
        });
    }

    /// Writes that a block was allocated, and returns its name. `locate` is asked, once or now and
    /// then, what a frame stands for: a function first, then what was inlined into it. Readers insist
    /// that the answer is always the same.
    ///
    /// # Errors
    ///
    /// Also when the allocation brings an id of 2^62 or above.
    pub fn allocation(
        &mut self,
        time: Timestamp,
        allocation: &NewAllocation<'_>,
        locate: &mut dyn FnMut(LocationCode) -> Vec<Location>,
    ) -> io::Result<AllocationId> {
        let now = self.begin_event(time)?;
        if let Some(id) = allocation.id {
            self.go_on_at(check_id(id)?, now)?;
        }
        Ok(self.streams[self.current].allocation(now, allocation, locate))
    }

    /// Writes that a block moved to the major heap.
    ///
    /// # Errors
    ///
    /// Also when the id is 2^62 or above.
    pub fn promotion(&mut self, time: Timestamp, id: AllocationId) -> io::Result<()> {
        let id = check_id(id)?;
        let now = self.begin_event(time)?;
        self.streams[self.current].promotion(now, id);
        Ok(())
    }

    /// Writes that a block was freed.
    ///
    /// # Errors
    ///
    /// Also when the id is 2^62 or above.
    pub fn collection(&mut self, time: Timestamp, id: AllocationId) -> io::Result<()> {
        let id = check_id(id)?;
        let now = self.begin_event(time)?;
        self.streams[self.current].collection(now, id);
        Ok(())
    }

    /// Lets the trace last until `time` at least. No event may come in the initial domain that is
    /// earlier.
    ///
    /// # Errors
    ///
    /// The output's.
    pub fn extend(&mut self, time: Timestamp) -> io::Result<()> {
        if self.streams.iter().any(|stream| stream.end() >= time) {
            return Ok(());
        }
        let stream = &mut self.streams[0];
        if stream.is_due(time) && !stream.is_empty() {
            stream.flush(stream.end(), &mut self.output)?;
        }
        stream.advance(time);
        Ok(())
    }

    /// Writes all events so far. No event may come that is earlier than `time`.
    pub fn flush(&mut self, time: Timestamp) -> io::Result<()> {
        for stream in &mut self.streams {
            stream.advance(time);
            if !stream.is_empty() {
                stream.flush(stream.end(), &mut self.output)?;
            }
        }
        self.output.flush()
    }

    /// Writes all events so far, and a packet that shows how long the trace is even if there are none.
    pub fn finish(mut self) -> io::Result<W> {
        for (index, stream) in self.streams.iter_mut().enumerate() {
            if index == 0 || !stream.is_empty() {
                stream.flush(stream.end(), &mut self.output)?;
            }
        }
        self.output.flush()?;
        Ok(self.output.inner)
    }

    /// Length of the whole packets written so far, in bytes.
    pub fn written(&self) -> u64 {
        self.output.written
    }

    fn write_info(&mut self, info: &TraceInfo) -> io::Result<()> {
        let Origin { version, pid } = self.origin;
        let (begin, end, domain) = (info.start_time, info.start_time, info.initial_domain);
        let verifier = Verifier::NONE;
        let mut packet = vec![0; version.header_len()];
        event_codec::put_head(Kind::Info, begin, &mut packet);
        info::encode(info, version, &mut packet);
        let header = Header { version, len: 0, begin, end, pid, domain, verifier, ids: 0..0 };
        finish_packet(header, &mut packet, &mut self.output)
    }

    /// Makes room for an event, and makes its time fit.
    fn begin_event(&mut self, time: Timestamp) -> io::Result<Timestamp> {
        if self.output.has_failed {
            return Err(Output::<W>::broken());
        }
        let stream = &mut self.streams[self.current];
        let now = time.max(stream.end());
        if stream.is_due(now) || stream.is_out_of_ids() && !stream.is_empty() {
            stream.flush(now, &mut self.output)?;
        }
        if stream.is_out_of_ids() {
            check_id(AllocationId(self.next_chunk + CHUNK))?;
            stream.draw_ids(self.next_chunk);
            self.next_chunk += CHUNK;
        }
        Ok(now)
    }

    /// Makes `id` the next allocation's.
    fn go_on_at(&mut self, id: AllocationId, now: Timestamp) -> io::Result<()> {
        let stream = &mut self.streams[self.current];
        if id.0 != stream.next_id() {
            if !stream.is_empty() {
                stream.flush(now, &mut self.output)?;
            }
            stream.draw_ids(id.0);
            self.next_chunk = self.next_chunk.max((id.0 / CHUNK + 1) * CHUNK);
        }
        Ok(())
    }
}

/// The output, until it fails.
struct Output<W> {
    inner: W,
    written: u64,
    has_failed: bool,
}

impl<W> Output<W> {
    fn broken() -> io::Error {
        io::Error::other("an earlier write to this trace failed")
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, packet: &[u8]) -> io::Result<usize> {
        self.write_all(packet).map(|()| packet.len())
    }

    fn write_all(&mut self, packet: &[u8]) -> io::Result<()> {
        if self.has_failed {
            return Err(Self::broken());
        }
        let outcome = self.inner.write_all(packet);
        match outcome {
            Ok(()) => self.written += packet.len() as u64,
            Err(_) => self.has_failed = true,
        }
        outcome
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn check_id(id: AllocationId) -> io::Result<AllocationId> {
    if id.0 < MAX_ID {
        return Ok(id);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "an allocation id of 2^62 or above"))
}
