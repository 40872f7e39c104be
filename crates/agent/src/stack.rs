//! Stacks, and the tables that explain them.

/// Where a walk is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Of the frame, a multiple of 8.
    pub stack: u64,
    /// The address in its code to which its callee returns.
    pub code: u64,
}

/// A stack and the tables that explain it.
pub trait Frames {
    /// The frame of a state, by the name that the runtime has for it: any number but 0. Frames that the runtime passes over
    /// are passed over, and `state` becomes that of the frame. `None`: there are no more frames.
    fn frame(&self, state: &mut State) -> Option<u64>;

    /// Where the stack pointer is in the caller of the frame with that name and state: how far from the frame's
    /// own depends on the frame's code alone, as its name does.
    fn caller(&self, frame: u64, state: State) -> u64;

    /// The address to which a frame returns whose caller's stack pointer is `stack`.
    fn return_address(&self, stack: u64) -> u64;
}

/// The state to which a frame returns.
#[inline]
pub(crate) fn caller(stack: &impl Frames, frame: u64, state: State) -> State {
    let caller = stack.caller(frame, state);
    State { stack: caller, code: stack.return_address(caller) }
}
