//! The frame tables of OCaml, and stacks of OCaml 4 as they explain them. \[UNSAFE\]
//!
//! The compiler leaves a descriptor for each address of code to which a call returns: how large the frame
//! is, and what is known of the place. The runtime finds them by a hash table. A descriptor of a special
//! size marks where C code has called OCaml code back: what the code before had come to is written there.
//! OCaml 5 has the same descriptors, and other stacks.
//! (`runtime/caml/stack.h`, `runtime/backtrace_nat.c` of OCaml 4.11 to 4.14, for amd64 and arm64; `frame_descriptors.h` of
//! 5.3.)

use core::sync::atomic::{AtomicU64, Ordering};

use lifetrace_agent::chain::State;

use crate::walk::OCamlFrame;

/// A frame of this size is none.
const CALLED_BACK: u16 = 0xffff;

/// Bits of a frame's size that are not its size.
const HAS_DEBUG_INFO: u16 = 1;
const HAS_ALLOCATIONS: u16 = 2;

/// From the stack pointer at a callback to where the state before it is.
const CONTEXT: u64 = 16;

/// Addresses have no more bits; above them is in a state which of the blocks it is that are allocated together, from
/// 1 on.
const ADDRESS_BITS: u32 = 48;

/// The code to which callbacks return, of which a runtime has one; 0 until it was met.
static AFTER_CALLBACK: AtomicU64 = AtomicU64::new(0);

/// The runtime's table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Descriptors {
    /// The variable with the table's address.
    pub(crate) table: *const *const *const Descriptor,
    /// The variable with the greatest index, a power of two less one.
    pub(crate) mask: *const u64,
}

/// The beginning of one; offsets of live values follow, and what the size's bits say.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Descriptor {
    return_address: u64,
    size: u16,
    live_count: u16,
}

/// What C code leaves on the stack when it calls back.
#[repr(C)]
struct Context {
    stack: u64,
    code: u64,
    /// Where registers are saved.
    registers: u64,
}

/// What lives in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Living {
    /// By the frame's name; the offsets from its stack pointer, or twice a saved register's number and one.
    In { slot: u64, offsets: &'static [u16] },
    /// It is no frame: C code has called OCaml code back.
    CalledBack,
}

impl Descriptors {
    fn find(&self, code: u64) -> Option<*const Descriptor> {
        // SAFETY: the runtime's variables. The table has an empty place; descriptors stay while their code
        // does.
        unsafe {
            let (table, mask) = (self.table.read_volatile(), self.mask.read_volatile());
            let mut at = code >> 3 & mask;
            loop {
                let descriptor = table.add(at as usize).read();
                if descriptor.is_null() {
                    return None;
                }
                if (*descriptor).return_address == code {
                    return Some(descriptor);
                }
                at = (at + 1) & mask;
            }
        }
    }
}

impl Descriptors {
    /// What the compiler has left of the blocks that the code allocates together which returns there: the number
    /// of fields of each, less one, lowest address first. None, if it only asks what there is to do.
    pub(crate) fn allocations(&self, code: u64) -> &'static [u8] {
        let Some(descriptor) = self.find(code) else { return &[] };
        // SAFETY: code that asks for memory has a descriptor which says so; it stays as long as the code.
        unsafe {
            let lengths = after_live(descriptor).cast::<u8>();
            core::slice::from_raw_parts(lengths.add(1), (*lengths).into())
        }
    }
}

impl Descriptors {
    /// What lives in the frame of code that a call returns to; `None` if the runtime does not know it.
    pub(crate) fn living(&self, code: u64) -> Option<Living> {
        // SAFETY: it is one, and stays as long as its code.
        self.find(code).map(|descriptor| unsafe { living(descriptor) })
    }

    /// The state to which the frame of a state returns.
    ///
    /// # Safety
    /// The stack has it, and stands still.
    pub(crate) unsafe fn caller(&self, state: State) -> State {
        // SAFETY: descriptors stay.
        let size = self.find(state.code).map_or(0, |it| unsafe { frame_bytes(it) });
        let stack = state.stack + size;
        State { stack, code: Self::return_address(stack) }
    }

    /// What OCaml code had come to when it called the C code that has called back at that place of the stack, and where
    /// its registers are saved. A stack pointer of 0 is none.
    ///
    /// # Safety
    /// It has, and the stack stands still.
    pub(crate) unsafe fn context(stack: u64) -> (State, u64) {
        // SAFETY: by contract.
        let context = unsafe { &*((stack + CONTEXT) as *const Context) };
        (State { stack: context.stack, code: context.code }, context.registers)
    }
}

/// Frames are named as the runtime does in callstacks: a descriptor's address as an immediate.
impl Descriptors {
    /// As [`Frames::frame`](crate::walk::Frames::frame).
    pub(crate) fn frame(&self, state: &mut State) -> Option<OCamlFrame> {
        loop {
            if state.code != AFTER_CALLBACK.load(Ordering::Relaxed) {
                let descriptor = self.find(state.code)?;
                // SAFETY: it is one.
                let size = unsafe { (*descriptor).size };
                if size != CALLED_BACK {
                    let size = size & !(HAS_DEBUG_INFO | HAS_ALLOCATIONS);
                    return Some(OCamlFrame { slot: descriptor as u64 | 1, size: size.into() });
                }
                AFTER_CALLBACK.store(state.code, Ordering::Relaxed);
            }
            // SAFETY: a descriptor of that size says that there is a context.
            let context = unsafe { &*((state.stack + CONTEXT) as *const Context) };
            *state = State { stack: context.stack, code: context.code };
            if state.stack == 0 {
                return None;
            }
        }
    }

    /// The frame of a state, as [`frame`](Self::frame) gives it; of one that is [`allocating`] it is named for that
    /// block.
    #[inline]
    pub(crate) fn frame_of_block(&self, state: &mut State) -> Option<OCamlFrame> {
        match (state.code >> ADDRESS_BITS).checked_sub(1) {
            None => self.frame(state),
            Some(block) => self.allocating_frame(state, block as usize),
        }
    }

    #[inline(never)]
    fn allocating_frame(&self, state: &mut State, block: usize) -> Option<OCamlFrame> {
        let place = State { code: state.code & ((1 << ADDRESS_BITS) - 1), ..*state };
        let mut found = place;
        let frame = self.frame(&mut found)?;
        if found != place {
            *state = found;
            return Some(frame);
        }
        // SAFETY: the frame has come to allocate it.
        Some(OCamlFrame { slot: unsafe { of_allocation(frame.slot, block) }, ..frame })
    }

    /// The address to which a frame returns whose caller's stack pointer is `stack`.
    #[inline]
    pub(crate) fn return_address(stack: u64) -> u64 {
        // SAFETY: a frame ends there, whose return address is its last word.
        unsafe { ((stack - 8) as *const u64).read() }
    }
}

/// The state in which code has come to allocate several blocks together, of which `block` is meant.
pub(crate) fn allocating(state: State, block: u32) -> State {
    State { code: state.code | (u64::from(block) + 1) << ADDRESS_BITS, ..state }
}

/// How the runtime names the frame in which blocks were allocated together, of which this is the block of
/// `index`: by the debug information of that alone, if there is any.
///
/// # Safety
/// `frame` is a frame's name, whose code has come to allocate that many blocks at least.
pub(crate) unsafe fn of_allocation(frame: u64, index: usize) -> u64 {
    const ALIGNMENT: u64 = size_of::<u32>() as u64;
    /// Bit of a name that is an address of debug information.
    const IS_DEBUG_INFO: u64 = 2;
    let descriptor = (frame & !1) as *const Descriptor;
    // SAFETY: by contract, and as descriptors are laid out.
    unsafe {
        let size = (*descriptor).size;
        if size & HAS_DEBUG_INFO == 0 {
            return frame;
        }
        let mut info = after_live(descriptor) as u64;
        let mut index = index as u64;
        if size & HAS_ALLOCATIONS != 0 {
            info += 1 + u64::from((info as *const u8).read());
        } else {
            index = 0;
        }
        let place = info.next_multiple_of(ALIGNMENT) + index * ALIGNMENT;
        match (place as *const u32).read() {
            0 => frame,
            offset => (place + u64::from(offset) + IS_DEBUG_INFO) | 1,
        }
    }
}

/// What lives in the frame of code that has this descriptor.
///
/// # Safety
/// It is a descriptor of the runtime's, of OCaml 4 or 5, which stays.
pub(crate) unsafe fn living(descriptor: *const Descriptor) -> Living {
    // SAFETY: by contract.
    unsafe {
        if (*descriptor).size == CALLED_BACK {
            return Living::CalledBack;
        }
        let count = usize::from((*descriptor).live_count);
        let offsets = core::slice::from_raw_parts(after_live(descriptor).sub(count), count);
        Living::In { slot: descriptor as u64, offsets }
    }
}

/// How large a frame is of code that has this descriptor.
///
/// # Safety
/// As [`living`].
pub(crate) unsafe fn frame_bytes(descriptor: *const Descriptor) -> u64 {
    // SAFETY: by contract.
    u64::from(unsafe { (*descriptor).size } & !(HAS_DEBUG_INFO | HAS_ALLOCATIONS))
}

/// Where the offsets of live values end.
///
/// # Safety
/// It is a descriptor of the runtime's.
unsafe fn after_live(descriptor: *const Descriptor) -> *const u16 {
    // SAFETY: as descriptors are laid out.
    unsafe {
        let live = descriptor.add(1).cast::<u16>().byte_sub(PADDING);
        live.add((*descriptor).live_count.into())
    }
}

/// Rust's descriptor is as long as its alignment wants; the runtime's offsets begin before that.
const PADDING: usize = size_of::<Descriptor>() - 12;

#[cfg(test)]
mod tests {
    use core::mem::offset_of;

    use super::*;

    /// The state to which a frame returns.
    fn caller(state: State, frame: OCamlFrame) -> State {
        let stack = state.stack + u64::from(frame.size);
        State { stack, code: Descriptors::return_address(stack) }
    }

    #[test]
    fn a_descriptor_is_laid_out_as_the_runtimes() {
        assert_eq!(offset_of!(Descriptor, size), 8);
        assert_eq!(offset_of!(Descriptor, live_count), 10);
        assert_eq!(size_of::<Descriptor>() - PADDING, 12);
    }

    /// return address, size, live count, 3 live offsets, 2 allocations, padding, their offsets.
    #[repr(C, align(8))]
    struct Bytes([u8; 40]);

    fn descriptor(flags: u16) -> Bytes {
        let mut bytes = [0u8; 40];
        bytes[8..10].copy_from_slice(&(32 | flags).to_le_bytes());
        bytes[10] = 3;
        // Lengths of two allocations, after the live offsets.
        (bytes[18], bytes[19], bytes[20]) = (2, 1, 3);
        bytes[24] = 100;
        bytes[28] = 0;
        Bytes(bytes)
    }

    #[test]
    fn blocks_that_were_allocated_together_have_names_of_their_own() {
        let bytes = descriptor(HAS_DEBUG_INFO | HAS_ALLOCATIONS);
        let at = &raw const bytes as u64;
        // SAFETY: a descriptor.
        unsafe {
            assert_eq!(of_allocation(at | 1, 0), (at + 24 + 100 + 2) | 1);
            assert_eq!(of_allocation(at | 1, 1), at | 1);
        }
        let bytes = descriptor(0);
        let at = &raw const bytes as u64;
        // SAFETY: as above.
        assert_eq!(unsafe { of_allocation(at | 1, 0) }, at | 1);
    }

    #[test]
    fn lengths_are_those_of_the_code_that_asks() {
        let mut bytes = descriptor(HAS_ALLOCATIONS);
        bytes.0[..8].copy_from_slice(&0x1008u64.to_le_bytes());
        let mut table = [core::ptr::null::<Descriptor>(); 8];
        table[1] = (&raw const bytes).cast();
        let (table, mask) = (table.as_ptr(), 7u64);
        let descriptors = Descriptors { table: &raw const table, mask: &raw const mask };
        assert_eq!(descriptors.allocations(0x1008), [1, 3]);
        assert_eq!(descriptors.allocations(0x1010), []);
    }

    #[test]
    fn the_frame_that_allocates_is_named_for_the_block() {
        let mut bytes = descriptor(HAS_DEBUG_INFO | HAS_ALLOCATIONS);
        bytes.0[..8].copy_from_slice(&0x1008u64.to_le_bytes());
        let at = &raw const bytes as u64;
        let special = Descriptor { return_address: 0x2000, size: CALLED_BACK, live_count: 0 };
        let mut table = [core::ptr::null::<Descriptor>(); 8];
        (table[1], table[0]) = (at as *const Descriptor, &special);
        let (table, mask) = (table.as_ptr(), 7u64);
        let descriptors = Descriptors { table: &raw const table, mask: &raw const mask };
        let words = [0, 0, 0x7000u64, 0x1008];
        let first = State { stack: words.as_ptr() as u64, code: 0x1008 };
        let frame = |mut state: State| (descriptors.frame_of_block(&mut state).unwrap(), state);
        let named = |slot, state| (OCamlFrame { slot, size: 32 }, state);
        assert_eq!(frame(first), named(at | 1, first));
        // The first block has debug information of its own, the second one has not.
        let block = allocating(first, 0);
        assert_eq!(frame(block), named((at + 24 + 100 + 2) | 1, block));
        assert_ne!(block, allocating(first, 1));
        assert_eq!(frame(allocating(first, 1)), named(at | 1, allocating(first, 1)));
        // Where something is passed over, the frame is another one.
        let called_back = allocating(State { code: 0x2000, ..first }, 0);
        assert_eq!(frame(called_back), named(at | 1, State { stack: 0x7000, code: 0x1008 }));
    }

    #[test]
    fn a_stack_is_explained_by_its_table() {
        let plain = Descriptor { return_address: 0x1008, size: 16, live_count: 0 };
        let special = Descriptor { return_address: 0x2000, size: CALLED_BACK, live_count: 0 };
        let outer = Descriptor { return_address: 0x3010, size: 32 | 3, live_count: 0 };
        let mut table = [core::ptr::null::<Descriptor>(); 8];
        for one in [&plain, &special, &outer] {
            let mut at = (one.return_address >> 3 & 7) as usize;
            while !table[at].is_null() {
                at = (at + 1) & 7;
            }
            table[at] = one;
        }
        let (table, mask) = (table.as_ptr(), 7u64);
        let descriptors = Descriptors { table: &raw const table, mask: &raw const mask };
        let mut words = std::vec![0u64; 16];
        let base = words.as_ptr() as u64;
        // The callback's context, two words above the stack pointer there; then a frame of four words.
        words[1] = 0x2000;
        (words[4], words[5], words[11]) = (base + 64, 0x3010, 0x9999);
        // The second time the code to which callbacks return is known.
        for _ in 0..2 {
            let mut state = State { stack: base, code: 0x1008 };
            let frame = descriptors.frame(&mut state).unwrap();
            assert_eq!(frame, OCamlFrame { slot: &raw const plain as u64 | 1, size: 16 });
            let mut state = caller(state, frame);
            assert_eq!(state, State { stack: base + 16, code: 0x2000 });
            let frame = descriptors.frame(&mut state).unwrap();
            assert_eq!(frame, OCamlFrame { slot: &raw const outer as u64 | 1, size: 32 });
            assert_eq!(state, State { stack: base + 64, code: 0x3010 });
            let mut state = caller(state, frame);
            assert_eq!(state, State { stack: base + 96, code: 0x9999 });
            assert_eq!(descriptors.frame(&mut state), None);
        }
    }
}
