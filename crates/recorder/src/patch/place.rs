//! Where a process has its program, and how far it has come.

use std::fs;

use rustix::process::Pid;

/// The type of the auxiliary vector's entry that has the address at which the program begins.
const AT_ENTRY: u64 = 9;

/// How much higher addresses are in the process than in its file, which says where the program begins.
pub(super) fn bias(pid: Pid, entry: u64) -> Option<u64> {
    let vector = fs::read(format!("/proc/{}/auxv", pid.as_raw_nonzero())).ok()?;
    let mut words =
        vector.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_le_bytes));
    while let (Some(kind), Some(value)) = (words.next(), words.next()) {
        if kind == AT_ENTRY {
            return Some(value.wrapping_sub(entry)).filter(|bias| bias.is_multiple_of(4096));
        }
    }
    None
}

/// Whether nobody else could run what is changed.
pub(super) fn has_one_thread(pid: Pid) -> bool {
    fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())).is_ok_and(|it| it.count() == 1)
}
