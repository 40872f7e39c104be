//! Where a process has its program and libraries, and how far it has come.

use std::fs;

use rustix::process::Pid;

use super::symbols::Code;
use crate::mapped_files::MappedCode;

/// The type of the auxiliary vector's entry that has the address at which the program begins.
const AT_ENTRY: u64 = 9;

/// How much higher addresses of a library are in the process than in its file, which has these parts.
pub(super) fn library_bias(code: &[Code], mapped: &MappedCode) -> Option<u64> {
    let begins_in = |part: &&Code| mapped.offset <= part.offset + part.length;
    let part = code.iter().find(begins_in)?;
    // The first page may begin before the part.
    let address = part.address.wrapping_sub(part.offset.wrapping_sub(mapped.offset));
    Some(mapped.start.wrapping_sub(address)).filter(|bias| bias.is_multiple_of(4096))
}

/// How much higher addresses are in the process than in its program's file, which says where that begins.
pub(super) fn program_bias(pid: Pid, entry: u64) -> Option<u64> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(mapped: (u64, u64), expected: Option<u64>) {
        let code = [
            Code { address: 0x2340, offset: 0x1340, length: 0x1000 },
            Code { address: 0x6000, offset: 0x4000, length: 0x1000 },
        ];
        let mapped = MappedCode { path: "/lib/a.so".into(), start: mapped.0, offset: mapped.1 };
        assert_eq!(library_bias(&code, &mapped), expected, "{mapped:?}");
    }

    #[test]
    fn libraries_are_where_their_code_is() {
        check((0x7f00_0000_2000, 0x1000), Some(0x7f00_0000_0000));
        check((0x7f00_0000_3000, 0x2000), Some(0x7f00_0000_0000));
        check((0x7f00_0000_6000, 0x4000), Some(0x7f00_0000_0000));
        check((0x7f00_0000_6000, 0x9000), None);
    }
}
