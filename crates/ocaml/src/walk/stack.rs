//! Stacks, and the tables that explain them.

use lifetrace_agent::chain::State;

/// What the runtime's tables say of a frame. It depends on the frame's code alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OCamlFrame {
    /// What the runtime calls it.
    pub slot: u64,
    /// In bytes, from its stack pointer to its caller's.
    pub size: u32,
}

/// A stack and the tables that explain it.
pub trait Frames {
    /// The frame of a state. Frames that the runtime passes over are passed over, and `state` becomes that
    /// of the frame. `None`: there are no more frames.
    fn frame(&self, state: &mut State) -> Option<OCamlFrame>;

    /// Sends the recorder what frames with this slot are, which it is to know by a number; false if that
    /// could not be sent, or there is no number left. Both are counted as losses.
    fn send_name(&mut self, slot: u64, number: Option<u32>) -> bool;

    /// The address to which a frame returns whose caller's stack pointer is `stack`.
    fn return_address(&self, stack: u64) -> u64;
}

/// The state to which a frame of that size returns.
#[inline]
pub(crate) fn caller(stack: &impl Frames, state: State, size: u32) -> State {
    let caller = state.stack + u64::from(size);
    State { stack: caller, code: stack.return_address(caller) }
}
