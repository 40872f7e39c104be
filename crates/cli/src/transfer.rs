//! What the verbs have in common that make one trace of another: opening both, choosing the format,
//! the progress bar, and what is said in the end.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use clap::ValueEnum;
use lifetrace_human as human;
use lifetrace_study::damage::{Damage, Extent, Problem};
use lifetrace_study::damages::Damages;
use lifetrace_study::input::{Bytes, Input, Kind};
use lifetrace_trace::event::TraceInfo;
use lifetrace_trace::memtrace::Version;
use lifetrace_trace::transfer::{AnyWriter, Format, Omitted};
use lifetrace_trace::{AnyReader, ReadError};
use lifetrace_trace::{lt, memtrace};

use crate::bar::Bar;
use crate::output::Output;
use crate::terminal;

/// What may be typed beside the names of the two.
#[derive(clap::Args, Default)]
pub struct Options {
    /// Overwrite the output if it exists
    #[arg(short, long)]
    pub force: bool,
    /// Format of the output; else the end of its name says it, .lt or .ctf
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<FormatName>,
    /// Version of Memtrace's format: 1 has no context, 1 and 2 have no domains
    #[arg(long, value_name = "N", value_parser = version)]
    pub memtrace_version: Option<Version>,
    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
}

/// A format, as one types it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatName {
    /// Our own
    Lt,
    /// OCaml Memtrace's, which other tools read too
    Memtrace,
}

/// What is written where nobody says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Otherwise {
    /// Somebody must.
    Refuse,
    /// The input's format.
    AsInput,
}

/// A reader of either format.
pub type Reader = AnyReader<Bytes>;

/// A writer of either format.
pub type Writer<'a> = AnyWriter<&'a mut dyn Write>;

/// From a trace that has been opened to one that is to be written.
pub struct Transfer {
    pub reader: Reader,
    /// As messages call it.
    input: PathBuf,
    /// Its length, if it is a file.
    bytes: Option<u64>,
    output: Output,
    format: Format,
    quiet: bool,
}

impl Transfer {
    /// Opens both.
    ///
    /// # Errors
    /// If the input is no trace, or the output must not be written.
    pub fn open(
        input: &Path,
        output: &Path,
        options: &Options,
        otherwise: Otherwise,
    ) -> anyhow::Result<Self> {
        Self::begin(Input::open(input)?, input, output, options, otherwise)
    }

    /// [`open`](Self::open) of an input that has been opened as `typed`.
    pub fn begin(
        input: Input,
        typed: &Path,
        output: &Path,
        options: &Options,
        otherwise: Otherwise,
    ) -> anyhow::Result<Self> {
        let (path, bytes) = (input.path.clone(), input.bytes);
        let reader = read(input)?;
        let target = Output::new(output, typed, options.force)?;
        let otherwise = (otherwise == Otherwise::AsInput).then(|| format_of(&reader));
        let format = options.format(output, otherwise)?;
        Ok(Self { reader, input: path, bytes, output: target, format, quiet: options.quiet })
    }

    /// Writes a trace that says `info` about itself; `work` copies what is in it.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write<T>(
        &mut self,
        info: &TraceInfo,
        work: impl FnOnce(&mut Reader, &mut Writer<'_>) -> io::Result<T>,
    ) -> anyhow::Result<T> {
        let Self { reader, output, format, bytes, .. } = self;
        let bar = Bar::start(reader.progress(), *bytes, self.quiet)?;
        let failed = |error: io::Error, written: u64| {
            anyhow!(error).context(format!("{}: after {written} bytes", output.name()))
        };
        let (done, omitted) = output.write(|file| {
            let writer = AnyWriter::new(file, info, *format);
            let mut writer = writer.map_err(|error| failed(error, 0))?;
            let done = work(reader, &mut writer);
            let (written, omitted) = (writer.written(), writer.omitted());
            let done = done.map_err(|error| failed(error, written))?;
            writer.finish().map_err(|error| failed(error, written))?;
            Ok((done, omitted))
        })?;
        drop(bar);
        if let Some(remark) = remark(self.output.name(), omitted) {
            terminal::complain(remark);
        }
        Ok(done)
    }

    /// What was wrong with the input, after it has been read; `stopped` is what ended that early.
    pub fn damages(&self, stopped: Option<ReadError>) -> Damages {
        Damages::new(&self.input, self.reader.as_lt(), stopped.map(Problem::from))
    }

    /// As messages call it.
    pub fn output_name(&self) -> &str {
        self.output.name()
    }
}

impl Options {
    fn format(&self, output: &Path, otherwise: Option<Format>) -> anyhow::Result<Format> {
        let suffix = output.extension().and_then(|suffix| suffix.to_str());
        let named = self.format.or(match suffix {
            Some("lt") => Some(FormatName::Lt),
            Some("ctf") => Some(FormatName::Memtrace),
            _ => self.memtrace_version.map(|_| FormatName::Memtrace),
        });
        match (named, self.memtrace_version, otherwise) {
            (Some(FormatName::Lt), Some(_), _) => bail!(
                "{}: has no version of Memtrace's format\n  leave out --memtrace-version, or add --format memtrace",
                output.display()
            ),
            (Some(FormatName::Lt), None, _) => Ok(Format::Lt),
            (Some(FormatName::Memtrace), Some(version), _) => Ok(Format::Memtrace(version)),
            (_, None, Some(format @ Format::Memtrace(_))) => Ok(format),
            (Some(FormatName::Memtrace), None, _) => Ok(Format::Memtrace(Version::V3)),
            (None, _, Some(format)) => Ok(format),
            (None, _, None) => bail!(
                "{}: which format?\n  let the name end in .lt or .ctf, or add --format lt or --format memtrace",
                output.display()
            ),
        }
    }
}

/// Reads what the trace says about itself.
///
/// # Errors
/// If it is no trace.
pub fn read(input: Input) -> anyhow::Result<Reader> {
    let (path, kind) = (input.path.clone(), input.kind);
    let reader = match kind {
        Kind::Lt => lt::Reader::open(input.into_bytes()).map(Reader::lt).map_err(Problem::from),
        Kind::Memtrace => {
            memtrace::Reader::open(input.into_bytes()).map(Reader::memtrace).map_err(Problem::from)
        }
    };
    reader.map_err(|problem| anyhow!("{}", Damage::new(&path, problem).message(Extent::Nothing)))
}

/// What the output's format has no room for; nothing if all is there.
fn remark(output: &str, omitted: Omitted) -> Option<String> {
    let count = |number: u64| human::count(number as f64);
    let mut parts = Vec::new();
    if omitted.facts > 0 {
        parts.push(format!("facts ({})", count(omitted.facts)));
    }
    if omitted.threads > 0 {
        parts.push(format!("threads (of {} events; domains are kept)", count(omitted.threads)));
    }
    if omitted.rounded_sizes > 0 {
        let sizes = count(omitted.rounded_sizes);
        parts.push(format!("sizes in bytes (of {sizes} allocations; rounded up to words)"));
    }
    match parts.is_empty() {
        true => None,
        false => Some(format!("{output}: Memtrace's format has no room for {}", parts.join(", "))),
    }
}

fn format_of(reader: &Reader) -> Format {
    match reader.as_memtrace() {
        Some(reader) => Format::Memtrace(reader.version()),
        None => Format::Lt,
    }
}

fn version(text: &str) -> Result<Version, String> {
    let version = text.parse().ok().and_then(Version::from_number);
    version.ok_or_else(|| "there are versions 1, 2 and 3".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: Format = Format::Memtrace(Version::V1);
    const V3: Format = Format::Memtrace(Version::V3);

    fn check(
        output: &str,
        format: Option<FormatName>,
        version: Option<Version>,
        otherwise: Option<Format>,
        expected: Option<Format>,
    ) {
        let options = Options { format, memtrace_version: version, ..Options::default() };
        let chosen = options.format(Path::new(output), otherwise).ok();
        assert_eq!(chosen, expected, "{output} {format:?} {version:?} {otherwise:?}");
    }

    #[test]
    fn formats() {
        use FormatName::{Lt, Memtrace};
        check("t.lt", None, None, None, Some(Format::Lt));
        check("t.lt", None, None, Some(V1), Some(Format::Lt));
        check("t.ctf", None, None, None, Some(V3));
        check("t.ctf", None, None, Some(V1), Some(V1));
        check("t.ctf", None, None, Some(Format::Lt), Some(V3));
        check("t.ctf", None, Some(Version::V1), Some(V3), Some(V1));
        check("t.ctf", Some(Lt), None, None, Some(Format::Lt));
        check("-", Some(Memtrace), None, None, Some(V3));
        check("-", None, Some(Version::V1), None, Some(V1));
        check("-", None, None, Some(Format::Lt), Some(Format::Lt));
        check("-", None, None, None, None);
        check("t.txt", None, None, None, None);
        check("t.lt", None, Some(Version::V1), None, None);
    }
}
