//! `lifetrace convert`
//!
//! The result appears under its name only when it is complete as far as the input goes; until then it
//! is a temporary file beside it. (A device or a pipe is written directly.)

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use lifetrace_trace::memtrace::{self, CopyError, Version, Writer};
use tempfile::NamedTempFile;

use crate::damage::Damage;
use crate::damages::Damages;
use crate::open::{Backtraces, Trace};

/// What may be typed.
#[derive(clap::Args)]
pub struct Args {
    /// The trace to read
    input: PathBuf,
    /// The trace to write, in Memtrace's format
    output: PathBuf,
    /// Overwrite the output if it exists
    #[arg(short, long)]
    force: bool,
    /// Version of Memtrace's format: 1 has no context, 1 and 2 have no domains
    #[arg(long, value_name = "N", default_value = "3", value_parser = version)]
    memtrace_version: Version,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let trace = Trace::open(&args.input, Backtraces::Read)?;
    let target = Target::new(&args)?;
    let damage = match target {
        Target::File => convert_to_file(trace, &args)?,
        Target::Stream => {
            let stream = fs::OpenOptions::new()
                .write(true)
                .open(&args.output)
                .with_context(|| name(&args.output))?;
            convert(trace, stream, &args)?
        }
    };
    let count = u64::from(damage.is_some());
    let listed = Vec::from_iter(damage);
    Ok(super::conclude(&Damages { listed, count, unfinished: None }))
}

enum Target {
    /// A regular file, which may be there already.
    File,
    /// Something that cannot be replaced.
    Stream,
}

impl Target {
    fn new(args: &Args) -> anyhow::Result<Self> {
        let name = name(&args.output);
        let Ok(existing) = fs::metadata(&args.output) else { return Ok(Self::File) };
        let input = fs::metadata(&args.input)?;
        if (existing.dev(), existing.ino()) == (input.dev(), input.ino()) {
            bail!("{name}: is the input itself\n  name another file to write to");
        }
        if existing.is_dir() {
            bail!("{name}: is a directory\n  name the file to write in it");
        }
        let kind = existing.file_type();
        if kind.is_char_device() || kind.is_fifo() {
            return Ok(Self::Stream);
        }
        if !args.force {
            bail!("{name}: exists already\n  use -f to overwrite it");
        }
        Ok(Self::File)
    }
}

fn convert_to_file(trace: Trace, args: &Args) -> anyhow::Result<Option<Damage>> {
    let directory = match args.output.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let mut file = NamedTempFile::new_in(directory).with_context(|| name(&args.output))?;
    let damage = convert(trace, file.as_file_mut(), args)?;
    let persisted = match args.force {
        true => file.persist(&args.output),
        false => file.persist_noclobber(&args.output),
    };
    persisted.map_err(|failure| failure.error).with_context(|| name(&args.output))?;
    Ok(damage)
}

/// Copies all events; gives back the damage that was met in the input.
fn convert(trace: Trace, output: impl Write, args: &Args) -> anyhow::Result<Option<Damage>> {
    let Some(mut reader) = trace.into_memtrace() else {
        bail!("{}: is no trace in Memtrace's format", name(&args.input));
    };
    let failed = |error: io::Error, written: u64| {
        anyhow::Error::new(error).context(format!("{}: after {written} bytes", name(&args.output)))
    };
    let writer = Writer::new(output, reader.info(), args.memtrace_version);
    let mut writer = writer.map_err(|error| failed(error, 0))?;
    let damage = match memtrace::copy(&mut reader, &mut writer) {
        Ok(()) => None,
        Err(CopyError::Read(error)) => Some(Damage::new(&args.input, error)),
        Err(CopyError::Write(error)) => return Err(failed(error, writer.written())),
    };
    let written = writer.written();
    writer.finish().map_err(|error| failed(error, written))?;
    Ok(damage)
}

fn version(text: &str) -> Result<Version, String> {
    let version = text.parse().ok().and_then(Version::from_number);
    version.ok_or_else(|| "there are versions 1, 2 and 3".to_owned())
}

fn name(path: &Path) -> String {
    path.display().to_string()
}
