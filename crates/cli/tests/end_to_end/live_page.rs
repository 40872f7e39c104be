//! The live page on a terminal: a pseudoterminal whose other end is read as a terminal reads it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::support::fixture::c;
use crate::support::run::lifetrace;
use crate::support::running::Running;

/// A program on a terminal.
struct Terminal {
    child: Child,
    keyboard: File,
    other_end: OwnedFd,
    screen: Arc<Mutex<vt100::Parser>>,
    reading: Option<JoinHandle<()>>,
}

/// Runs `lifetrace` with these words on a terminal of which both ends come back.
fn begin(
    words: &[&str],
    rows: u16,
    columns: u16,
    environment: &[(&str, &str)],
) -> (OwnedFd, OwnedFd, Child) {
    let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&main).unwrap();
    unlockpt(&main).unwrap();
    let name = ptsname(&main, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let other_end = open(&*name, flags, Mode::empty()).unwrap();
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&other_end, size).unwrap();
    let mut command = Command::new(lifetrace());
    command.args(words).env("TERM", "xterm-256color").envs(environment.iter().copied());
    command.env_remove("NO_COLOR").env_remove("COLUMNS").envs(environment.iter().copied());
    let end = || other_end.try_clone().unwrap();
    let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
    (main, other_end, child)
}

impl Terminal {
    /// Runs `lifetrace` with these words.
    fn run(words: &[&str], rows: u16, columns: u16, environment: &[(&str, &str)]) -> Terminal {
        let (main, other_end, child) = begin(words, rows, columns, environment);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
        let (mut output, parser) = (File::from(main.try_clone().unwrap()), Arc::clone(&screen));
        let reading = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                parser.lock().unwrap().process(&bytes[..count]);
            }
        });
        let keyboard = File::from(main);
        Terminal { child, keyboard, other_end, screen, reading: Some(reading) }
    }

    fn lines(&self) -> Vec<String> {
        let parser = self.screen.lock().unwrap();
        let (_, columns) = parser.screen().size();
        parser.screen().rows(0, columns).map(|line| line.trim_end().to_owned()).collect()
    }

    /// Waits until the screen is so, however long that takes.
    fn wait(&mut self, what: &str, is_so: impl Fn(&[String]) -> bool) -> Vec<String> {
        loop {
            let lines = self.lines();
            if is_so(&lines) {
                return lines;
            }
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "no {what} before the end: {ended:?} {lines:#?}");
            sleep(Duration::from_millis(20));
        }
    }

    fn wait_for(&mut self, part: &str) -> Vec<String> {
        self.wait(part, |lines| lines.iter().any(|line| line.contains(part)))
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    fn resize(&self, rows: u16, columns: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.other_end, size).unwrap();
        self.screen.lock().unwrap().screen_mut().set_size(rows, columns);
    }

    fn is_raw(&self) -> bool {
        !tcgetattr(&self.other_end).unwrap().local_modes.contains(LocalModes::ICANON)
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits for its end, and finds the terminal as it was.
    fn end(mut self) -> (ExitStatus, Vec<String>) {
        let status = self.child.wait().unwrap();
        assert!(!self.is_raw());
        // Where nobody has the other end open, what is on its way is read, and then there is an end.
        self.other_end = File::open("/dev/null").unwrap().into();
        self.reading.take().unwrap().join().unwrap();
        let parser = self.screen.lock().unwrap();
        assert!(!parser.screen().alternate_screen() && !parser.screen().hide_cursor());
        let (_, columns) = parser.screen().size();
        (status, parser.screen().rows(0, columns).map(|line| line.trim_end().to_owned()).collect())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|it| it.is_none()) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn still() -> Running {
    Running::of(&c("stands_still"), &[], &["--interval", "4096"])
}

#[test]
fn a_process_is_shown_at_both_widths_and_its_end_is_told() {
    for columns in [80, 200] {
        let running = still();
        let mut page = Terminal::run(&["live", &running.pid.to_string()], 24, columns, &[]);
        let lines = page.wait_for("keep_often");
        assert!(page.is_raw());
        assert!(lines[0].starts_with(&format!("lifetrace live  {} stands_still", running.pid)));
        assert!(lines[1].contains("  live ") && lines[1].contains("MiB"), "{lines:#?}");
        assert_eq!(lines[4].contains("AT PEAK"), columns == 200, "{lines:#?}");
        page.press("\r");
        page.wait_for("calls that lead to keep_often");
        page.wait_for("main");
        page.press("\t");
        page.wait_for("live now");
        page.press("\x1b");
        page.wait_for("GROWTH/MIN");
        page.press("m");
        page.wait_for("SINCE MARK");
        page.press("fsize > 1MiB\r");
        page.wait("filter", |lines| {
            lines[2].contains("filter: size>1MiB")
                && !lines.iter().any(|it| it.contains("keep_often"))
        });
        page.press("f");
        page.press(&"\x7f".repeat(11));
        page.press("\r");
        page.wait_for("keep_often");
        assert_eq!(running.finish().0, Some(7));
        page.wait_for("ENDED with 7");
        page.press("q");
        assert!(page.end().0.success());
    }
}

#[test]
fn a_window_that_changes_its_size() {
    let running = still();
    let mut page = Terminal::run(&["live", &running.pid.to_string()], 24, 200, &[]);
    page.wait_for("AT PEAK");
    page.resize(20, 80);
    page.wait("narrower page", |lines| {
        lines[4].contains("LIVE") && !lines[4].contains("AT PEAK") && lines[19].contains("help")
    });
    page.press("\x03");
    assert!(page.end().0.success());
}

#[test]
fn a_signal_leaves_the_terminal_as_it_was() {
    let running = still();
    let mut page = Terminal::run(&["live", &running.pid.to_string()], 24, 80, &[]);
    page.wait_for("keep_often");
    kill_process(page.pid(), Signal::TERM).unwrap();
    assert!(page.end().0.success());
}

/// The program gets no input, and its output comes when the page is gone.
#[test]
fn a_program_that_is_started_ends_with_the_page_if_that_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("kept.lt");
    let steady = c("steady");
    let steady = steady.to_str().unwrap();
    let words =
        ["live", "-o", trace.to_str().unwrap(), "--interval", "256", "--", steady, "3600000"];
    let mut page = Terminal::run(&words, 24, 80, &[]);
    page.wait_for("hazard_steady");
    page.press("q");
    page.wait_for("the program still runs");
    page.press("n");
    page.wait_for("q quit");
    page.press("qy");
    let (status, lines) = page.end();
    assert!(status.success(), "{lines:#?}");
    let dump = crate::support::run::lifetrace_verb(&["info", trace.to_str().unwrap()]);
    assert!(
        dump.stdout_text().contains("signal 15") || dump.stdout_text().contains("SIGTERM"),
        "{dump:?}"
    );
}

#[test]
fn what_a_program_has_printed_is_printed_in_the_end() {
    let steady = c("steady");
    let steady = steady.to_str().unwrap();
    let mut page = Terminal::run(&["live", "--interval", "256", "--", steady, "2000"], 24, 80, &[]);
    page.wait_for("ENDED with 0");
    let lines = page.lines();
    assert!(!lines.iter().any(|line| line == "done"), "{lines:#?}");
    page.press("q");
    let (status, lines) = page.end();
    assert!(status.success() && lines.iter().any(|line| line == "done"), "{lines:#?}");
}

#[test]
fn without_colours_there_are_none_and_a_dumb_terminal_has_no_page() {
    let running = still();
    let pid = running.pid.to_string();
    let mut page = Terminal::run(&["live", &pid], 24, 80, &[("NO_COLOR", "1")]);
    page.wait_for("keep_often");
    let is_plain = |parser: &vt100::Parser| {
        let cells = (0..24).flat_map(|row| (0..80).map(move |column| (row, column)));
        let mut cells = cells.filter_map(|(row, column)| parser.screen().cell(row, column));
        cells.all(|cell| {
            cell.fgcolor() == vt100::Color::Default && cell.bgcolor() == vt100::Color::Default
        })
    };
    assert!(is_plain(&page.screen.lock().unwrap()));
    page.press("q");
    assert!(page.end().0.success());
    let refused = Terminal::run(&["live", &pid], 24, 80, &[("TERM", "dumb")]);
    let (status, lines) = refused.end();
    assert_eq!(status.code(), Some(1));
    assert!(lines.iter().any(|line| line.contains("--once")), "{lines:#?}");
    assert!(Path::new(&format!("/proc/{pid}")).exists());
}

/// A connection that breaks takes the terminal with it.
#[test]
fn without_its_terminal_it_ends() {
    let running = still();
    let words = ["live", &running.pid.to_string()];
    let (main, other_end, mut child) = begin(&words, 24, 80, &[]);
    let (mut output, mut parser) = (File::from(main), vt100::Parser::new(24, 80, 0));
    let mut bytes = [0; 4096];
    while !parser.screen().contents().contains("keep_often") {
        let count = output.read(&mut bytes).unwrap();
        parser.process(&bytes[..count]);
    }
    drop((output, other_end));
    child.wait().unwrap();
}
