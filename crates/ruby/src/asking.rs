//! What the machine is asked in Ruby, as no function tells it. \[UNSAFE\]

use core::ffi::{CStr, c_char, c_int};

use lifetrace_agent::tls;

use crate::symbols::{Value, function};

/// `Qtrue`, of machines of 64 bits.
const TRUE: Value = 0x14;

/// That no more than one part of the program may run at a time.
const HAS_ONE_RACTOR: &CStr = c"Ractor.count == 1";

/// That what is executed may be compiled.
const MAY_COMPILE: &CStr = c"(defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled?) || \
    (defined?(RubyVM::MJIT) && RubyVM::MJIT.enabled?) || false";

/// Whether the program has one ractor, and no more; that it has not, if nobody can say.
///
/// # Safety
/// The machine's lock is the caller's, outside of hooks.
pub(crate) unsafe fn has_one_ractor() -> bool {
    // SAFETY: by contract.
    let answer = unsafe { is(HAS_ONE_RACTOR) };
    answer == Some(true)
}

/// Whether the machine may compile what it executes; that it may, if nobody can say.
///
/// # Safety
/// As [`has_one_ractor`].
pub(crate) unsafe fn may_compile() -> bool {
    // SAFETY: by contract.
    let answer = unsafe { is(MAY_COMPILE) };
    answer != Some(false)
}

/// Whether a line of Ruby is true; `None` if it has failed.
///
/// # Safety
/// As [`has_one_ractor`].
unsafe fn is(line: &CStr) -> Option<bool> {
    type Evaluate = unsafe extern "C" fn(*const c_char, *mut c_int) -> Value;
    type SetError = unsafe extern "C" fn(Value);
    // SAFETY: of these types in all versions.
    let (evaluate, set_error) = unsafe {
        (function::<Evaluate>(c"rb_eval_string_protect")?, function::<SetError>(c"rb_set_errinfo")?)
    };
    let mut failure = 0;
    // SAFETY: by contract; nothing that is raised comes out of it.
    let value = tls::aside(|| unsafe { evaluate(line.as_ptr(), &raw mut failure) });
    if failure != 0 {
        let nil = if value == 4 { 4 } else { 8 };
        // SAFETY: by contract; it answers nil where something was raised.
        unsafe { set_error(nil) };
    }
    (failure == 0).then_some(value == TRUE)
}
