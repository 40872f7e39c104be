//! `lifetrace dump --packets`: the physical layout of a trace. A line for each packet, then, behind
//! `#`, where the bytes are.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;
use lifetrace_study::damage::{Damage, Extent, Problem};
use lifetrace_study::damages::Damages;
use lifetrace_study::input::{Bytes, Input, Kind};
use lifetrace_trace::lt::{self, ColumnSizes, Index, PacketFacts, PacketKind};
use lifetrace_trace::memtrace;

use super::totals::Totals;
use crate::terminal;

const LT_COLUMNS: &str = "# offset bytes packet, data: number steps event_bytes backtrace_bytes \
                          frames frame_bytes fact_bytes";
const MEMTRACE_COLUMNS: &str =
    "# offset bytes packet version process domain begin_us end_us first_id next_id";

pub(super) fn run(path: &Path) -> anyhow::Result<ExitCode> {
    let input = Input::open(path)?;
    let (path, kind) = (input.path.clone(), input.kind);
    let index = match (kind, input.bytes) {
        (Kind::Lt, Some(_)) => Index::read(&mut File::open(&path)?)?,
        _ => None,
    };
    let mut output = super::stdout();
    let code = match kind {
        Kind::Lt => of_lt(input, index, &mut output)?,
        Kind::Memtrace => of_memtrace(&path, input.into_bytes(), &mut output)?,
    };
    output.flush()?;
    Ok(code)
}

fn of_lt(input: Input, index: Option<Index>, output: &mut impl Write) -> anyhow::Result<ExitCode> {
    let (path, beginning) = (&input.path.clone(), input.beginning().to_vec());
    let mut listing = lt::Listing::new(input.into_bytes());
    let (mut totals, mut end) = (Totals::default(), 0);
    for packet in listing.by_ref() {
        let packet = packet.or_else(|error| refuse(path, error))?;
        if end == 0 {
            writeln!(output, "{LT_COLUMNS}")?;
        }
        damaged(output, end, packet.skipped)?;
        lt_line(output, &packet)?;
        totals.add(&packet);
        end = packet.offset + packet.len;
    }
    if end == 0 {
        lt::Reader::open(&beginning[..]).map(|_| ()).or_else(|error| refuse(path, error))?;
    }
    let rest = listing.position() - end;
    damaged(output, end, rest)?;
    totals.damage(rest);
    write!(output, "{}", totals.text(index.map(|index| index.summary)))?;
    output.flush()?;
    Ok(conclude(path, totals.damaged_bytes()))
}

fn conclude(path: &Path, damaged_bytes: u64) -> ExitCode {
    if damaged_bytes == 0 {
        return ExitCode::SUCCESS;
    }
    terminal::complain(format_args!(
        "{}: {damaged_bytes} bytes belong to no packet\n  \
         they are listed as damaged; lifetrace check tells what is lost",
        path.display(),
    ));
    ExitCode::FAILURE
}

fn damaged(output: &mut impl Write, offset: u64, bytes: u64) -> io::Result<()> {
    if bytes > 0 {
        writeln!(output, "{offset}\t{bytes}\tdamaged")?;
    }
    Ok(())
}

fn lt_line(output: &mut impl Write, packet: &PacketFacts) -> io::Result<()> {
    let PacketFacts { offset, len, kind, .. } = packet;
    write!(output, "{offset}\t{len}\t")?;
    match kind {
        PacketKind::Header => writeln!(output, "header"),
        PacketKind::Checkpoint => writeln!(output, "checkpoint"),
        PacketKind::Index => writeln!(output, "index"),
        PacketKind::End => writeln!(output, "end"),
        PacketKind::Unknown(number) => writeln!(output, "unknown ({number})"),
        PacketKind::Data(columns) => data_columns(output, columns),
        _ => writeln!(output, "unknown"),
    }
}

fn data_columns(output: &mut impl Write, columns: &ColumnSizes) -> io::Result<()> {
    let ColumnSizes { sequence, steps, frame_count, frames, events, backtraces, facts } = columns;
    writeln!(
        output,
        "data\t{sequence}\t{steps}\t{events}\t{backtraces}\t{frame_count}\t{frames}\t{facts}"
    )
}

fn of_memtrace(path: &Path, input: Bytes, output: &mut impl Write) -> anyhow::Result<ExitCode> {
    let mut start = None;
    let (mut packets, mut bytes) = (0u64, 0);
    for packet in memtrace::Listing::new(input) {
        let packet = match packet {
            Ok(packet) => packet,
            Err(error) if packets == 0 => return refuse(path, error),
            Err(error) => {
                let listed = vec![Damage::new(path, error)];
                let damages = Damages { listed, count: 1, unfinished: None };
                return Ok(crate::cmd::conclude(&damages));
            }
        };
        if packets == 0 {
            writeln!(output, "{MEMTRACE_COLUMNS}")?;
        }
        let start = *start.get_or_insert(packet.begin.0);
        memtrace_line(output, &packet, start)?;
        (packets, bytes) = (packets + 1, bytes + packet.len);
    }
    writeln!(output, "# {packets} packets, {bytes} bytes")?;
    Ok(ExitCode::SUCCESS)
}

fn memtrace_line(
    output: &mut impl Write,
    packet: &memtrace::PacketFacts,
    start: u64,
) -> io::Result<()> {
    let memtrace::PacketFacts { offset, len, version, begin, end, pid, domain, ids } = packet;
    let (begin, end) = (begin.0.saturating_sub(start), end.0.saturating_sub(start));
    writeln!(
        output,
        "{offset}\t{len}\tevents\t{version}\t{pid}\t{}\t{begin}\t{end}\t{}\t{}",
        domain.0, ids.start, ids.end
    )
}

fn refuse<T>(path: &Path, problem: impl Into<Problem>) -> anyhow::Result<T> {
    bail!("{}", Damage::new(path, problem).message(Extent::Nothing))
}
