//! Whether the machine may compile what it executes. \[UNSAFE\]
//!
//! Compiled code of 3.1 and 3.2 saves where it is only before calls that may collect. So in a malloc that is called in
//! another way the innermost frame may have no line that can be looked up, and no other line can be had without it.
//! Whether code is compiled the machine has not decided yet when we begin, so what is said on its command line and in
//! its environment decides here: a word with `jit`.

use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicBool, Ordering};

use lifetrace_agent::sys;

const COMPILER: &[u8] = b"jit";

static MAY_COMPILE: AtomicBool = AtomicBool::new(false);

/// Takes note of the program's arguments, and of its environment.
///
/// # Safety
/// Null, or strings up to a null.
pub(crate) unsafe fn take_note(arguments: *const *const c_char) {
    // SAFETY: by contract.
    let of_arguments = !arguments.is_null() && unsafe { any_names_compiler(arguments) };
    let options = sys::environment_variable("RUBYOPT").is_some_and(names_compiler);
    let is_enabled = sys::environment_variable("RUBY_YJIT_ENABLE").is_some();
    MAY_COMPILE.store(of_arguments || options || is_enabled, Ordering::Relaxed);
}

/// Takes note of what the machine has decided.
pub(crate) fn note(may_compile: bool) {
    MAY_COMPILE.store(may_compile, Ordering::Relaxed);
}

/// Whether code may be compiled.
pub(crate) fn may_compile() -> bool {
    MAY_COMPILE.load(Ordering::Relaxed)
}

/// # Safety
/// Strings up to a null.
unsafe fn any_names_compiler(arguments: *const *const c_char) -> bool {
    for index in 0.. {
        // SAFETY: by contract; the null is not passed.
        let argument = unsafe { arguments.add(index).read() };
        if argument.is_null() {
            return false;
        }
        // SAFETY: by contract.
        if names_compiler(unsafe { CStr::from_ptr(argument) }.to_bytes()) {
            return true;
        }
    }
    false
}

fn names_compiler(text: &[u8]) -> bool {
    text.windows(COMPILER.len()).any(|part| part == COMPILER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arguments: &[&CStr], expected: bool) {
        let mut words: std::vec::Vec<_> = arguments.iter().map(|it| it.as_ptr()).collect();
        words.push(core::ptr::null());
        // SAFETY: strings, and a null.
        assert_eq!(unsafe { any_names_compiler(words.as_ptr()) }, expected, "{arguments:?}");
    }

    #[test]
    fn options_that_turn_the_compiler_on_are_known() {
        check(&[c"ruby", c"--yjit", c"a.rb"], true);
        check(&[c"ruby", c"--yjit-call-threshold=1"], true);
        check(&[c"ruby", c"a.rb", c"-n"], false);
        check(&[], false);
    }
}
