//! Backtraces: walks of the stack, or what the runtime has walked.
//!
//! Under OCaml 4 we walk: as the runtime does, but only what has changed since this thread's last walk is
//! looked up ([`Chain`]), and no array is made of the frames. Where the runtime has walked, its array is
//! compared with the last one.
//!
//! [`Chain`]: lifetrace_agent::chain::Chain

use core::sync::atomic::{AtomicU64, Ordering};

use lifetrace_agent::chain::State;
use lifetrace_agent::guard::Entered;
use lifetrace_agent::sender::Sender;
use lifetrace_transport::codec::MAX_FRAMES;

use crate::descriptors::{self, Descriptors};
use crate::host;
use crate::memprof::Memprof;
use crate::runtime::Runtime;
use crate::state::{self, Naming};
use crate::walk::{Frames, OCamlFrame, Walk, walk};

/// The frame by which the program itself asks for callstacks, in the runtime's terms; 0 is none.
static OWN_FRAME: AtomicU64 = AtomicU64::new(0);

/// Fewer frames say nothing.
const LEAST_LIMIT: usize = 16;

/// The program's stack, whose frames the recorder is to know.
struct Stack<'a> {
    descriptors: &'a Descriptors,
    runtime: &'static Runtime,
    naming: &'a mut Naming,
    sender: Sender<'a>,
}

/// Makes the backtrace at which the OCaml code has come to call C the thread's; whether the recorder knows all of
/// it. Of the blocks that the code allocates together it is for `block`.
#[inline(always)]
pub(crate) fn walk_to_tell(
    entered: &mut Entered,
    runtime: &'static Runtime,
    memprof: &Memprof,
    block: Option<u32>,
) -> bool {
    let state::State { layouts, fresh, naming, .. } = state::under_runtimes_lock(entered, runtime);
    let (sender, _, managed) = entered.sender();
    let mut stack = Stack { descriptors: &memprof.descriptors, runtime, naming, sender };
    let first = memprof.heap.stack_state();
    let first = block.map_or(first, |block| descriptors::allocating(first, block));
    let walk = walk(&mut managed.chain, fresh, &mut stack, layouts, first, host::depth());
    naming.announce(entered);
    let limit = limit(entered);
    walk != Walk::Lost && entered.managed.take_walk(limit, walk != Walk::Whole)
}

/// Makes the runtime's own backtrace the thread's; whether the recorder knows all of it.
pub(crate) fn take(entered: &mut Entered, runtime: &Runtime, slots: &[u64]) -> bool {
    let Some(mut state) = state::of_session(entered, runtime) else { return false };
    let limit = limit(entered);
    let (mut sender, _, managed) = entered.sender();
    let translate =
        |new: &[u64], numbers: &mut [u32]| state.translate(&mut sender, runtime, new, numbers);
    let is_known = managed.chain.take(slots, translate)
        && managed.take_walk(limit, slots.len() >= host::depth());
    state.naming.announce(entered);
    is_known
}

/// Takes note of the frame by which the program asks for callstacks.
pub(crate) fn is_asked_by(frame: u64) {
    OWN_FRAME.store(frame, Ordering::Relaxed);
}

/// Whether a block with this callstack is the array of a callstack that the program has asked for.
pub(crate) fn is_own(frames: &[u64]) -> bool {
    let own = OWN_FRAME.load(Ordering::Relaxed);
    own != 0 && frames.first() == Some(&own)
}

fn limit(entered: &Entered) -> usize {
    let limit = entered.session().header.settings().stack_limit as usize;
    limit.clamp(LEAST_LIMIT, MAX_FRAMES)
}

impl Frames for Stack<'_> {
    #[inline]
    fn frame(&self, state: &mut State) -> Option<OCamlFrame> {
        self.descriptors.frame_of_block(state)
    }

    fn send_name(&mut self, slot: u64, number: Option<u32>) -> bool {
        self.naming.send_name(&mut self.sender, self.runtime, slot, number)
    }

    #[inline]
    fn return_address(&self, stack: u64) -> u64 {
        Descriptors::return_address(stack)
    }
}
