//! Ruby's functions for extensions, by name. \[UNSAFE\]

use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::sync::OnceLock;

/// A reference to an object, or an immediate.
pub(crate) type Value = usize;

/// `Qfalse` and `Qtrue`, in all versions. (`Qnil` differs.)
pub(crate) const FALSE: Value = 0;
pub(crate) const TRUE: Value = 0x14;

/// The functions that are used here.
#[derive(Debug)]
pub(crate) struct Machine {
    define_module: unsafe extern "C" fn(*const c_char) -> Value,
    define_module_under: unsafe extern "C" fn(Value, *const c_char) -> Value,
    define_singleton_method: unsafe extern "C" fn(Value, *const c_char, *const (), c_int),
    string_value_cstr: unsafe extern "C" fn(*mut Value) -> *const c_char,
    string_new: unsafe extern "C" fn(*const u8, c_long) -> Value,
    array_new: unsafe extern "C" fn(c_long, *const Value) -> Value,
    array_entry: unsafe extern "C" fn(Value, c_long) -> Value,
    number_to_double: unsafe extern "C" fn(Value) -> f64,
    number_to_u64: unsafe extern "C" fn(Value) -> u64,
    u64_to_number: unsafe extern "C" fn(u64) -> Value,
    intern: unsafe extern "C" fn(*const c_char) -> usize,
    id_to_symbol: unsafe extern "C" fn(usize) -> Value,
    call: unsafe extern "C" fn(Value, usize, c_int, *const Value) -> Value,
    protect: unsafe extern "C" fn(unsafe extern "C" fn(Value) -> Value, Value, *mut c_int) -> Value,
    set_error: unsafe extern "C" fn(Value),
    without_lock: unsafe extern "C" fn(
        unsafe extern "C" fn(*mut c_void) -> *mut c_void,
        *mut c_void,
        *const (),
        *mut c_void,
    ) -> *mut c_void,
}

static MACHINE: OnceLock<Machine> = OnceLock::new();

/// Finds them; `None` if one is missing.
pub(crate) fn find() -> Option<&'static Machine> {
    if MACHINE.get().is_none() {
        // SAFETY: of these types, as the headers of all versions have them.
        let found = unsafe {
            Machine {
                define_module: function(c"rb_define_module")?,
                define_module_under: function(c"rb_define_module_under")?,
                define_singleton_method: function(c"rb_define_singleton_method")?,
                string_value_cstr: function(c"rb_string_value_cstr")?,
                string_new: function(c"rb_str_new")?,
                array_new: function(c"rb_ary_new_from_values")?,
                array_entry: function(c"rb_ary_entry")?,
                number_to_double: function(c"rb_num2dbl")?,
                number_to_u64: function(c"rb_num2ull")?,
                u64_to_number: function(c"rb_ull2inum")?,
                intern: function(c"rb_intern")?,
                id_to_symbol: function(c"rb_id2sym")?,
                call: function(c"rb_funcallv")?,
                protect: function(c"rb_protect")?,
                set_error: function(c"rb_set_errinfo")?,
                without_lock: function(c"rb_thread_call_without_gvl")?,
            }
        };
        let _ = MACHINE.set(found);
    }
    MACHINE.get()
}

/// They are found, as methods are only defined then.
pub(crate) fn get() -> &'static Machine {
    MACHINE.get().expect("Init_lifetrace has found it")
}

pub(crate) fn truth(is_true: bool) -> Value {
    if is_true { TRUE } else { FALSE }
}

/// # Safety
/// `T` is the function's type.
unsafe fn function<T: Copy>(name: &CStr) -> Option<T> {
    const { assert!(size_of::<T>() == size_of::<*mut c_void>()) };
    // SAFETY: a C string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    // SAFETY: by contract; the sizes are equal.
    (!found.is_null()).then(|| unsafe { std::mem::transmute_copy(&found) })
}

/// Without the machine's lock nothing here may be called.
impl Machine {
    /// A module in a module.
    ///
    /// # Safety
    /// The machine's lock is the caller's, and that may raise.
    pub(crate) unsafe fn module(&self, outer: &CStr, name: &CStr) -> Value {
        // SAFETY: by contract.
        unsafe { (self.define_module_under)((self.define_module)(outer.as_ptr()), name.as_ptr()) }
    }

    /// A method of a module, with so many arguments.
    ///
    /// # Safety
    /// As [`module`](Self::module); a function of as many [`Value`]s, and one before them.
    pub(crate) unsafe fn define(
        &self,
        module: Value,
        name: &CStr,
        method: *const (),
        arguments: c_int,
    ) {
        // SAFETY: by contract.
        unsafe { (self.define_singleton_method)(module, name.as_ptr(), method, arguments) }
    }

    /// The characters of a string.
    ///
    /// # Safety
    /// A String without zero bytes that somebody keeps, and that nobody changes meanwhile.
    pub(crate) unsafe fn text(&self, mut string: Value) -> &'static CStr {
        // SAFETY: by contract it does not raise.
        unsafe { CStr::from_ptr((self.string_value_cstr)(&raw mut string)) }
    }

    /// # Safety
    /// A Float.
    pub(crate) unsafe fn float(&self, number: Value) -> f64 {
        // SAFETY: by contract it does not raise.
        unsafe { (self.number_to_double)(number) }
    }

    /// # Safety
    /// An Integer from 0 to 2^64 - 1.
    pub(crate) unsafe fn integer(&self, number: Value) -> u64 {
        // SAFETY: by contract it does not raise.
        unsafe { (self.number_to_u64)(number) }
    }

    /// A String of these bytes.
    pub(crate) fn string(&self, bytes: &[u8]) -> Value {
        // SAFETY: so many bytes; without memory it raises, and there is little to clean up.
        unsafe { (self.string_new)(bytes.as_ptr(), bytes.len() as c_long) }
    }

    /// An Integer.
    pub(crate) fn number(&self, number: u64) -> Value {
        // SAFETY: takes any.
        unsafe { (self.u64_to_number)(number) }
    }

    /// An Array. Its elements are on the caller's stack, where the collector finds them.
    pub(crate) fn array(&self, of: &[Value]) -> Value {
        // SAFETY: so many values.
        unsafe { (self.array_new)(of.len() as c_long, of.as_ptr()) }
    }

    /// A Symbol.
    pub(crate) fn symbol(&self, name: &CStr) -> Value {
        // SAFETY: a C string.
        unsafe { (self.id_to_symbol)((self.intern)(name.as_ptr())) }
    }

    /// Calls `Lifetrace.name`; what it raises is forgotten.
    pub(crate) fn call_lifetrace(&self, name: &'static CStr) {
        unsafe extern "C" fn call(name: Value) -> Value {
            let machine = get();
            // SAFETY: C strings; what is raised ends in `protect`, and passes nothing that is to be dropped.
            unsafe {
                let module = (machine.define_module)(c"Lifetrace".as_ptr());
                let id = (machine.intern)(name as *const c_char);
                (machine.call)(module, id, 0, std::ptr::null())
            }
        }
        let mut state = 0;
        // SAFETY: a function that may raise.
        unsafe {
            (self.protect)(call, name.as_ptr() as Value, &raw mut state);
            if state != 0 {
                // Nil, which is no error, is what an empty array has; its number differs between versions.
                (self.set_error)((self.array_entry)(self.array(&[]), 0));
            }
        }
    }

    /// Does `work` while other threads go on. It must not use the machine.
    pub(crate) fn without_lock<T>(&self, work: impl FnOnce() -> T) -> T {
        type Task<W, T> = (Option<W>, Option<T>);
        unsafe extern "C" fn run<W: FnOnce() -> T, T>(task: *mut c_void) -> *mut c_void {
            // SAFETY: what is given below, used by nobody else meanwhile.
            let (work, result) = unsafe { &mut *task.cast::<Task<W, T>>() };
            *result = work.take().map(|work| work());
            std::ptr::null_mut()
        }
        fn runner<W: FnOnce() -> T, T>(
            _: &Task<W, T>,
        ) -> unsafe extern "C" fn(*mut c_void) -> *mut c_void {
            run::<W, T>
        }
        let mut task = (Some(work), None);
        let run = runner(&task);
        // SAFETY: `run` is called once, with the task, before this returns; nothing interrupts it.
        unsafe {
            let (task, no) = ((&raw mut task).cast(), std::ptr::null_mut());
            (self.without_lock)(run, task, std::ptr::null(), no);
        }
        task.1.expect("it has been run")
    }
}
