//! The agent's library: as it is loaded into a process, and as it is found there.

use std::io::Write;
use std::ops::Range;

use lifetrace_transport::attach::{self, Arrival, LEN, Outcome, Request, Told};
use object::{Object, ObjectSection, ObjectSymbol};
use rustix::process::Pid;

use super::borrow::{Functions, Worker};
use super::error::AttachError;
use super::memory::{self, Memory, Module};

/// The file that is loaded; it has no place, and is gone when it is closed.
const FILE: &str = "liblifetrace.so";

/// A library that is in a process.
#[derive(Clone, Debug)]
pub(super) struct Library {
    /// Its code.
    pub(super) text: Range<u64>,
    table: u64,
    join: u64,
}

impl Library {
    /// The library, if it is in the process already.
    ///
    /// # Errors
    /// [`AttachError::OtherVersion`].
    pub(super) fn find(
        memory: &Memory,
        modules: &[Module],
    ) -> Result<Option<Library>, AttachError> {
        let has_table = |it: &&Module| it.symbol(attach::TABLE).is_some();
        let Some(module) = modules.iter().find(has_table) else {
            let is_ours = |it: &Module| memory::is_called(&it.path, FILE);
            let is_other = modules.iter().any(is_ours);
            return if is_other { Err(AttachError::OtherVersion) } else { Ok(None) };
        };
        let text = module.text.first().cloned().unwrap_or_default();
        let symbols = module.symbol(attach::TABLE).zip(module.symbol(attach::JOIN));
        let (table, join) = symbols.ok_or(AttachError::OtherVersion)?;
        let library = Library { text, table, join };
        let copied = library.copy(memory)?;
        Told::of(&copied).ok_or(AttachError::OtherVersion)?;
        Ok(Some(library))
    }

    /// Loads it.
    ///
    /// # Errors
    /// [`AttachError`].
    pub(super) fn load(
        pid: Pid,
        bytes: &[u8],
        worker: &Worker<'_>,
        functions: Functions,
    ) -> Result<(), AttachError> {
        let path = leave_file(pid, bytes, worker)?;
        /// `RTLD_NOW`, and its symbols for nobody else.
        const NOW: u64 = 2;
        let name = worker.put(format!("{}\0", path.name).as_bytes())?;
        let handle = worker.call(functions.dlopen, [name, NOW, 0, 0, 0, 0])?;
        worker.close(path.descriptor)?;
        if handle == 0 {
            return Err(AttachError::NotLoaded(worker.error(functions)?));
        }
        Ok(())
    }

    /// What it tells.
    ///
    /// # Errors
    /// [`AttachError::Ended`].
    pub(super) fn copy(&self, memory: &Memory) -> Result<Box<[u8; LEN]>, AttachError> {
        let bytes = memory.read(self.table, LEN).ok_or(AttachError::Ended)?;
        bytes.into_boxed_slice().try_into().map_err(|_| AttachError::Ended)
    }

    /// Has it begin a session.
    ///
    /// # Errors
    /// [`AttachError`].
    pub(super) fn join(
        &self,
        memory: &Memory,
        worker: &Worker<'_>,
        request: &Request<'_>,
    ) -> Result<Box<[u8; LEN]>, AttachError> {
        let too_long = || AttachError::Recorder(std::io::ErrorKind::InvalidFilename.into());
        let (at, bytes) = request.to_bytes().ok_or_else(too_long)?;
        memory.write(self.table + at, &bytes).map_err(AttachError::Unwritable)?;
        worker.call(self.join, [0; 6])?;
        let copied = self.copy(memory)?;
        match Told::of(&copied).map(|told| told.outcome()) {
            Some(Outcome::Joined) => Ok(copied),
            Some(Outcome::Recorded) => Err(AttachError::Recorded(None)),
            Some(Outcome::NoMemory) => Err(AttachError::NoMemory),
            Some(Outcome::Foreign) => Err(AttachError::NoLibc),
            Some(Outcome::Unpatched) => Err(AttachError::Unpatched),
            Some(Outcome::Pending) | None => Err(AttachError::OtherVersion),
        }
    }
}

/// A file that is open in a process.
struct Left {
    descriptor: u64,
    name: String,
}

/// Leaves the library in memory of the process's own. Its name is a new one each time: the dynamic linker goes by names.
fn leave_file(pid: Pid, bytes: &[u8], worker: &Worker<'_>) -> Result<Left, AttachError> {
    const CLOSE_ON_EXEC: u64 = 1;
    let name = worker.put(format!("{FILE}\0").as_bytes())?;
    let descriptor =
        worker.system_call(nix::libc::SYS_memfd_create, [name, CLOSE_ON_EXEC, 0, 0, 0])?;
    if descriptor as i32 == -1 {
        return Err(AttachError::NoMemory);
    }
    let number = pid.as_raw_nonzero();
    let path = format!("/proc/{number}/fd/{descriptor}");
    let file = std::fs::File::options().write(true).open(path);
    let written = file.and_then(|mut file| file.write_all(&marked(bytes)));
    if let Err(error) = written {
        worker.close(descriptor)?;
        return Err(AttachError::NotLoaded(error.to_string()));
    }
    // By the thread's number in its own view nobody else finds it, and it is another one each time.
    let thread = worker.thread();
    let name = format!("/proc/self/task/{thread}/fd/{descriptor}");
    Ok(Left { descriptor, name })
}

/// The library with the word in its table that says that it is loaded by a recorder.
fn marked(library: &[u8]) -> Vec<u8> {
    let mut marked = library.to_vec();
    let word = attach::first_word(Arrival::Attached).to_le_bytes();
    if let Some(place) = place_of_table(library)
        && let Some(bytes) = marked.get_mut(place..place + word.len())
    {
        bytes.copy_from_slice(&word);
    }
    marked
}

/// Where the table is in the file.
fn place_of_table(library: &[u8]) -> Option<usize> {
    let file = object::File::parse(library).ok()?;
    let symbol = file.dynamic_symbols().find(|it| it.name() == Ok(attach::TABLE))?;
    let section = file.section_by_index(symbol.section_index()?).ok()?;
    let (start, _) = section.file_range()?;
    usize::try_from(start + (symbol.address() - section.address())).ok()
}

/// Memory of the process's own for a session, which we open.
pub(super) struct SessionMemory {
    pub(super) descriptor: u64,
    pub(super) file: std::os::fd::OwnedFd,
}

/// Makes it.
///
/// # Errors
/// [`AttachError`].
pub(super) fn session_memory(pid: Pid, worker: &Worker<'_>) -> Result<SessionMemory, AttachError> {
    const CLOSE_ON_EXEC_AND_SEALS: u64 = 3;
    let name = worker.put(b"lifetrace\0")?;
    let arguments = [name, CLOSE_ON_EXEC_AND_SEALS, 0, 0, 0];
    let descriptor = worker.system_call(nix::libc::SYS_memfd_create, arguments)?;
    if descriptor as i32 == -1 {
        return Err(AttachError::NoMemory);
    }
    let path = format!("/proc/{}/fd/{descriptor}", pid.as_raw_nonzero());
    let file = std::fs::File::options().read(true).write(true).open(path);
    Ok(SessionMemory { descriptor, file: file.map_err(AttachError::System)?.into() })
}

impl Worker<'_> {
    /// Closes a descriptor of the process's that we have opened.
    pub(super) fn close(&self, descriptor: u64) -> Result<(), AttachError> {
        self.system_call(nix::libc::SYS_close, [descriptor, 0, 0, 0, 0]).map(drop)
    }

    /// What the dynamic linker says of its last failure.
    fn error(&self, functions: Functions) -> Result<String, AttachError> {
        let text = self.call(functions.dlerror, [0; 6])?;
        Ok(self.text(text).unwrap_or_else(|| "the dynamic linker does not say why".to_owned()))
    }
}
