//! A snapshot that somebody asks for.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use lifetrace_human::json_text;
use lifetrace_recorder::{Collector, SNAPSHOT_MEMORY, SavedSnapshot, SnapshotError, SnapshotWish};
use serde::Serialize;

use crate::http::{Body, Response};

/// So long it is waited until the process has come to a place where its heap is whole.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Serialize)]
struct Saved {
    pid: u32,
    path: String,
    blocks: u64,
    heap_bytes: u64,
    file_bytes: u64,
    /// For how long the process was stopped.
    pause_us: u64,
}

/// Has one taken, and waits for it: where it is, or the file itself.
pub fn answer(collector: &Collector, pid: u32, file: bool) -> Response {
    let wish = SnapshotWish {
        cause: "asked for".to_owned(),
        path: None,
        overwrite: false,
        memory: SNAPSHOT_MEMORY,
        patience: PATIENCE,
    };
    match collector.snapshot(pid, &wish) {
        Ok(saved) if file => content(&saved.path),
        Ok(saved) => told(pid, &saved),
        Err(error) => refused(&error),
    }
}

fn told(pid: u32, saved: &SavedSnapshot) -> Response {
    let SavedSnapshot { blocks, bytes: heap_bytes, file_bytes, .. } = *saved;
    let pause_us = u64::try_from(saved.pause.as_micros()).unwrap_or(u64::MAX);
    let path = saved.path.display().to_string();
    match json_text::pretty(&Saved { pid, path, blocks, heap_bytes, file_bytes, pause_us }) {
        Ok(text) => Response::json(text),
        Err(error) => Response::refusal(500, &error.to_string()),
    }
}

fn content(path: &Path) -> Response {
    let opened = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
    match opened {
        Ok((length, file)) => {
            let name = path.file_name().unwrap_or_default().display().to_string();
            let name: String =
                name.chars().filter(|it| it.is_ascii_graphic() && *it != '"').collect();
            Response::new(200, "application/octet-stream", Body::File(file, length))
                .with("Content-Disposition", format!("attachment; filename=\"{name}\""))
        }
        Err(error) => Response::refusal(500, &format!("{}: {error}", path.display())),
    }
}

fn refused(error: &SnapshotError) -> Response {
    let status = match error {
        SnapshotError::NotRecorded(_) | SnapshotError::Ended(_) => 404,
        SnapshotError::Busy(_) => 503,
        _ => 409,
    };
    Response::refusal(status, &error.to_string())
}
