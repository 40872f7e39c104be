//! The files of a process, and one trace of them.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use lifetrace_recorder::{FolderTrace, traces_in};
use lifetrace_study::succession::{Beginning, Part, join};
use lifetrace_trace::transfer::{AnyWriter, Format, Plan, Span, slice};
use lifetrace_trace::{AnyReader, lt};
use tempfile::TempDir;

/// Temporary files of ours in a folder of traces begin so.
const PREFIX: &str = ".lifetrace.http.";

/// More bytes are not made one trace of.
const MOST_BYTES: u64 = 1 << 30;

const MINUTE: u64 = 60_000_000;

/// A trace of a process's files; it is removed when this is dropped.
#[derive(Debug)]
pub struct Whole {
    /// Where it is.
    pub path: PathBuf,
    _folder: TempDir,
}

/// A file of a process, opened.
pub struct Link {
    /// Which one.
    pub file: FolderTrace,
    part: Part,
}

/// Of a process's files, the earlier first, those of the last program that it ran, as far as they are there: each goes on
/// where the one before ends. One that has only just been begun is not among them, if there are others.
///
/// # Errors
/// If they cannot be read.
pub fn last_of(files: &[FolderTrace]) -> anyhow::Result<Vec<Link>> {
    let (mut chain, mut wanted) = (Vec::new(), None);
    for (at, file) in files.iter().enumerate().rev() {
        if wanted.as_deref().is_some_and(|name| name != file.name()) {
            break;
        }
        // The oldest may be removed at any moment.
        if file.is_gone() {
            continue;
        }
        let is_only = at == 0 && chain.is_empty();
        let opened = Link::open(file).and_then(|mut link| Ok((link.part.beginning()?, link)));
        let (beginning, link) = match opened {
            Ok((Beginning::Untold, _)) | Err(_) if !is_only && !file.is_finished => continue,
            Err(_) if file.is_gone() => continue,
            opened => opened?,
        };
        chain.push(link);
        match beginning {
            Beginning::After(name) => wanted = Some(name),
            Beginning::First | Beginning::Untold => break,
        }
    }
    chain.reverse();
    Ok(chain)
}

/// Whether a file goes on from another one, and has told what lives at its beginning: all of that comes before.
pub fn goes_on(file: &FolderTrace) -> bool {
    let beginning = Link::open(file).and_then(|mut link| link.part.beginning());
    beginning.is_ok_and(|it| matches!(it, Beginning::After(_)))
}

impl Link {
    fn open(file: &FolderTrace) -> anyhow::Result<Self> {
        let opened = file.open().with_context(|| file.path.display().to_string())?;
        Ok(Self { file: file.clone(), part: Part::of(&file.path, opened)? })
    }
}

/// One trace of what a process's last files tell, of the last so many minutes if that is given; nothing if there are none.
///
/// # Errors
/// If they cannot be read, or nothing be written, or there is too much of it.
pub fn whole(folder: &Path, pid: u32, minutes: Option<u32>) -> anyhow::Result<Option<Whole>> {
    let files: Vec<_> = traces_in(folder).into_iter().filter(|it| it.pid == pid).collect();
    let mut links = last_of(&files)?;
    let Some(last) = links.last().map(|link| link.file.clone()) else { return Ok(None) };
    let from = minutes.map(|minutes| end_of(&last).saturating_sub(u64::from(minutes) * MINUTE));
    if let Some(from) = from {
        // The file in which that time begins tells what lived then.
        let is_before = |link: &Link| link.part.info().start_time.0 <= from;
        links.drain(..links.iter().rposition(is_before).unwrap_or(0));
    }
    refuse_much(&links)?;
    let place = TempDir::with_prefix_in(PREFIX, folder).context("a temporary folder")?;
    let path = place.path().join(last.name());
    let mut parts: Vec<_> = links.into_iter().map(|link| link.part).collect();
    // What a file that is being written lacks at its end is not there yet.
    join(&mut parts, File::create(&path)?).context("the files of the process")?;
    let path = from.map_or(Ok(path.clone()), |from| cut(&path, from))?;
    Ok(Some(Whole { path, _folder: place }))
}

/// When a trace ends, in microseconds since 1970: one that is being written does not yet.
fn end_of(file: &FolderTrace) -> u64 {
    let changed =
        file.path.metadata().and_then(|it| it.modified()).ok().filter(|_| file.is_finished);
    let end = changed.unwrap_or_else(SystemTime::now).duration_since(UNIX_EPOCH);
    end.map_or(0, |end| u64::try_from(end.as_micros()).unwrap_or(u64::MAX))
}

fn refuse_much(links: &[Link]) -> anyhow::Result<()> {
    let length = |link: &Link| Some(link.file.open().ok()?.metadata().ok()?.len());
    let bytes: u64 = links.iter().filter_map(length).sum();
    ensure!(
        bytes <= MOST_BYTES,
        "the files of the process have {bytes} bytes, more than are made one trace of at a time: ask for the last ?minutes=N, \
         or make it by `lifetrace join`"
    );
    Ok(())
}

/// What happened in a trace from then on, in microseconds since 1970, which is then another one.
fn cut(path: &Path, from: u64) -> anyhow::Result<PathBuf> {
    let mut reader = open(path)?.without_backtraces();
    let from = from.saturating_sub(reader.info().start_time.0);
    let (plan, _) = Plan::new(&mut reader, Span { from: Some(from), to: None });
    ensure!(plan.duration().is_some(), "nothing was recorded in that time");
    let mut reader = open(path)?;
    let cut = path.with_extension("cut.lt");
    let mut writer = AnyWriter::new(File::create(&cut)?, &plan.info(reader.info()), Format::Lt)?;
    slice(&mut reader, &mut writer, &plan)?;
    writer.finish()?;
    Ok(cut)
}

fn open(path: &Path) -> anyhow::Result<AnyReader<BufReader<File>>> {
    Ok(AnyReader::lt(lt::Reader::open(BufReader::new(File::open(path)?))?))
}

/// Removes what one who was killed has left in a folder of traces.
pub fn remove_leftovers(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            // What cannot be removed is of no account.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}
