//! The files of one process, each of which goes on where the one before ends, as one trace.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use lifetrace_trace::event::TraceInfo;
use lifetrace_trace::fact::Fact;
use lifetrace_trace::record::RecordKind;
use lifetrace_trace::transfer::{AnyWriter, Format, Join, may_follow};
use lifetrace_trace::{AnyReader, ReadError, lt};

use crate::notices;

/// One of the files.
pub struct Part {
    /// What it is called when it is finished: others refer to it so.
    path: PathBuf,
    file: File,
    reader: AnyReader<BufReader<File>>,
}

/// How a file begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// No file was before it.
    First,
    /// It goes on where the file of that name ends.
    After(String),
    /// It tells nothing beyond its beginning, and has perhaps only just been begun.
    Untold,
}

/// A file that could not be read to its end, and why.
pub type Stopped = (PathBuf, ReadError);

impl Part {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be read, or is no `.lt` trace.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let file = File::open(path).with_context(|| path.display().to_string())?;
        Self::of(path, file)
    }

    /// Takes a file that may have another name for now than `path`.
    ///
    /// # Errors
    /// If it cannot be read, or is no `.lt` trace.
    pub fn of(path: &Path, file: File) -> anyhow::Result<Self> {
        let named = || path.display().to_string();
        let bytes = BufReader::new(file.try_clone().with_context(named)?);
        let reader = AnyReader::lt(lt::Reader::open(bytes).with_context(named)?);
        Ok(Self { path: path.to_owned(), file, reader })
    }

    /// What it says about itself.
    pub fn info(&self) -> &TraceInfo {
        self.reader.info()
    }

    /// How it begins, which it tells before anything happens in it. It is at its beginning again afterwards.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn beginning(&mut self) -> anyhow::Result<Beginning> {
        let start = self.reader.info().start_time;
        let beginning = loop {
            let Ok(Some(record)) = self.reader.next() else { break Beginning::Untold };
            if record.time > start {
                break Beginning::First;
            }
            if let RecordKind::Fact(fact) = record.kind
                && let Fact::Notice(code) = *fact
                && let Some(name) = notices::predecessor([&*code].into_iter())
            {
                break Beginning::After(name.to_owned());
            }
        };
        self.rewind()?;
        Ok(beginning)
    }

    fn rewind(&mut self) -> anyhow::Result<()> {
        let named = || self.path.display().to_string();
        std::io::Seek::rewind(&mut &self.file).with_context(named)?;
        let bytes = BufReader::new(self.file.try_clone().with_context(named)?);
        self.reader = AnyReader::lt(lt::Reader::open(bytes).with_context(named)?);
        Ok(())
    }

    /// # Errors
    /// If this is not the trace that goes on where `earlier` ends.
    fn refuse_stranger(&mut self, earlier: &Self) -> anyhow::Result<()> {
        let beginning = self.beginning()?;
        let (path, before) = (self.path.display(), earlier.path.display());
        ensure!(
            may_follow(earlier.reader.info(), self.reader.info()),
            "{path} is of another process than {before}"
        );
        let Beginning::After(name) = beginning else {
            bail!("{path} does not go on where another trace ends; {before} is earlier")
        };
        ensure!(
            earlier.path.file_name().is_some_and(|it| it == &*name),
            "{path} goes on where {name} ends, not {before}: give all files in between"
        );
        Ok(())
    }
}

/// Puts them into their order.
///
/// # Errors
/// If one does not go on where another one ends.
pub fn arrange(parts: &mut [Part]) -> anyhow::Result<()> {
    parts.sort_by_key(|part| part.reader.info().start_time);
    for at in 1..parts.len() {
        let (before, after) = parts.split_at_mut(at);
        after[0].refuse_stranger(&before[at - 1])?;
    }
    Ok(())
}

/// Makes one trace of files in their order. Gives back which of them could not be read to their ends, as one that is still
/// being written cannot.
///
/// # Errors
/// The output's, or that there is no file.
pub fn join(parts: &mut [Part], output: impl Write) -> anyhow::Result<Vec<Stopped>> {
    let Some(first) = parts.first() else { bail!("there is no trace") };
    let mut writer = AnyWriter::new(output, first.reader.info(), Format::Lt)?;
    let (mut join, mut stopped) = (Join::default(), Vec::new());
    for part in parts {
        let why = join.add(&mut part.reader, &mut writer)?;
        stopped.extend(why.map(|why| (part.path.clone(), why)));
    }
    writer.finish()?;
    Ok(stopped)
}
