//! What a trace tells beside the lives of sampled blocks. These are exact, not estimated.

use std::sync::Arc;

use crate::ids::{Bytes, ThreadId};

/// Something that is so, or was at one moment. The moment is told with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// Figures of the whole process.
    Counters(Counters),
    /// What a thread is called, from now on.
    ThreadName(ThreadName),
    /// An object file that backtraces run through.
    Module(Module),
}

/// Figures of the whole process at one moment, as the system and the allocator give them; `None`
/// where nobody says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Resident memory.
    pub resident: Option<Bytes>,
    /// Resident memory, what is shared divided by the number of those who share it.
    pub proportional: Option<Bytes>,
    /// Page faults since the start that needed no I/O.
    pub minor_faults: Option<u64>,
    /// Page faults since the start that needed I/O.
    pub major_faults: Option<u64>,
    /// What the program has asked its allocator for and not given back.
    pub allocator_in_use: Option<Bytes>,
    /// What the allocator has asked the system for and not given back.
    pub allocator_held: Option<Bytes>,
}

/// What a thread is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadName {
    /// The thread.
    pub thread: ThreadId,
    /// The kernel's number for it; used again after its end.
    pub os_id: u32,
    /// At most 15 bytes on Linux.
    pub name: Arc<str>,
}

/// An object file, as it was mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// First address of its text.
    pub start: u64,
    /// One past the last address of its text.
    pub end: u64,
    /// Run-time address minus the address stated in the file.
    pub bias: u64,
    /// The linker's fingerprint of its contents; empty if it has none.
    pub build_id: Vec<u8>,
    /// As the loader knew it.
    pub path: Arc<str>,
}
