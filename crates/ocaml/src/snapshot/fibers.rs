//! Which frame a root on a stack of OCaml 5's is of. \[UNSAFE\]
//!
//! A stack is that of a fiber, and those of the fibers that wait for it, each its parent. At the end of each one's frames
//! stand the handlers of its effects. As with OCaml 4 ([`stacks`](super::stacks)) the runtime itself tells of the roots,
//! and its way is gone along with.
//! (`runtime/fiber.c`, `caml/fiber.h`, `caml/stack.h`, 5.3, for amd64 and arm64)

use core::ffi::c_void;

use lifetrace_agent::chain::State;

use super::holder::{Frame, Holder, Sort};
use crate::descriptors::{Descriptor, Descriptors, Living, frame_bytes, living};
use crate::symbols::{Absent, Symbols, typed};

/// The runtime's functions that explain stacks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables {
    all: unsafe extern "C" fn() -> *const c_void,
    find: unsafe extern "C" fn(*const c_void, u64) -> *const Descriptor,
    /// Where the first frame of a fiber that waits is, and its code.
    begin: unsafe extern "C" fn(u64, *mut u64, *mut u64),
}

impl Tables {
    /// # Errors
    /// If the runtime does not export them.
    pub(super) fn of(symbol: &Symbols<'_>) -> Result<Tables, Absent> {
        // SAFETY: of these types in 5.3.
        unsafe {
            Ok(Tables {
                all: typed(symbol, c"caml_get_frame_descrs")?,
                find: typed(symbol, c"caml_find_frame_descr")?,
                begin: typed(symbol, c"caml_get_stack_sp_pc")?,
            })
        }
    }

    fn descriptor(&self, code: u64) -> Option<*const Descriptor> {
        // SAFETY: looks the code up in the runtime's table, which stands still.
        let found = unsafe { (self.find)((self.all)(), code) };
        (!found.is_null()).then_some(found)
    }
}

/// A stack, as far as it has been told of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fibers {
    tables: Tables,
    at: State,
    /// Where the registers are that the code has saved which was left last.
    saved: u64,
    registers: u64,
    /// Where the handlers of the fiber are.
    handlers: u64,
    /// From a stack pointer on that was kept to the first frame.
    before_first: u64,
    part: Part,
    /// Where else what lives is in that part.
    left: &'static [u16],
}

/// What is being told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Frame(Frame),
    Handlers,
    /// There is nothing more, or it is not known.
    Over,
}

/// Words of what is known of a fiber, and of its handlers.
const STACK: u64 = 0;
const HANDLERS: u64 = 2;
const PARENT: u64 = 3;

impl Fibers {
    /// The stack of that fiber, outwards; `saved` is where registers have been saved that may hold something.
    ///
    /// # Safety
    /// It is one, or null, and stands still.
    pub(super) unsafe fn of(tables: Tables, fiber: u64, saved: u64) -> Fibers {
        let (at, part) = (State::default(), Part::Over);
        let mut fibers = Fibers {
            tables,
            at,
            saved,
            registers: saved,
            handlers: 0,
            before_first: 0,
            part,
            left: &[],
        };
        // SAFETY: by contract.
        unsafe { fibers.enter(fiber) };
        fibers
    }

    /// The frame that is being told of.
    pub(super) fn frame(&self) -> Option<Frame> {
        match self.part {
            Part::Frame(frame) => Some(frame),
            Part::Handlers | Part::Over => None,
        }
    }

    /// Who holds what the runtime tells of next.
    ///
    /// # Safety
    /// The runtime tells of it, and this was asked of all that it has told of before of that stack.
    pub(super) unsafe fn holder(&mut self, of_stack: Holder, slot: u64) -> Holder {
        // SAFETY: by contract.
        if unsafe { self.next_slot() } != Some(slot) {
            (self.part, self.left) = (Part::Over, &[]);
        }
        match self.part {
            Part::Frame(frame) => Holder { frame: Some(frame), ..of_stack },
            Part::Handlers => Holder::of(Sort::Handlers),
            Part::Over => of_stack,
        }
    }

    /// The next place in which something lives.
    ///
    /// # Safety
    /// The stack stands still, here and below.
    unsafe fn next_slot(&mut self) -> Option<u64> {
        const WORD: u64 = 8;
        loop {
            if let Some((&offset, left)) = self.left.split_first() {
                self.left = left;
                let offset = u64::from(offset);
                return Some(match offset & 1 {
                    1 => self.registers + (offset >> 1) * WORD,
                    _ => self.at.stack + offset,
                });
            }
            // SAFETY: by contract.
            unsafe {
                match self.part {
                    Part::Frame(frame) => self.leave(frame),
                    Part::Handlers => self.enter(word(self.handlers, PARENT)),
                    Part::Over => return None,
                }
            }
        }
    }

    /// # Safety
    /// It is a fiber, or null.
    unsafe fn enter(&mut self, fiber: u64) {
        if fiber == 0 {
            self.part = Part::Over;
            return;
        }
        let (mut first, mut code) = (0, 0);
        // SAFETY: by contract.
        unsafe {
            (self.tables.begin)(fiber, &raw mut first, &raw mut code);
            let stack = word(fiber, STACK);
            (self.handlers, self.registers) = (word(fiber, HANDLERS), self.saved);
            self.before_first = first - stack;
            self.begin(stack);
        }
    }

    /// # Safety
    /// A stack pointer that was kept where OCaml code was left, or where a fiber's frames end.
    unsafe fn begin(&mut self, stack: u64) {
        const OFFSETS: [u16; 3] = [0, 8, 16];
        if stack == self.handlers {
            (self.part, self.left) = (Part::Handlers, &OFFSETS);
            self.at.stack = stack;
        } else {
            // SAFETY: by contract.
            unsafe { self.arrive(stack + self.before_first) };
        }
    }

    /// # Safety
    /// The stack has a frame of that code.
    unsafe fn leave(&mut self, frame: Frame) {
        // SAFETY: by contract.
        unsafe { self.arrive(self.at.stack + frame_bytes(frame.slot as *const Descriptor)) };
    }

    /// # Safety
    /// A frame begins there, and before it is where its code goes on; or C code has called back there.
    unsafe fn arrive(&mut self, stack: u64) {
        const REGISTERS: u64 = 3;
        const CALLED_BACK_BYTES: u64 = 32;
        let code = Descriptors::return_address(stack);
        self.at = State { stack, code };
        // SAFETY: a descriptor of the runtime's; the stack is as it says.
        match self.tables.descriptor(code).map(|it| unsafe { living(it) }) {
            Some(Living::In { slot, offsets }) => {
                (self.part, self.left) = (Part::Frame(Frame { code, slot }), offsets);
            }
            // SAFETY: as above: C code has left there what comes after.
            Some(Living::CalledBack) => unsafe {
                self.registers = word(stack, REGISTERS);
                self.begin(stack + CALLED_BACK_BYTES);
            },
            None => self.part = Part::Over,
        }
    }
}

/// # Safety
/// So many words from there on is one.
unsafe fn word(from: u64, index: u64) -> u64 {
    // SAFETY: by contract.
    unsafe { (from as *const u64).add(index as usize).read() }
}

#[cfg(test)]
mod tests {
    use core::ptr::null;

    use super::*;

    /// Return address, size, live count, two live offsets.
    #[repr(C, align(8))]
    struct Described(u64, u16, u16, [u16; 2]);

    /// Of a frame of four words, in which the second one lives, and the register of number 3; of code that was called back.
    static FRAME: Described = Described(0x1008, 32, 2, [8, 7]);
    static CALLED_BACK: Described = Described(0x2010, 0xffff, 0, [0; 2]);

    unsafe extern "C" fn all() -> *const c_void {
        null()
    }

    unsafe extern "C" fn find(_: *const c_void, code: u64) -> *const Descriptor {
        match code {
            0x1008 => (&raw const FRAME).cast(),
            0x2010 => (&raw const CALLED_BACK).cast(),
            _ => null(),
        }
    }

    unsafe extern "C" fn begin(fiber: u64, first: *mut u64, _: *mut u64) {
        // SAFETY: the test's words.
        unsafe { first.write(word(fiber, STACK) + 8) };
    }

    const TABLES: Tables = Tables { all, find, begin };

    /// Who holds these slots, of a fiber's stack; the fiber is the first of these words.
    fn holders(words: &[u64], slots: &[u64]) -> std::vec::Vec<Holder> {
        // SAFETY: these words are a fiber.
        let mut fibers = unsafe { Fibers::of(TABLES, words.as_ptr() as u64, 0x8000) };
        // SAFETY: as above.
        slots.iter().map(|&slot| unsafe { fibers.holder(Holder::of(Sort::Stack), slot) }).collect()
    }

    #[test]
    fn what_is_on_a_stack_belongs_to_its_frames() {
        let mut words = [0u64; 44];
        let base = words.as_ptr() as u64;
        let at = |index: u64| base + index * 8;
        // A fiber, and its frames: between the two, C code has called back. Then its handlers.
        (words[0], words[2]) = (at(3), at(21));
        (words[3], words[7], words[11]) = (0x1008, 0x2010, 0x9000);
        (words[12], words[16], words[24]) = (0x1008, 0x2010, at(26));
        // Its parent, with the registers of the beginning.
        (words[26], words[28]) = (at(30), at(39));
        (words[30], words[34]) = (0x1008, 0x2010);
        let in_frame = {
            let frame = Frame { code: 0x1008, slot: &raw const FRAME as u64 };
            Holder { frame: Some(frame), ..Holder::of(Sort::Stack) }
        };
        let handlers = Holder::of(Sort::Handlers);
        let slots = [at(5), 0x8018, at(14), 0x9018, at(21), at(22), at(23), at(32), 0x8018, at(39)];
        let told = holders(&words, &slots);
        assert_eq!(told[..4], [in_frame; 4]);
        assert_eq!(told[4..7], [handlers; 3]);
        assert_eq!(told[7..], [in_frame, in_frame, handlers]);
        // What is not where it is to be is told without a frame, and so is all that comes then.
        let told = holders(&words, &[at(5), at(6), at(14)]);
        assert_eq!(told, [in_frame, Holder::of(Sort::Stack), Holder::of(Sort::Stack)]);
    }
}
