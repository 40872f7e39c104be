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
    type Body = unsafe extern "C" fn(Value) -> Value;
    type Protect = unsafe extern "C" fn(Body, Value, *mut c_int) -> Value;
    type SetError = unsafe extern "C" fn(Value);
    // SAFETY: of these types in all versions.
    let (question, protect, set_error) = unsafe {
        let functions =
            (function::<Protect>(c"rb_protect")?, function::<SetError>(c"rb_set_errinfo")?);
        (Question::of(line)?, functions.0, functions.1)
    };
    let mut failure = 0;
    let argument = &raw const question as Value;
    // SAFETY: by contract; nothing that is raised comes out of it.
    let value = tls::aside(|| unsafe { protect(evaluate, argument, &raw mut failure) });
    if failure != 0 {
        let nil = if value == 4 { 4 } else { 8 };
        // SAFETY: by contract; it answers nil where something was raised.
        unsafe { set_error(nil) };
    }
    (failure == 0).then_some(value == TRUE)
}

/// A line of Ruby, and what of the machine evaluates it where the program is: a thread that has only just begun is
/// nowhere, and what evaluates lines there fails.
struct Question<'a> {
    line: &'a CStr,
    object_class: Value,
    name: unsafe extern "C" fn(*const c_char) -> Value,
    constant: unsafe extern "C" fn(Value, Value) -> Value,
    text: unsafe extern "C" fn(*const c_char) -> Value,
    call: unsafe extern "C" fn(Value, Value, c_int, *const Value) -> Value,
}

impl<'a> Question<'a> {
    /// # Safety
    /// As [`has_one_ractor`].
    unsafe fn of(line: &'a CStr) -> Option<Question<'a>> {
        // SAFETY: functions of these types in all versions, and a variable with a class.
        unsafe {
            Some(Question {
                line,
                object_class: function::<*const Value>(c"rb_cObject")?.read(),
                name: function(c"rb_intern")?,
                constant: function(c"rb_const_get")?,
                text: function(c"rb_str_new_cstr")?,
                call: function(c"rb_funcallv")?,
            })
        }
    }
}

/// # Safety
/// As [`has_one_ractor`]; the argument is the address of a [`Question`]. What it calls may raise: there is nothing here that
/// would have to be dropped.
unsafe extern "C" fn evaluate(question: Value) -> Value {
    // SAFETY: by contract.
    unsafe {
        let Question { line, object_class, name, constant, text, call } =
            &*(question as *const Question<'_>);
        let program = constant(*object_class, name(c"TOPLEVEL_BINDING".as_ptr()));
        let line = text(line.as_ptr());
        call(program, name(c"eval".as_ptr()), 1, &raw const line)
    }
}
