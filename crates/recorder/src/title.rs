//! What a process calls itself: programs write over their arguments what they are about, so that `ps`
//! shows it (`postgres: checkpointer`, `nginx: worker process`).

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::process::Pid;

use crate::process::ProcessImage;

/// No more of it is looked at, in bytes.
const LONGEST: usize = 4096;

/// Of one process, as it was last seen.
#[derive(Clone, Debug)]
pub(crate) struct Title {
    path: PathBuf,
    last: Vec<u8>,
}

impl Title {
    /// As it was when the process said hello.
    pub(crate) fn of(process: &ProcessImage) -> Title {
        let last = process.words.iter().copied().take(LONGEST).collect();
        Title { path: path(process.pid), last }
    }

    /// The title now, if it has changed.
    pub(crate) fn look_again(&mut self) -> Option<Arc<str>> {
        let mut now = Vec::new();
        File::open(&self.path).ok()?.take(LONGEST as u64).read_to_end(&mut now).ok()?;
        let title = (now != self.last).then(|| words(&now)).filter(|title| !title.is_empty())?;
        self.last = now;
        Some(title.into())
    }
}

fn path(pid: Pid) -> PathBuf {
    format!("/proc/{}/cmdline", pid.as_raw_nonzero()).into()
}

/// Without what fills the room of the arguments that were there.
fn words(told: &[u8]) -> String {
    let text = String::from_utf8_lossy(told);
    let words = text.split('\0').filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

    #[test]
    fn words_are_without_filling() {
        assert_eq!(words(b"postgres: checkpointer \0\0\0"), "postgres: checkpointer");
        assert_eq!(words(b"sort\0-r\0"), "sort -r");
        assert_eq!(words(b"\0\0 \0"), "");
    }

    /// A program that says so when it has renamed itself.
    #[test]
    fn a_title_is_told_when_it_changes() {
        let script = r#"$| = 1; for ("one", "one", "two") { print "\n"; <STDIN>; $0 = $_ } print "\n"; <STDIN>"#;
        let mut command = Command::new("perl");
        command.args(["-e", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut heard = || output.read_line(&mut String::new()).unwrap();
        heard();
        let mut title = Title::of(&ProcessImage::read(Pid::from_child(&child)));
        assert_eq!(title.look_again(), None);
        for expected in [Some("one"), None, Some("two")] {
            child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
            heard();
            assert_eq!(title.look_again().as_deref(), expected);
        }
        child.stdin.take();
        child.wait().unwrap();
        assert_eq!(title.look_again(), None);
    }
}
