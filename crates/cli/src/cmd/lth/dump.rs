//! `lifetrace dump` of a snapshot: a line for each record.

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use lifetrace_human::printable;
use lifetrace_trace::lth::{
    Address, Block, BlockNumber, Field, Found, Frame, Item, Listing, Reader, Root, Sample, Site,
    Stretch,
};

use crate::terminal;

const COLUMNS: &str = "# kind: id form name; root: slot to category name; block: number address bytes outside kind \
                       fields; fields: more of the block before; site: id frames (innermost first); sample: id address \
                       site weight born_ns";

pub(in super::super) fn dump(
    path: &Path,
    file: File,
    with_sites: bool,
    mut output: impl Write,
) -> anyhow::Result<ExitCode> {
    let named = || path.display().to_string();
    let mut reader = Reader::open(BufReader::with_capacity(1 << 18, file)).with_context(named)?;
    writeln!(output, "{COLUMNS}")?;
    while let Some(item) = reader.next().with_context(named)? {
        if with_sites || !matches!(item, Item::Site(..)) {
            line(&mut output, &item)?;
        }
    }
    output.flush()?;
    let end = match reader.outcome() {
        None => {
            Some("has no end: whoever wrote it was interrupted, and blocks are missing".to_owned())
        }
        Some((outcome, _)) => outcome
            .gave_up
            .as_ref()
            .map(|why| format!("not all of the heap is in it: {}", printable(why))),
    };
    let complaints: Vec<String> =
        reader.damages().iter().map(ToString::to_string).chain(end).collect();
    for complaint in &complaints {
        terminal::complain(format_args!("{}: {complaint}", path.display()));
    }
    Ok(if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn line(output: &mut impl Write, item: &Item<'_>) -> io::Result<()> {
    match item {
        Item::Kind(id, kind) => {
            let form = format!("{:?}", kind.form).to_lowercase();
            writeln!(output, "kind\t{}\t{form}\t{}", id.0, printable(&kind.name))
        }
        Item::Root(Root { category, name, slot: Address(slot), to }, next) => {
            write!(output, "root\t{slot:#x}")?;
            fields(output, &[*to], *next)?;
            let name = name.as_deref().unwrap_or("-");
            writeln!(output, "\t{}\t{}", printable(category), printable(name))
        }
        Item::Block { number, next, found, .. } => block(output, *number, *next, found),
        Item::Site(id, Site { frames }) => {
            write!(output, "site\t{}", id.0)?;
            for Frame { function, file, line } in frames {
                write!(output, "\t{} ({}:{line})", printable(function), printable(file))?;
            }
            writeln!(output)
        }
        Item::Sample(Sample { id, address, site, weight, born }) => {
            writeln!(output, "sample\t{id}\t{:#x}\t{}\t{weight}\t{born}", address.0, site.0)
        }
    }
}

fn block(
    output: &mut impl Write,
    number: BlockNumber,
    next: BlockNumber,
    found: &Found<'_>,
) -> io::Result<()> {
    match found {
        Found::Block(Block { address, bytes, outside, kind, fields: all, detail }) => {
            write!(
                output,
                "block\t{}\t{:#x}\t{bytes}\t{outside}\t{}",
                number.0, address.0, kind.0
            )?;
            fields(output, all, next)?;
            detail.map_or(Ok(()), |detail| write!(output, "\t\"{}\"", printable(detail)))?;
        }
        Found::Fields(all) => {
            write!(output, "fields\t{}", number.0)?;
            fields(output, all, next)?;
        }
    }
    writeln!(output)
}

/// `.` is a value, `5.` are five in a row, `?` leads out of the heap, `#7` is block 7, and `0x7f00` the block there.
fn fields(output: &mut impl Write, all: &[Field], mut next: BlockNumber) -> io::Result<()> {
    for run in all.chunk_by(|first, second| (*first, *second) == (Field::Value, Field::Value)) {
        match run {
            [Field::Value] => write!(output, "\t.")?,
            [Field::Value, ..] => write!(output, "\t{}.", run.len())?,
            [Field::Outside, ..] => write!(output, "\t?")?,
            [Field::To(Address(address)), ..] => write!(output, "\t{address:#x}")?,
            [Field::Next, ..] => {
                write!(output, "\t#{}", next.0)?;
                next.0 = next.0.wrapping_add(1);
            }
            [] => {}
        }
    }
    Ok(())
}

/// A line for each packet.
pub(in super::super) fn packets(
    path: &Path,
    file: File,
    mut output: impl Write,
) -> anyhow::Result<ExitCode> {
    let mut listing = Listing::new(BufReader::with_capacity(1 << 18, file));
    let mut damaged = 0;
    writeln!(output, "# offset bytes packet")?;
    loop {
        let next = listing.next().with_context(|| path.display().to_string())?;
        for Stretch { offset, bytes, about } in next.into_iter().flatten() {
            damaged += if about.is_none() { bytes } else { 0 };
            writeln!(output, "{offset}\t{bytes}\t{}", about.unwrap_or("damaged"))?;
        }
        if next[1].is_none() {
            break;
        }
    }
    output.flush()?;
    if damaged == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    terminal::complain(format_args!(
        "{}: {damaged} bytes belong to no packet\n  they are listed as damaged; lifetrace check tells what is lost",
        path.display(),
    ));
    Ok(ExitCode::FAILURE)
}
