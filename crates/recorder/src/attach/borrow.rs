//! A worker in a process: a thread of its C library's that calls there what the recorder asks it to.
//!
//! ```text
//! judge threads, one at a time ─> one that is safe ─> borrowed: maps memory, pthread_create, goes on
//!                                                        └─> worker: asks for work in that memory
//! ```
//!
//! The borrowed thread is stopped for as long as it takes to walk its stack and to write a few hundred bytes; what it does
//! for us takes less. The worker waits for the program's locks like any other thread of the program's.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::code::{ANSWERED, ASKED, Borrow, DATA_BYTES, END, Work, letter};
use super::error::AttachError;
use super::memory::{Memory, Module};
use super::safe::{Judge, Unsafe};
use crate::maps;
use crate::stop::{Held, Hurry, StopError, handled_signals, sleepers_first};

/// For so long a thread at a safe place is looked for, and waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often letters are looked at.
const LOOK: Duration = Duration::from_micros(50);

/// Functions of the C library's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Functions {
    pub(super) create: u64,
    pub(super) this: u64,
    pub(super) detach: u64,
    pub(super) errno: u64,
    pub(super) syscall: u64,
    pub(super) dlopen: u64,
    pub(super) dlerror: u64,
    pub(super) dlsym: u64,
}

/// A thread of ours in a process.
#[derive(Debug)]
pub(super) struct Worker<'a> {
    pid: Pid,
    memory: &'a Memory,
    data: u64,
    /// The thread that was borrowed for it.
    borrowed: Pid,
    /// What was written over, where, and what was there.
    written: Vec<(u64, Vec<u8>)>,
    syscall: u64,
    thread: u64,
    /// For how long the borrowed thread was stopped.
    pub(super) held: Duration,
    /// How many times a thread was stopped until one was safe.
    pub(super) tries: u32,
}

/// Where the code and the memory go.
struct Places {
    borrow: u64,
    work: u64,
    data: u64,
}

impl<'a> Worker<'a> {
    /// Starts one.
    ///
    /// # Errors
    /// [`AttachError`]; then the process is as it was.
    pub(super) fn start(
        pid: Pid,
        memory: &'a Memory,
        judge: &mut Judge<'_>,
        functions: Functions,
    ) -> Result<Worker<'a>, AttachError> {
        let places = places(pid, memory, &judge.permanent())?;
        let hurry = Hurry::begin();
        let Found { held, thread: borrowed, since, tries } = find(pid, judge)?;
        let mut worker = Worker {
            pid,
            memory,
            data: places.data,
            borrowed,
            written: Vec::new(),
            syscall: functions.syscall,
            thread: 0,
            held: Duration::ZERO,
            tries,
        };
        let sent = worker.send(held, &places, functions);
        worker.held = since.elapsed();
        drop(hurry);
        sent.and_then(|()| worker.meet()).inspect_err(|_| worker.clear_up())?;
        Ok(worker)
    }

    fn send(
        &mut self,
        held: Held,
        places: &Places,
        functions: Functions,
    ) -> Result<(), AttachError> {
        let [code, ..] = held.place();
        let before = self.memory.array(code.wrapping_sub(2)).unwrap_or_default();
        let status = std::fs::read_to_string(folder(self.pid) + "/status").unwrap_or_default();
        let borrow = Borrow {
            data: places.data,
            errno: functions.errno,
            worker: places.work,
            create: functions.create,
            handled: handled_signals(&status),
            onward: held.onward(before),
        };
        let work = Work { this: functions.this, detach: functions.detach };
        self.write(places.work, &work.to_bytes())?;
        self.write(places.borrow, &borrow.to_bytes())?;
        held.send(places.borrow).map_err(AttachError::System)
    }

    /// Over padding, which is put back at the end.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), AttachError> {
        self.written.push((address, vec![0; bytes.len()]));
        self.memory.write(address, bytes).map_err(AttachError::Unwritable)
    }

    /// Waits until the borrowed thread has gone on, and the worker is there.
    fn meet(&mut self) -> Result<(), AttachError> {
        let (begun, mut looks) = (Instant::now(), 0u32);
        while self.memory.half_word(self.data + letter::RETURNED) != Some(1) {
            looks += 1;
            // It has no memory if it could not map any.
            let is_asked = looks.is_multiple_of(100);
            if is_asked && self.has_returned() && self.memory.half_word(self.data).is_none() {
                return Err(AttachError::NoMemory);
            }
            if begun.elapsed() > PATIENCE {
                return Err(AttachError::Silent);
            }
            sleep(LOOK);
        }
        match self.memory.half_word(self.data + letter::ERROR) {
            Some(0) => {}
            error => {
                // Nobody else gives the memory back.
                let error = error.unwrap_or(0) as i32;
                return Err(AttachError::NoThread(io::Error::from_raw_os_error(error)));
            }
        }
        self.thread = self.system_call(nix::libc::SYS_gettid, [0; 5])?;
        Ok(())
    }

    /// Calls a function, and waits until it has returned.
    ///
    /// # Errors
    /// [`AttachError::Silent`], [`AttachError::Ended`].
    pub(super) fn call(&self, function: u64, arguments: [u64; 6]) -> Result<u64, AttachError> {
        let words = [function].into_iter().chain(arguments);
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        self.tell(letter::FUNCTION, &bytes)?;
        self.tell(letter::TURN, &ASKED.to_le_bytes())?;
        let until = Instant::now() + PATIENCE;
        while self.memory.half_word(self.data + letter::TURN) != Some(ANSWERED) {
            if self.memory.half_word(self.data + letter::TURN).is_none() {
                return Err(AttachError::Ended);
            }
            if Instant::now() > until {
                return Err(AttachError::Silent);
            }
            sleep(LOOK);
        }
        self.memory.word(self.data + letter::RESULT).ok_or(AttachError::Ended)
    }

    /// Makes a system call; its result, which is -1 for an error.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub(super) fn system_call(&self, number: i64, with: [u64; 5]) -> Result<u64, AttachError> {
        let [a, b, c, d, e] = with;
        self.call(self.syscall, [number as u64, a, b, c, d, e])
    }

    /// Puts bytes where functions can find them, and tells where that is. They stay until others are put there.
    ///
    /// # Errors
    /// [`AttachError::Ended`].
    pub(super) fn put(&self, bytes: &[u8]) -> Result<u64, AttachError> {
        self.tell(letter::ROOM, bytes)?;
        Ok(self.data + letter::ROOM)
    }

    fn tell(&self, letter: u64, bytes: &[u8]) -> Result<(), AttachError> {
        self.memory.write(self.data + letter, bytes).map_err(|_| AttachError::Ended)
    }

    /// The string of C's at an address.
    pub(super) fn text(&self, address: u64) -> Option<String> {
        const LONGEST: usize = 512;
        let bytes = self.memory.read_up_to(address, LONGEST);
        let end = bytes.iter().position(|&byte| byte == 0).filter(|_| address != 0)?;
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    /// The worker's number, as the process sees it.
    pub(super) fn thread(&self) -> u64 {
        self.thread
    }

    /// Whether the borrowed thread is where it was, or has gone on from there: no word of its stack leads to our code.
    fn has_returned(&self) -> bool {
        let held = match Held::hold(self.pid, self.borrowed) {
            Ok(Some(held)) => held,
            // It does not end but where it was going.
            Err(StopError::Gone) => return true,
            _ => return false,
        };
        let [code, stack, _] = held.place();
        let is_ours = |address: u64| {
            self.written.iter().any(|(at, bytes)| (*at..at + bytes.len() as u64).contains(&address))
        };
        const NEAR: usize = 64 << 10;
        let words = self.memory.read_up_to(stack, NEAR);
        let mut words = words.chunks_exact(8).filter_map(|it| it.try_into().ok());
        !is_ours(code) && !words.any(|word| is_ours(u64::from_le_bytes(word)))
    }

    /// Has the worker end, and takes the code away when nobody is there any more.
    pub(super) fn end(mut self) {
        self.clear_up();
    }

    fn clear_up(&mut self) {
        let until = Instant::now() + PATIENCE;
        let wait = |is_done: &dyn Fn() -> bool| {
            while !is_done() {
                if Instant::now() > until {
                    return false;
                }
                sleep(10 * LOOK);
            }
            true
        };
        let worker = outside(self.pid, self.thread);
        let has_returned = wait(&|| self.has_returned() || !Path::new(&folder(self.pid)).exists());
        if !has_returned {
            return;
        }
        let had_worker = self.thread != 0 && self.tell(letter::TURN, &END.to_le_bytes()).is_ok();
        if had_worker && worker.is_some_and(|it| !wait(&|| !Path::new(&it).exists())) {
            return;
        }
        for (address, bytes) in self.written.drain(..) {
            // It fails if the process has ended.
            let _ = self.memory.write(address, &bytes);
        }
    }
}

/// A thread at a safe place.
struct Found {
    held: Held,
    thread: Pid,
    /// It stands still since then.
    since: Instant,
    /// How many were stopped until it was found.
    tries: u32,
}

fn find(pid: Pid, judge: &mut Judge<'_>) -> Result<Found, AttachError> {
    let (until, mut tries) = (Instant::now() + PATIENCE, 0u32);
    let mut why = Unsafe::Unknown;
    loop {
        for thread in sleepers_first(pid) {
            tries += 1;
            let held = match Held::hold(pid, thread) {
                Ok(Some(held)) => held,
                Ok(None) | Err(StopError::Gone) => continue,
                Err(error) => return Err(error.into()),
            };
            let since = Instant::now();
            match judge.judge(held.place()) {
                Ok(()) => return Ok(Found { held, thread, since, tries }),
                Err(reason) => why = reason,
            }
        }
        if !Path::new(&folder(pid)).exists() {
            return Err(AttachError::Ended);
        }
        if Instant::now() > until {
            return Err(AttachError::NeverSafe(why.to_string()));
        }
        sleep(Duration::from_micros(300 + u64::from(tries) * 37 % 700));
    }
}

/// Padding for the code, and a gap for the memory.
fn places(pid: Pid, memory: &Memory, modules: &[&Module]) -> Result<Places, AttachError> {
    let work = Work { this: 0, detach: 0 }.to_bytes().len() as u64;
    let borrow = Borrow::length() as u64;
    let mut free: Vec<Range<u64>> = modules.iter().filter_map(|it| it.padding.clone()).collect();
    free.retain(|it| is_blank(memory, it));
    let mut take = |length: u64| {
        let part = free.iter_mut().find(|it| it.end - it.start >= length)?;
        let start = part.start;
        part.start = (start + length).next_multiple_of(16);
        Some(start)
    };
    let (borrow, work) = take(borrow).zip(take(work)).ok_or(AttachError::NoRoom)?;
    let mapped = maps::read(folder(pid).as_ref()).map_err(|_| AttachError::Ended)?;
    // Gaps between libraries are left alone by programs that ask for memory at no place in particular.
    let gaps = mapped.windows(2).map(|pair| pair[0].range.end..pair[1].range.start);
    const MARGIN: u64 = 1 << 20;
    const HIGHEST: u64 = 1 << 46;
    let mut wide =
        gaps.filter(|it| it.end - it.start > DATA_BYTES + 2 * MARGIN && it.end < HIGHEST * 2);
    let gap = wide.next_back().ok_or(AttachError::NoRoom)?;
    let data = (gap.start + MARGIN).next_multiple_of(4096);
    Ok(Places { borrow, work, data })
}

fn is_blank(memory: &Memory, part: &Range<u64>) -> bool {
    let bytes = memory.read(part.start, (part.end - part.start) as usize);
    bytes.is_some_and(|bytes| bytes.iter().all(|&byte| byte == 0))
}

/// Where the system tells of a thread, which has this number within its process's namespace.
fn outside(pid: Pid, thread: u64) -> Option<String> {
    let tasks = std::fs::read_dir(folder(pid) + "/task").ok()?.flatten();
    let mut paths = tasks.map(|it| it.path().to_string_lossy().into_owned());
    paths.find(|path| {
        let status = std::fs::read_to_string(format!("{path}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        let innermost = line.and_then(|line| line.split_ascii_whitespace().next_back());
        innermost.and_then(|it| it.parse().ok()) == Some(thread)
    })
}

fn folder(pid: Pid) -> String {
    format!("/proc/{}", pid.as_raw_nonzero())
}
