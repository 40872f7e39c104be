//! Finishes what a recorder has left that was killed.
//!
//! Such a file is a beginning of a trace, and is whole but for its last packet and its index. It is read and written anew
//! beside, so that it says itself that it is finished. If there is no room for that it gets its name as it is: readers cope.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use lifetrace_trace::fact::Fact;
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::{DomainId, ThreadId, Timestamp};
use lifetrace_trace::record::Record;
use lifetrace_trace::transfer::{AnyWriter, Format, repair};
use lifetrace_trace::{AnyReader, lt};

use super::{Folder, entries, name};

/// What is being made of a part. One that was left behind itself is made again.
const ANEW: &str = ".anew";

/// The notice of a trace whose recorder did not come to finish it.
const KILLED: &str = "recorder-killed";

/// Finishes all that there are; this process has the folder's lock.
pub(super) fn finish(folder: &Folder) {
    for entry in entries(folder.path()) {
        let file_name = entry.file_name();
        let Some(file_name) = file_name.to_str() else { continue };
        if file_name.strip_suffix(ANEW).is_some_and(|part| name::of_part(part).is_some()) {
            let _ = fs::remove_file(entry.path());
        }
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if let Some(trace) = name::of_part(file_name).filter(|_| is_file) {
            // What cannot be finished now stays for the next time.
            let _ = finish_one(folder, &entry.path(), &folder.path().join(trace));
        }
    }
}

fn finish_one(folder: &Folder, part: &Path, path: &Path) -> io::Result<()> {
    let reader = File::open(part).map(BufReader::new).map(lt::Reader::open)?;
    let Ok(reader) = reader else {
        // Not even its header was written.
        return fs::remove_file(part);
    };
    let anew = anew(part);
    match write_anew(reader, &anew) {
        Ok(()) => fs::rename(&anew, path).and_then(|()| fs::remove_file(part))?,
        Err(_) => {
            let _ = fs::remove_file(&anew);
            fs::rename(part, path)?;
        }
    }
    folder.count_finished(path.metadata().map_or(0, |it| it.len()));
    Ok(())
}

fn anew(part: &Path) -> PathBuf {
    let mut name = part.as_os_str().to_owned();
    name.push(ANEW);
    name.into()
}

fn write_anew(reader: lt::Reader<BufReader<File>>, to: &Path) -> io::Result<()> {
    let mut reader = AnyReader::lt(reader);
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    let mut writer = AnyWriter::new(&file, reader.info(), Format::Lt)?;
    repair(&mut reader, &mut writer)?;
    writer.put(&killed(reader.end_time()), &[], &mut |_| Frame::default())?;
    writer.finish()?;
    file.sync_all()
}

fn killed(time: Timestamp) -> Record {
    let kind = Fact::Notice(KILLED.into()).into();
    Record { time, thread: ThreadId(0), domain: DomainId(0), kind }
}
