//! A heap snapshot that lies beside a trace: the last one that was made of the same process.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use lifetrace_heap::{Opened, Retainers};
use lifetrace_trace::lth;
use serde::Serialize;
use serde_json::Value;

/// So many objects of a heap are in a page; what the others retain is summed up.
const MOST_OBJECTS: usize = 2000;

/// What a page has of a heap.
#[derive(Serialize)]
struct Heap {
    file: String,
    number: u32,
    time_unix_ns: u64,
    runtime: String,
    cause: String,
    complaints: Vec<String>,
    retainers: Retainers,
}

/// The document of the newest snapshot that names this trace; nothing if there is none that can be read.
pub fn heap(trace: &Path) -> Option<Value> {
    let (path, header) = newest(trace)?;
    let opened = Opened::new(&path).ok()?;
    let heap = Heap {
        file: path.file_name()?.to_string_lossy().into_owned(),
        number: header.number,
        time_unix_ns: header.time,
        runtime: header.runtime.to_string(),
        cause: header.cause.to_string(),
        complaints: opened.complaints.clone(),
        retainers: Retainers::of_most(&opened, MOST_OBJECTS),
    };
    serde_json::to_value(heap).ok()
}

fn newest(trace: &Path) -> Option<(PathBuf, lth::Header)> {
    let name = trace.file_name()?.to_str()?;
    let folder = trace.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let files = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let snapshots = files.filter(|path| path.extension().is_some_and(|it| it == "lth"));
    let headers = snapshots.filter_map(|path| header(&path).map(|header| (path, header)));
    let of_trace = headers.filter(|(_, header)| header.trace.as_deref() == Some(name));
    of_trace.max_by_key(|(_, header)| (header.time, header.number))
}

fn header(path: &Path) -> Option<lth::Header> {
    let file = BufReader::new(File::open(path).ok()?);
    Some(lth::Reader::open(file).ok()?.header().clone())
}
