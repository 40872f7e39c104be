//! Functions of an allocator that the program has in itself, and how each becomes a jump to the agent.
//!
//! Calls between functions of one object file are bound when it is linked, so they cannot be hooked by
//! name. The recorder, which can read symbols and instructions, makes a *patch* of each such function
//! while the process's agent waits: the bytes that are to be there, and the instructions among them in
//! a form that can be put anywhere within reach. The list lies in the segment, behind the rings. The
//! agent applies it while the process has a single thread.

/// Length of a patch, in bytes.
pub const LEN: usize = 172;

/// More patches than this are not applied.
pub const MOST_PATCHES: usize = 96;

/// Most bytes of a function that are moved.
pub const MOST_ORIGINAL: usize = 24;

/// Most bytes of the moved instructions, with the jump back behind them.
pub const MOST_MOVED: usize = 64;

/// Most places of a patch that depend on where it is put.
pub const MOST_FIXUPS: usize = 6;

/// Length of the jump that a function begins with when it is patched.
pub const JUMP: usize = 5;

/// What a function does for its callers, by its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Shape {
    /// `(size, ...) -> block`: malloc, `mallocx`.
    Allocate = 0,
    /// `(count, size, ...) -> block`: calloc.
    AllocateArray = 1,
    /// `(alignment, size, ...) -> block`: `aligned_alloc`, memalign.
    AllocateAligned = 2,
    /// `(place, alignment, size) -> error`: `posix_memalign`.
    PosixMemalign = 3,
    /// `(block, size, ...) -> block`: realloc, `rallocx`.
    Reallocate = 4,
    /// `(block, count, size, ...) -> block`: reallocarray.
    ReallocateArray = 5,
    /// `(block, ...)`: free, operator delete, `sdallocx`.
    Free = 6,
    /// `(size, ...) -> block`, or an exception: operator new.
    New = 7,
    /// prctl itself, by which a process enters a sandbox.
    Prctl = 8,
    /// mmap itself; the functions that follow are themselves as well.
    Mmap = 9,
    /// munmap.
    Munmap = 10,
    /// mremap.
    Mremap = 11,
    /// mprotect.
    Mprotect = 12,
    /// `pkey_mprotect`.
    PkeyMprotect = 13,
    /// brk.
    Brk = 14,
    /// sbrk.
    Sbrk = 15,
}

impl Shape {
    /// All of them, in the order of their numbers.
    pub const ALL: [Shape; 16] = [
        Shape::Allocate,
        Shape::AllocateArray,
        Shape::AllocateAligned,
        Shape::PosixMemalign,
        Shape::Reallocate,
        Shape::ReallocateArray,
        Shape::Free,
        Shape::New,
        Shape::Prctl,
        Shape::Mmap,
        Shape::Munmap,
        Shape::Mremap,
        Shape::Mprotect,
        Shape::PkeyMprotect,
        Shape::Brk,
        Shape::Sbrk,
    ];

    /// Whether it is one of the C library's functions by which a program maps memory itself.
    pub const fn is_of_mappings(self) -> bool {
        self as u8 >= Shape::Mmap as u8
    }

    /// How many functions of this shape can be patched.
    pub const fn slots(self) -> usize {
        match self {
            Shape::Allocate | Shape::Free => 32,
            Shape::New => 16,
            Shape::Prctl => 1,
            it if it.is_of_mappings() => 1,
            _ => 8,
        }
    }
}

/// A distance in the moved code that has to be worked out when its place is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fixup {
    /// Where its four bytes are, in the moved code.
    pub at: u8,
    /// Where the instruction ends from whose end the distance counts.
    pub end: u8,
    /// The address that is meant.
    pub target: u64,
}

/// One function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The address of the first byte that is overwritten.
    pub address: u64,
    /// Tells how large a block of this allocator is: `malloc_usable_size`'s address, or 0.
    pub usable_size: u64,
    /// What the function does.
    pub shape: Shape,
    /// The function may allocate by way of another one that is patched.
    pub nests: bool,
    /// Bytes that are moved, [`JUMP`] at least.
    pub length: u8,
    /// What is there; the first `length` of them count.
    pub original: [u8; MOST_ORIGINAL],
    /// Length of `moved` in use.
    pub moved_length: u8,
    /// The instructions and a jump to what follows them, but for what `fixups` say.
    pub moved: [u8; MOST_MOVED],
    /// How many `fixups` there are.
    pub fixup_count: u8,
    /// In no order.
    pub fixups: [Fixup; MOST_FIXUPS],
}

impl Patch {
    /// To bytes.
    pub fn to_bytes(&self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        let mut rest = &mut bytes[..];
        let mut put = |field: &[u8]| {
            let (place, others) = core::mem::take(&mut rest).split_at_mut(field.len());
            place.copy_from_slice(field);
            rest = others;
        };
        put(&self.address.to_le_bytes());
        put(&self.usable_size.to_le_bytes());
        put(&[self.shape as u8, self.nests.into(), self.length, self.moved_length]);
        put(&[self.fixup_count, 0, 0, 0]);
        put(&self.original);
        put(&self.moved);
        self.fixups.iter().for_each(|fixup| put(&[fixup.at, fixup.end]));
        self.fixups.iter().for_each(|fixup| put(&fixup.target.to_le_bytes()));
        bytes
    }

    /// From bytes; `None` when they are no patch that could be applied.
    pub fn from_bytes(bytes: &[u8; LEN]) -> Option<Patch> {
        let mut rest = &bytes[..];
        let address = u64::from_le_bytes(take(&mut rest)?);
        let usable_size = u64::from_le_bytes(take(&mut rest)?);
        let [shape, nests, length, moved_length, fixup_count, ..] = take::<8>(&mut rest)?;
        let original = take(&mut rest)?;
        let moved = take(&mut rest)?;
        let places: [u8; 2 * MOST_FIXUPS] = take(&mut rest)?;
        let mut fixups = [Fixup::default(); MOST_FIXUPS];
        for (fixup, place) in fixups.iter_mut().zip(places.chunks_exact(2)) {
            let target = u64::from_le_bytes(take(&mut rest)?);
            *fixup = Fixup { at: place[0], end: place[1], target };
        }
        let patch = Patch {
            address,
            usable_size,
            shape: Shape::ALL.get(usize::from(shape)).copied()?,
            nests: nests != 0,
            length,
            original,
            moved_length,
            moved,
            fixup_count,
            fixups,
        };
        patch.is_possible().then_some(patch)
    }

    /// Whether it is of the function that begins at `address`: what marks where indirect branches may lead to stays in
    /// front of it.
    pub fn is_at(&self, address: u64) -> bool {
        const MARK: u64 = 4;
        matches!(self.address.wrapping_sub(address), 0 | MARK)
    }

    /// The bytes that are expected at [`address`](Self::address).
    pub fn original(&self) -> &[u8] {
        self.original.get(..self.length.into()).unwrap_or_default()
    }

    /// The moved code as it is to be at `place`, with its length; `None` if something is out of its reach.
    pub fn code_at(&self, place: u64) -> Option<([u8; MOST_MOVED], usize)> {
        let mut code = self.moved;
        for fixup in self.fixups.get(..self.fixup_count.into())? {
            let end = place.checked_add(fixup.end.into())?;
            let bytes = distance(end, fixup.target)?.to_le_bytes();
            code.get_mut(fixup.at.into()..)?.get_mut(..4)?.copy_from_slice(&bytes);
        }
        Some((code, self.moved_length.into()))
    }

    /// The jump that takes the place of the first bytes; `None` if `to` is out of its reach.
    pub fn jump_to(&self, to: u64) -> Option<[u8; JUMP]> {
        let [a, b, c, d] = distance(self.address.checked_add(JUMP as u64)?, to)?.to_le_bytes();
        Some([0xe9, a, b, c, d])
    }

    fn is_possible(&self) -> bool {
        let (length, moved) = (usize::from(self.length), usize::from(self.moved_length));
        let fixups = self.fixups.get(..self.fixup_count.into());
        let fits = |fixup: &Fixup| {
            fixup.at.checked_add(4).is_some_and(|after| after <= fixup.end)
                && fixup.end <= self.moved_length
        };
        (JUMP..=MOST_ORIGINAL).contains(&length)
            && (1..=MOST_MOVED).contains(&moved)
            && self.address.checked_add(MOST_ORIGINAL as u64).is_some()
            && fixups.is_some_and(|fixups| fixups.iter().all(fits))
    }
}

/// From the end of an instruction to what it means, if four bytes can say it.
fn distance(end: u64, target: u64) -> Option<i32> {
    i32::try_from(target.wrapping_sub(end) as i64).ok()
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch() -> Patch {
        let mut fixups = [Fixup::default(); MOST_FIXUPS];
        fixups[0] = Fixup { at: 4, end: 8, target: 0x7000_0000 };
        Patch {
            address: 0x5555_0000,
            usable_size: 77,
            shape: Shape::Free,
            nests: true,
            length: 7,
            original: [9; MOST_ORIGINAL],
            moved_length: 12,
            moved: [0x90; MOST_MOVED],
            fixup_count: 1,
            fixups,
        }
    }

    #[test]
    fn there_and_back() {
        let patch = patch();
        assert_eq!(Patch::from_bytes(&patch.to_bytes()), Some(patch));
        assert_eq!(patch.original().len(), 7);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let spoil: [fn(&mut Patch); 7] = [
            |it| it.length = 4,
            |it| it.length = 25,
            |it| it.moved_length = 65,
            |it| it.fixup_count = 7,
            |it| it.fixups[0].end = 7,
            |it| it.fixups[0].end = 13,
            |it| it.address = u64::MAX - 3,
        ];
        for spoil in spoil {
            let mut patch = patch();
            spoil(&mut patch);
            assert_eq!(Patch::from_bytes(&patch.to_bytes()), None, "{patch:?}");
        }
        let mut bytes = patch().to_bytes();
        bytes[16] = Shape::ALL.len() as u8;
        assert_eq!(Patch::from_bytes(&bytes), None);
    }

    #[test]
    fn distances_count_from_the_end() {
        let patch = patch();
        let (code, length) = patch.code_at(0x6fff_fff8).unwrap();
        assert_eq!((length, &code[4..8]), (12, &[0; 4][..]));
        assert_eq!(patch.code_at(0), Some(patch.code_at(0).unwrap()));
        assert!(patch.code_at(u64::MAX / 2).is_none() && patch.code_at(u64::MAX).is_none());
        assert_eq!(patch.jump_to(patch.address + 5), Some([0xe9, 0, 0, 0, 0]));
        assert!(patch.jump_to(patch.address + (1 << 32)).is_none());
    }
}
