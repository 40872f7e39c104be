//! The steps from a process to its session.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::time::Instant;

use lifetrace_transport::attach::{Arrival, Told};
use rustix::process::Pid;

use super::borrow::Worker;
use super::detaching;
use super::error::AttachError;
use super::jumps;
use super::library::{Library, session_memory};
use super::look::{Seen, look};
use super::memory::{Memory, Module, modules};
use super::place::Place;
use super::safe::Judge;
use super::terms::{AttachConfig, Pauses};
use crate::admission::Guest;
use crate::collector::Collector;
use crate::patch::{Allocators, Late, Patches, Unheard};
use crate::process::ProcessImage;
use crate::socket::Socket;

/// What has come of it.
pub(super) struct Joined {
    pub(super) collector: Collector,
    pub(super) pauses: Pauses,
}

/// A process that is about to be recorded.
pub(super) struct Joining<'a> {
    pid: Pid,
    config: &'a AttachConfig,
    seen: Seen,
    process: ProcessImage,
    memory: Memory,
    modules: Vec<Module>,
    place: Place,
    library: Option<Library>,
    allocators: Allocators,
    begun: Instant,
}

impl<'a> Joining<'a> {
    /// Looks at a process; it is as it was.
    ///
    /// # Errors
    /// [`AttachError`].
    pub(super) fn look(pid: Pid, config: &'a AttachConfig) -> Result<Joining<'a>, AttachError> {
        let (begun, seen) = (Instant::now(), look(pid)?);
        let process = ProcessImage::read(pid);
        config.options.check(&process.called.name)?;
        let memory = Memory::open(pid).map_err(AttachError::System)?;
        let modules = modules(pid, &memory);
        let place = Place::find(&modules)?;
        let library = Library::find(&memory, &modules)?;
        if let Some(library) = &library {
            refuse_recorded(&memory, library)?;
        }
        let allocators = Allocators::default();
        // It takes a while to find them out, in which nothing of ours is in the process yet.
        if !is_preloaded(library.as_ref(), &memory)? {
            allocators
                .late_patches(&process, late(config, &place, place.malloc))
                .map_err(|error| AttachError::Unheard(error.to_string()))?;
        }
        let joining = Joining {
            pid,
            config,
            seen,
            process,
            memory,
            modules,
            place,
            library,
            allocators,
            begun,
        };
        Ok(joining)
    }

    /// Whether it filters its system calls.
    pub(super) fn is_filtered(&self) -> bool {
        self.seen.is_filtered
    }

    /// Begins the session.
    ///
    /// # Errors
    /// [`AttachError`]; then nothing is recorded, and the process is as it was but for the library, which may have been
    /// loaded and does nothing.
    pub(super) fn join(mut self, socket: Socket) -> Result<Joined, AttachError> {
        let Place { libc, allocator, functions, .. } = self.place;
        let modules = std::mem::take(&mut self.modules);
        let memory = Memory::open(self.pid).map_err(AttachError::System)?;
        let mut judge = Judge::new(&memory, &modules, [libc, allocator], self.seen.entry);
        let worker = Worker::start(self.pid, &memory, &mut judge, functions)?;
        let joined = self.join_by(&worker, socket);
        let (borrowed, tries) = (worker.held, worker.tries);
        let took = self.begun.elapsed();
        worker.end();
        let joined = joined?;
        let pauses = Pauses { borrowed, tries, took, ..joined.pauses };
        Ok(Joined { pauses, ..joined })
    }

    fn join_by(&self, worker: &Worker<'_>, socket: Socket) -> Result<Joined, AttachError> {
        let library = self.loaded(worker)?;
        let replaces = self.has_lost_recorder(&library)?;
        let patches = self.patches(worker, &library)?;
        let session = session_memory(self.pid, worker)?;
        let path = socket.path().to_owned();
        let guest = Guest {
            pid: self.pid,
            memory: session.file,
            patches,
            is_filtered: self.seen.is_filtered,
        };
        let begun = Collector::start_for(guest, socket, &self.config.options);
        let (collector, bytes) = match begun {
            Ok(begun) => begun,
            Err(error) => {
                worker.close(session.descriptor)?;
                return Err(error.into());
            }
        };
        let request = lifetrace_transport::attach::Request {
            descriptor: session.descriptor as u32,
            bytes,
            path: path.as_os_str().as_bytes(),
            replaces,
            is_filtered: self.seen.is_filtered,
        };
        let put = library.join(&self.memory, worker, &request).and_then(|copied| {
            let told = Told::of(&copied).ok_or(AttachError::OtherVersion)?;
            jumps::put(self.pid, &self.memory, &told)
        });
        match put {
            Ok(written) => {
                // The worker is not the process's.
                let threads = written.threads.saturating_sub(1);
                let pauses = Pauses { all: written.pause, threads, ..Pauses::default() };
                Ok(Joined { collector, pauses })
            }
            Err(error) => Err(abandon(&collector, error)),
        }
    }

    fn loaded(&self, worker: &Worker<'_>) -> Result<Library, AttachError> {
        if let Some(library) = &self.library {
            return Ok(library.clone());
        }
        Library::load(self.pid, self.config.preload, worker, self.place.functions)?;
        let missing = || AttachError::NotLoaded("it is not where it was loaded".to_owned());
        Library::find(&self.memory, &modules(self.pid, &self.memory))?.ok_or_else(missing)
    }

    /// Whether the process has a recorder that is gone, though nobody has ended its session.
    fn has_lost_recorder(&self, library: &Library) -> Result<bool, AttachError> {
        let copied = library.copy(&self.memory)?;
        let told = Told::of(&copied).ok_or(AttachError::OtherVersion)?;
        let path = match told.path() {
            [] => detaching::socket_of_start(self.pid),
            path => Some(path.to_vec()),
        };
        let is_gone = path.is_some_and(|path| detaching::recorder_at(&path).is_none());
        // Its jumps are what ours will be, and lead where ours will lead: nobody may run that while a session begins.
        let jumps: Vec<_> = told.jumps().collect();
        if is_gone && jumps::are_in_place(&self.memory, &jumps) {
            jumps::take_back(self.pid, &self.memory, &jumps, library)?;
        }
        Ok(is_gone)
    }

    fn patches(&self, worker: &Worker<'_>, library: &Library) -> Result<Patches, AttachError> {
        if is_preloaded(Some(library), &self.memory)? {
            return Ok(Patches::default());
        }
        /// `RTLD_DEFAULT`
        const ANYWHERE: u64 = 0;
        let name = worker.put(b"malloc\0")?;
        let found = worker.call(self.place.functions.dlsym, [ANYWHERE, name, 0, 0, 0, 0])?;
        let late = |malloc| late(self.config, &self.place, malloc);
        let patches = |malloc| self.allocators.late_patches(&self.process, late(malloc));
        // A program at a fixed place that takes malloc's address has a stub of that name, which leads to the real one.
        let by_name = if found == 0 { Err(Unheard::Replaced) } else { patches(found) };
        let patches = match by_name {
            Err(Unheard::Replaced) => patches(self.place.malloc),
            found => found,
        };
        patches.map_err(|error| AttachError::Unheard(error.to_string()))
    }
}

/// What is asked of a process with its `malloc` there.
fn late(config: &AttachConfig, place: &Place, malloc: u64) -> Late {
    Late { malloc, prctl: place.prctl, hears_mappings: config.options.sources.has_mappings() }
}

/// # Errors
/// [`AttachError::Recorded`], if another recorder has attached to the process, and is there.
fn refuse_recorded(memory: &Memory, library: &Library) -> Result<(), AttachError> {
    let copied = library.copy(memory)?;
    let told = Told::of(&copied).ok_or(AttachError::OtherVersion)?;
    let jumps: Vec<_> = told.jumps().collect();
    let recorder = detaching::recorder_at(told.path());
    match recorder.filter(|_| jumps::are_in_place(memory, &jumps)) {
        Some(recorder) => Err(AttachError::Recorded(Some(recorder))),
        None => Ok(()),
    }
}

/// Whether the library has come with the program: then malloc is heard by its name.
fn is_preloaded(library: Option<&Library>, memory: &Memory) -> Result<bool, AttachError> {
    let Some(library) = library else { return Ok(false) };
    let copied = library.copy(memory)?;
    let told = Told::of(&copied).ok_or(AttachError::OtherVersion)?;
    Ok(told.arrival() == Arrival::Preloaded)
}

/// Ends what has begun, and takes the trace away, which has nothing in it.
fn abandon(collector: &Collector, error: AttachError) -> AttachError {
    let outcome = collector.finish();
    for session in &outcome.sessions {
        let removed = std::fs::remove_file(&session.path);
        if removed.is_err_and(|error| error.kind() != io::ErrorKind::NotFound) {
            let path = session.path.clone();
            return AttachError::Remains { error: Box::new(error), path };
        }
    }
    error
}
