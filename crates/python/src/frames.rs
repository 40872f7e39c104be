//! A thread's Python frames as words of a message, and their names. \[UNSAFE\]

use lifetrace_agent::guard::Entered;
use lifetrace_transport::codec::MAX_FRAMES;
use lifetrace_transport::message::{
    Body, FRAMES_LEFT_OUT, FrameKind, FrameName, MANAGED_FRAME, NATIVE_PLACE,
};

use crate::interpreter::Interpreter;
use crate::layout::{BYTES, LENGTH, TYPE};
use crate::numbers::{Key, Numbers};
use crate::read::Place;
use crate::walk::{Step, Walk};
use crate::{lines, text};

/// Most words of a stack: deeper ones lack their outermost frames.
const MOST: usize = MAX_FRAMES;

/// Bytes of a name, and of a file's.
const MOST_NAME: usize = 255;
const MOST_FILE: usize = 4095;

/// A code's line table is not longer.
const MOST_LINES: u64 = 1 << 24;

/// What is known of frames, and room for those of a thread.
pub(crate) struct Frames {
    numbers: Numbers,
    words: [u64; MOST],
    name: [u8; MOST_NAME],
    file: [u8; MOST_FILE],
}

impl Frames {
    /// Nothing is known.
    pub(crate) const fn new() -> Frames {
        Frames {
            numbers: Numbers::new(),
            words: [0; MOST],
            name: [0; MOST_NAME],
            file: [0; MOST_FILE],
        }
    }

    /// For a recorder that knows none. The memory of what was known is not given back: a fork may have left it half written.
    pub(crate) fn begin_anew(&mut self) {
        self.numbers = Numbers::new();
    }

    /// This thread's Python stack, innermost frame first; behind those of an activation comes which one of its native
    /// frames runs it.
    ///
    /// # Safety
    /// The thread's native backtrace has just been captured, and it has not returned from any of its functions since.
    pub(crate) unsafe fn of_thread(
        &mut self,
        python: &Interpreter,
        entered: &mut Entered,
    ) -> &[u64] {
        let mut count = 0;
        let thread = if python.stays(entered) { python.thread() } else { None };
        if let Some(thread) = thread {
            // SAFETY: by contract.
            unsafe { self.walk(python, entered, thread, &mut count) };
        }
        &self.words[..count]
    }

    /// # Safety
    /// As [`Frames::of_thread`], of this thread's state.
    unsafe fn walk(
        &mut self,
        python: &Interpreter,
        entered: &mut Entered,
        thread: Place,
        count: &mut usize,
    ) {
        let mut inner = 0;
        // SAFETY: by contract.
        let mut walk = unsafe { Walk::new(&python.layout, thread) };
        // SAFETY: as above.
        while let Some(step) = unsafe { walk.next() } {
            let word = match step {
                Step::Activation(address) => match native_place(entered, &mut inner, address) {
                    Some(place) => MANAGED_FRAME | NATIVE_PLACE | place,
                    None => continue,
                },
                Step::Frame(code, at) if *count + 1 < MOST => {
                    // SAFETY: by contract, the code of a frame of this thread.
                    match unsafe { self.number(python, entered, code, at) } {
                        Some(number) => MANAGED_FRAME | u64::from(number),
                        None => FRAMES_LEFT_OUT,
                    }
                }
                Step::Frame(..) => FRAMES_LEFT_OUT,
            };
            self.words[*count] = word;
            *count += 1;
            if word == FRAMES_LEFT_OUT || *count == MOST {
                return;
            }
        }
    }

    /// The number of a frame; `None` if it is none, or there is no memory, or the recorder cannot be told.
    ///
    /// # Safety
    /// A code object, as far as it looks like one, which is alive.
    unsafe fn number(
        &mut self,
        python: &Interpreter,
        entered: &mut Entered,
        code: Place,
        at: u32,
    ) -> Option<u32> {
        let layout = &python.layout.code;
        // SAFETY: by contract; each object has a type.
        if unsafe { code.get::<u64>(TYPE) } != python.code_type {
            return None;
        }
        // SAFETY: it is a code object.
        let [name, file, table] =
            unsafe { [layout.name, layout.file, layout.lines].map(|field| code.get::<u64>(field)) };
        // SAFETY: as above.
        let first = unsafe { code.get::<u32>(layout.first_line) };
        let whole = Key::of(&[code.address(), name, file, table, first.into()]);
        let instruction = whole.with(2 * u64::from(at));
        if let Some(number) = self.numbers.get(instruction) {
            return Some(number);
        }
        // SAFETY: a code object keeps its table, which is a `bytes`.
        let line = unsafe { self.line(python, table, first, at) };
        let line_key = whole.with(2 * u64::from(line) + 1);
        let number = match self.numbers.get(line_key) {
            Some(number) => number,
            None => {
                let number = self.numbers.fresh()?;
                // SAFETY: a code object keeps its names.
                let is_told = unsafe { self.tell(python, entered, number, [name, file], line) };
                if !is_told || !self.numbers.put(line_key, number) {
                    return None;
                }
                number
            }
        };
        self.numbers.put(instruction, number).then_some(number)
    }

    /// # Safety
    /// The table is a `bytes`, which is alive.
    unsafe fn line(&self, python: &Interpreter, table: u64, first: u32, at: u32) -> u32 {
        let Some(table) = Place::new(table) else { return first };
        // SAFETY: by contract.
        let bytes = unsafe {
            let length = table.get::<u64>(LENGTH).min(MOST_LINES);
            table.bytes(BYTES, length as usize)
        };
        lines::line(python.layout.lines, bytes, first, at).unwrap_or(first)
    }

    /// # Safety
    /// Both are texts, which are alive.
    unsafe fn tell(
        &mut self,
        python: &Interpreter,
        entered: &mut Entered,
        number: u32,
        [name, file]: [u64; 2],
        line: u32,
    ) -> bool {
        let layout = python.layout.text;
        let Frames { name: name_room, file: file_room, .. } = self;
        // SAFETY: by contract.
        let [name, file] = unsafe {
            [(name, &mut name_room[..]), (file, &mut file_room[..])].map(|(address, room)| {
                let length = Place::new(address).map_or(0, |it| text::read(layout, it, room));
                &room[..length]
            })
        };
        entered.send(Body::FrameName(FrameName {
            frame: number.into(),
            kind: FrameKind(0),
            is_first: true,
            is_last: true,
            line,
            start_char: 0,
            end_char: 0,
            function: name,
            file,
        }))
    }
}

/// Which native frame has this address of the machine's stack, counted from the outermost one; they are met from the
/// `inner` one outwards.
fn native_place(entered: &mut Entered, inner: &mut usize, address: u64) -> Option<u64> {
    let notes = entered.backtraces.notes();
    let outer = notes.get(*inner..)?.iter().position(|note| note.sp > address);
    let behind = outer.map_or(notes.len(), |outer| *inner + outer);
    *inner = behind.checked_sub(1).filter(|at| at >= inner)?;
    Some((notes.len() - behind) as u64)
}
