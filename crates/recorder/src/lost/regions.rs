//! Which parts of a process's memory are looked through, and what a pointer that is found there belongs to.
//!
//! - *Read*: what the program can write to, and what it could once: pages of a file that have become its own are
//!   tables that the dynamic linker has filled in. Memory that nobody may read now is read as well.
//! - *Not read*: stacks below their stack pointers, which nobody will use again; pages that are not there; files'
//!   pages as they are in the file; the recorder's own rings.

use std::ops::Range;

use rustix::process::Pid;

use super::pages::Wanted;
use crate::maps::Mapping;

/// What a program may use below the stack pointer.
const RED_ZONE: u64 = 128;

/// Where glibc puts the arenas of its allocator, and nothing else would.
const ARENA: u64 = 64 << 20;

/// Pointers that compilers lay out are at such addresses at least, in packed structures too.
pub(super) const PACKED: usize = 4;

/// Instructions may have pointers in them anywhere.
const ANYWHERE: usize = 1;

/// What a part of memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Variables of a program's or a library's file.
    Globals,
    /// A thread's stack, with what glibc keeps above it.
    Stack(Pid),
    /// Memory that is mapped from a file, or shared with others: that mapping.
    File(usize),
    /// All else: the allocator's memory, for the most part.
    Heap,
}

/// A part of memory that is looked through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) range: Range<u64>,
    pub(super) kind: Kind,
    pub(super) wanted: Wanted,
    /// The program may not read it now.
    pub(super) is_hidden: bool,
    /// How far apart pointers may begin, in bytes.
    pub(super) step: usize,
}

/// A thread that stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) thread: Pid,
    pub(super) stack_pointer: u64,
    pub(super) thread_pointer: Option<u64>,
}

/// The parts of what is mapped. `has_block` says whether a sampled block begins in a range.
pub(super) fn regions(
    maps: &[Mapping],
    threads: &[Standing],
    has_block: impl Fn(&Range<u64>) -> bool,
) -> Vec<Region> {
    let read = maps.iter().enumerate().filter(|(_, mapping)| mapping.may_hold_pointers());
    let region = |(at, mapping): (usize, &Mapping)| {
        let here: Vec<_> =
            threads.iter().filter(|it| mapping.range.contains(&it.stack_pointer)).collect();
        let live_from = match here[..] {
            [thread] => live_from(maps, at, thread, &has_block),
            _ => mapping.range.start,
        };
        let is_jit = mapping.is_executable && !mapping.is_of_file();
        Region {
            range: live_from..mapping.range.end,
            kind: kind(maps, at, &here),
            wanted: wanted(mapping),
            is_hidden: !mapping.is_readable,
            step: if is_jit { ANYWHERE } else { PACKED },
        }
    };
    read.map(region).collect()
}

fn wanted(mapping: &Mapping) -> Wanted {
    match mapping.is_of_file() && !mapping.is_shared {
        true => Wanted::Own,
        false => Wanted::There,
    }
}

fn kind(maps: &[Mapping], at: usize, here: &[&Standing]) -> Kind {
    let mapping = &maps[at];
    match here {
        _ if mapping.is_shared => Kind::File(at),
        _ if mapping.is_of_file() && !is_of_code(maps, mapping) => Kind::File(at),
        _ if mapping.is_of_file() || is_behind_data(maps, at) => Kind::Globals,
        [thread, ..] if mapping.name.is_empty() || is_main_stack(mapping) => {
            Kind::Stack(thread.thread)
        }
        _ => Kind::Heap,
    }
}

/// Whether a file is a program or a library.
fn is_of_code(maps: &[Mapping], mapping: &Mapping) -> bool {
    maps.iter().any(|it| it.is_executable && it.name == mapping.name)
}

/// Variables that begin as zeros have no place in the file, but follow those that have.
fn is_behind_data(maps: &[Mapping], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| &maps[before]);
    maps[at].name.is_empty()
        && before.is_some_and(|before| {
            before.is_of_file() && before.is_writable && before.range.end == maps[at].range.start
        })
}

fn is_main_stack(mapping: &Mapping) -> bool {
    *mapping.name == *"[stack]"
}

/// From where on a stack is in use; the beginning of the mapping if there may be something else in it.
fn live_from(
    maps: &[Mapping],
    at: usize,
    thread: &Standing,
    has_block: impl Fn(&Range<u64>) -> bool,
) -> u64 {
    let range = &maps[at].range;
    let live = thread.stack_pointer.saturating_sub(RED_ZONE).max(range.start);
    let is_stack = is_main_stack(&maps[at]) || is_thread_stack(maps, at, thread);
    if is_stack && !has_block(&(range.start..live)) { live } else { range.start }
}

/// glibc has a thread's record above its stack, and a guard below.
fn is_thread_stack(maps: &[Mapping], at: usize, thread: &Standing) -> bool {
    let mapping = &maps[at];
    let is_guarded = at.checked_sub(1).is_some_and(|before| {
        let guard = &maps[before];
        !guard.is_readable && !guard.is_writable && guard.range.end == mapping.range.start
    });
    let above = thread.stack_pointer..mapping.range.end;
    let has_record = thread.thread_pointer.is_some_and(|record| above.contains(&record));
    let is_arena = mapping.range.start.is_multiple_of(ARENA);
    is_guarded && has_record && mapping.name.is_empty() && !is_arena
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    fn mapping(range: Range<u64>, access: &str, name: &str) -> Mapping {
        Mapping {
            range,
            is_readable: access.contains('r'),
            is_writable: access.contains('w'),
            is_executable: access.contains('x'),
            is_shared: access.contains('s'),
            offset: 0,
            inode: 0,
            name: OsStr::new(name).into(),
        }
    }

    fn standing(stack_pointer: u64, thread_pointer: u64) -> Standing {
        let thread = Pid::from_raw(7).unwrap();
        Standing { thread, stack_pointer, thread_pointer: Some(thread_pointer) }
    }

    fn look(maps: &[Mapping], threads: &[Standing]) -> Vec<(Range<u64>, Kind)> {
        let regions = regions(maps, threads, |_| false);
        regions.into_iter().map(|region| (region.range, region.kind)).collect()
    }

    #[test]
    fn variables_and_heaps() {
        let maps = [
            mapping(0x1000..0x2000, "r-xp", "/bin/a"),
            mapping(0x2000..0x3000, "rw-p", "/bin/a"),
            mapping(0x3000..0x4000, "rw-p", ""),
            mapping(0x5000..0x6000, "rw-p", "[heap]"),
            mapping(0x7000..0x8000, "rw-s", "/dev/zero (deleted)"),
            mapping(0x9000..0xa000, "r--s", "/bin/b"),
            mapping(0xb000..0xc000, "---p", ""),
        ];
        let found: Vec<_> = look(&maps, &[]).into_iter().map(|it| it.1).collect();
        let globals = Kind::Globals;
        assert_eq!(found, [globals, globals, globals, Kind::Heap, Kind::File(4), Kind::Heap]);
        let all = regions(&maps, &[], |_| false);
        assert_eq!((all[0].wanted, all[3].wanted), (Wanted::Own, Wanted::There));
        assert!(all[5].is_hidden && !all[3].is_hidden);
    }

    #[test]
    fn a_stack_counts_from_its_pointer_on() {
        let maps = [
            mapping(0x10_0000..0x10_1000, "---p", ""),
            mapping(0x10_1000..0x20_0000, "rw-p", ""),
            mapping(0x50_0000..0x60_0000, "rw-p", "[stack]"),
        ];
        let thread = Kind::Stack(Pid::from_raw(7).unwrap());
        let live = |stack_pointer, thread_pointer, at: usize| {
            look(&maps, &[standing(stack_pointer, thread_pointer)])[at].clone()
        };
        assert_eq!(live(0x1f_0000, 0x1f_f000, 1), (0x1e_ff80..0x20_0000, thread));
        assert_eq!(live(0x5f_0000, 0, 2), (0x5e_ff80..0x60_0000, thread));
        // A stack that somebody else has made, in memory that has other uses.
        assert_eq!(live(0x1f_0000, 0x60_0000, 1), (0x10_1000..0x20_0000, thread));
        let has_block = regions(&maps, &[standing(0x1f_0000, 0x1f_f000)], |_| true);
        assert_eq!(has_block[1].range.start, 0x10_1000);
        let both = [standing(0x1f_0000, 0x1f_f000), standing(0x18_0000, 0x1f_e000)];
        assert_eq!(look(&maps, &both)[1].0.start, 0x10_1000);
    }
}
