//! What a stack's frames are, and what they are called. \[UNSAFE\]

use core::ffi::c_int;

use crate::symbols::{Value, function};
use crate::texts::Texts;

type OfValue = unsafe extern "C" fn(Value) -> Value;

/// The machine's functions for frames.
#[derive(Debug)]
pub(crate) struct Frames {
    profile: unsafe extern "C" fn(c_int, c_int, *mut Value, *mut c_int) -> c_int,
    full_label: OfValue,
    label: OfValue,
    method: OfValue,
    path: OfValue,
    texts: Texts,
}

impl Frames {
    /// `None` if any is missing.
    pub(crate) fn find(texts: Texts) -> Option<Frames> {
        // SAFETY: of these types in all versions since 2.7, as their headers say.
        unsafe {
            Some(Frames {
                profile: function(c"rb_profile_frames")?,
                full_label: function(c"rb_profile_frame_full_label")?,
                label: function(c"rb_profile_frame_label")?,
                method: function(c"rb_profile_frame_method_name")?,
                path: function(c"rb_profile_frame_path")?,
                texts,
            })
        }
    }

    /// Puts this thread's frames and their lines into both, innermost first, as many as there is room for; how many. Lines
    /// are looked up only if all have one for sure; else they are 0.
    ///
    /// # Safety
    /// The machine's lock is the caller's, and the thread one of the machine's.
    pub(crate) unsafe fn of_thread(
        &self,
        frames: &mut [Value],
        lines: &mut [c_int],
        have_lines: bool,
    ) -> usize {
        let room = c_int::try_from(frames.len().min(lines.len())).unwrap_or(c_int::MAX);
        let wanted = if have_lines {
            lines.as_mut_ptr()
        } else {
            lines.fill(0);
            core::ptr::null_mut()
        };
        // SAFETY: by contract; makes no objects. It begins at the innermost frame, as up to 3.3 no other beginning works.
        let count = unsafe { (self.profile)(0, room, frames.as_mut_ptr(), wanted) };
        usize::try_from(count).unwrap_or(0)
    }

    /// Whether a frame is called as the outermost ones of programs are.
    ///
    /// # Safety
    /// The machine's lock is the caller's; the frame is alive.
    pub(crate) unsafe fn is_main(&self, frame: Value) -> bool {
        // SAFETY: by contract.
        unsafe { self.short_name(frame).0 == b"<main>" }
    }

    /// The name of a frame without its class, and its file; makes no objects. A method that is written in C has no file.
    ///
    /// # Safety
    /// The machine's lock is the caller's; the frame is alive. Both are to be used before the machine does anything.
    pub(crate) unsafe fn short_name(&self, frame: Value) -> (&'static [u8], Option<&'static [u8]>) {
        // SAFETY: by contract.
        unsafe {
            let (label, path) = ((self.label)(frame), (self.path)(frame));
            let method = || self.texts.bytes((self.method)(frame));
            (self.texts.bytes(label).or_else(method).unwrap_or(b""), self.texts.bytes(path))
        }
    }

    /// The whole name of a frame, and its file; makes objects. A method that is written in C has no file.
    ///
    /// # Safety
    /// The machine's lock is the caller's, outside of hooks and collections; the frame is alive. Both are to be used
    /// before the machine does anything.
    pub(crate) unsafe fn name(&self, frame: Value) -> (&'static [u8], Option<&'static [u8]>) {
        // SAFETY: by contract.
        unsafe {
            let (label, path) = ((self.full_label)(frame), (self.path)(frame));
            (self.texts.bytes(label).unwrap_or(b""), self.texts.bytes(path))
        }
    }
}
