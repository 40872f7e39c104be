//! Pointers that a program has given to the kernel, to have them back with an event.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

/// More descriptors are not looked at.
const MOST_DESCRIPTORS: usize = 1 << 14;

/// What the process's epoll descriptors and timers will give back to it.
pub(super) fn words(process: Pid) -> Vec<u64> {
    let folder = PathBuf::from(format!("/proc/{}", process.as_raw_nonzero()));
    let mut words = timers(&fs::read_to_string(folder.join("timers")).unwrap_or_default());
    let entries = fs::read_dir(folder.join("fd")).into_iter().flatten().flatten();
    for entry in entries.take(MOST_DESCRIPTORS) {
        if fs::read_link(entry.path()).is_ok_and(|it| it == Path::new("anon_inode:[eventpoll]")) {
            let told = fs::read_to_string(folder.join("fdinfo").join(entry.file_name()));
            words.extend(watched(&told.unwrap_or_default()));
        }
    }
    words
}

/// `tfd:        5 events:       19 data:     7f0123456789  pos:...`
fn watched(told: &str) -> Vec<u64> {
    let lines = told.lines().filter(|line| line.starts_with("tfd:"));
    lines.filter_map(|line| hexadecimal(line.split("data:").nth(1)?)).collect()
}

/// `signal: 14/00007f0123456789`
fn timers(told: &str) -> Vec<u64> {
    let lines = told.lines().filter_map(|line| line.strip_prefix("signal:"));
    lines.filter_map(|line| hexadecimal(line.split('/').nth(1)?)).collect()
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.split_ascii_whitespace().next()?.trim_start_matches("0x"), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_keeps_is_read() {
        let told = "pos:\t0\nflags:\t02\ntfd:        5 events:       19 data:     7f0123456789  pos:0 ino:3 sdev:9\n";
        assert_eq!(watched(told), [0x7f01_2345_6789]);
        let told = "ID: 0\nsignal: 14/00007f0123456780\nnotify: signal/pid.9\nClockID: 0\n";
        assert_eq!(timers(told), [0x7f01_2345_6780]);
        assert!(watched("pos: 0").is_empty() && timers("").is_empty());
    }
}
