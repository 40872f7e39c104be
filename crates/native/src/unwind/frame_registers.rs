//! A frame's registers, as walks know them.

/// The registers that a walk knows of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRegisters {
    /// Stack pointer, when it is this frame's turn.
    pub sp: u64,
    /// Frame pointer, if the code keeps one.
    pub bp: u64,
}
