//! The machine's functions, found by name. \[UNSAFE\]

use core::ffi::{CStr, c_char, c_int, c_void};

use lifetrace_agent::{loader, sys};

use crate::classes::Classes;
use crate::current::Current;
use crate::frames::Frames;
use crate::kind;
use crate::marks::Marks;
use crate::symbols::function;
use crate::texts::Texts;
use crate::version::Version;

pub(crate) use crate::symbols::Value;

/// Bytes of an object's slot, where all have the same.
const SLOT: u64 = 40;

/// An event, as `rb_event_flag_t` numbers it.
pub(crate) mod event {
    /// An object has been made.
    pub(crate) const NEWOBJ: u32 = 0x10_0000;
    /// A collection has marked all that is alive, and has swept nothing yet.
    pub(crate) const GC_END_MARK: u32 = 0x80_0000;
}

/// `RUBY_EVENT_HOOK_FLAG_SAFE | RUBY_EVENT_HOOK_FLAG_RAW_ARG`.
const RAW: c_int = 1 | 4;

/// What is called at an event.
pub(crate) type Hook = unsafe extern "C" fn(data: Value, argument: *const c_void);
type AddHook = unsafe extern "C" fn(hook: Hook, events: u32, data: Value, flags: c_int);
/// `rb_internal_thread_event_callback`.
pub(crate) type Callback = unsafe extern "C" fn(u32, *const c_void, *mut c_void);
type WatchThreads = unsafe extern "C" fn(Callback, u32, *mut c_void) -> *mut c_void;
type OfValue = unsafe extern "C" fn(Value) -> Value;
pub(crate) type Job = unsafe extern "C" fn(*mut c_void);

/// `rb_data_type_t`, with its `function.reserved` as of 2.7 to 3.4.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct DataType {
    pub(crate) name: *const c_char,
    pub(crate) mark: Option<unsafe extern "C" fn(*mut c_void)>,
    pub(crate) free: Option<unsafe extern "C" fn(*mut c_void)>,
    pub(crate) size: Option<unsafe extern "C" fn(*const c_void) -> usize>,
    pub(crate) compact: Option<unsafe extern "C" fn(*mut c_void)>,
    pub(crate) reserved: [*mut c_void; 1],
    pub(crate) parent: *const c_void,
    pub(crate) data: *mut c_void,
    pub(crate) flags: Value,
}

// SAFETY: never written to.
unsafe impl Sync for DataType {}

/// The functions of a machine whose objects can be sampled.
#[derive(Debug)]
pub(crate) struct Vm {
    add_hook: AddHook,
    remove_hook: unsafe extern "C" fn(Hook) -> c_int,
    at_end: unsafe extern "C" fn(unsafe extern "C" fn(Value), Value),
    object_of: unsafe extern "C" fn(*const c_void) -> Value,
    pub(crate) frames: Frames,
    pub(crate) classes: Classes,
    marks: Marks,
    memory_of: Option<unsafe extern "C" fn(Value) -> usize>,
    slot_size: Option<unsafe extern "C" fn(Value) -> usize>,
    location: OfValue,
    mark: unsafe extern "C" fn(Value),
    wrap: unsafe extern "C" fn(Value, *mut c_void, *const DataType) -> Value,
    keep: unsafe extern "C" fn(Value),
    intern: unsafe extern "C" fn(*const c_char) -> usize,
    symbol: unsafe extern "C" fn(usize) -> Value,
    stat: unsafe extern "C" fn(Value) -> usize,
    latest_collection: Option<OfValue>,
    has_lock: unsafe extern "C" fn() -> c_int,
    is_collecting: unsafe extern "C" fn() -> c_int,
    current: Option<Current>,
    postpone: unsafe extern "C" fn(u32, Job, *mut c_void) -> c_int,
    watch_threads: Option<WatchThreads>,
    object_class: *const Value,
    version_text: &'static CStr,
    version: Version,
}

// SAFETY: addresses, which stay; whoever calls has the machine's lock.
unsafe impl Sync for Vm {}

impl Vm {
    /// Finds them in this process, for good; `None` if any is missing, the version is not [known](Version::is_known), or
    /// there is no memory.
    ///
    /// # Safety
    /// The machine is set up, and its lock the caller's.
    pub(crate) unsafe fn find() -> Option<&'static Vm> {
        let text = loader::symbol(c"ruby_version")?.cast::<c_char>();
        // SAFETY: a string that the machine exports.
        let text = unsafe { CStr::from_ptr(text.as_ptr()) };
        let version = Version::of(text).filter(|version| version.is_known())?;
        let place = sys::map(size_of::<Vm>())?.cast::<Vm>();
        // SAFETY: by contract; fresh memory, large and aligned enough, which stays.
        unsafe {
            place.write(Vm::found(text, version)?);
            Some(place.as_ref())
        }
    }

    /// # Safety
    /// As [`find`](Self::find).
    unsafe fn found(version_text: &'static CStr, version: Version) -> Option<Vm> {
        // SAFETY: of these types in all versions since 2.7, as their headers say.
        unsafe {
            let intern = function(c"rb_intern")?;
            let texts = Texts::find(version.nil())?;
            Some(Vm {
                add_hook: function(c"rb_add_event_hook2")?,
                remove_hook: function(c"rb_remove_event_hook")?,
                at_end: function(c"rb_set_end_proc")?,
                object_of: function(c"rb_tracearg_object")?,
                frames: Frames::find(texts)?,
                classes: Classes::find(texts, version.nil())?,
                marks: Marks::find(intern)?,
                memory_of: function(c"rb_obj_memsize_of"),
                slot_size: function(c"rb_gc_obj_slot_size"),
                location: function(c"rb_gc_location")?,
                mark: function(c"rb_gc_mark")?,
                wrap: function(c"rb_data_typed_object_wrap")?,
                keep: function(c"rb_gc_register_mark_object")?,
                intern,
                symbol: function(c"rb_id2sym")?,
                stat: function(c"rb_gc_stat")?,
                latest_collection: function(c"rb_gc_latest_gc_info"),
                has_lock: function(c"ruby_thread_has_gvl_p")?,
                is_collecting: function(c"rb_during_gc")?,
                current: Current::find(),
                postpone: function(c"rb_postponed_job_register_one")?,
                watch_threads: function(c"rb_internal_thread_add_event_hook"),
                object_class: function(c"rb_cObject")?,
                version_text,
                version,
            })
        }
    }

    /// As `RUBY_VERSION` has it.
    pub(crate) fn version_text(&self) -> &'static CStr {
        self.version_text
    }

    /// The series of releases.
    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// Bytes of an object's slot.
    ///
    /// # Safety
    /// An object that is alive.
    pub(crate) unsafe fn slot_size(&self, object: Value) -> u64 {
        // SAFETY: by contract; reads what the object's page has.
        self.slot_size.map_or(SLOT, |size| unsafe { size(object) as u64 })
    }

    /// Whether an object has survived so many collections that minor ones do not look at it any more.
    ///
    /// # Safety
    /// An object that is alive.
    pub(crate) unsafe fn is_old(&self, object: Value) -> bool {
        let old = self.version.old_flags();
        // SAFETY: by contract; an object begins with its flags.
        unsafe { (object as *const Value).read() & old == old }
    }

    /// Has `hook` called at these events, from now on and for good.
    ///
    /// # Safety
    /// The machine is set up, and its lock the caller's.
    pub(crate) unsafe fn add_hook(&self, hook: Hook, events: u32) {
        // SAFETY: by contract.
        unsafe { (self.add_hook)(hook, events, 0, RAW) }
    }

    /// Takes a hook away, within a hook too.
    ///
    /// # Safety
    /// The machine's lock is the caller's.
    pub(crate) unsafe fn remove_hook(&self, hook: Hook) {
        // SAFETY: by contract.
        unsafe { (self.remove_hook)(hook) };
    }

    /// Has `procedure` called when the program ends, after all that it has registered itself.
    ///
    /// # Safety
    /// The machine has just been set up, and its lock is the caller's.
    pub(crate) unsafe fn at_end(&self, procedure: unsafe extern "C" fn(Value)) {
        // SAFETY: by contract; 0 is false, an immediate.
        unsafe { (self.at_end)(procedure, 0) }
    }

    /// What a dead object takes that has not been freed yet, as [`memory_of`](Self::memory_of), if its type's own
    /// functions need not be asked.
    ///
    /// # Safety
    /// Called at [`event::GC_END_MARK`], of an object that the last such event left alive, or that came since.
    pub(crate) unsafe fn memory_at_death(&self, object: Value) -> Option<u64> {
        // SAFETY: by contract nothing of it, and nothing that it refers to, has been freed.
        unsafe {
            let is_plain = kind::are_plain((object as *const Value).read());
            self.memory_of.filter(|_| is_plain).map(|memory| memory(object) as u64)
        }
    }

    /// The object of an event.
    ///
    /// # Safety
    /// `argument` is what a hook of an event with an object was given.
    pub(crate) unsafe fn object_of(&self, argument: *const c_void) -> Value {
        // SAFETY: by contract.
        unsafe { (self.object_of)(argument) }
    }

    /// What an object takes with all that belongs to it, in bytes, as `ObjectSpace.memsize_of` says; none if the machine
    /// does not tell, or the object is one of its own.
    ///
    /// # Safety
    /// The machine's lock is the caller's, outside of hooks and collections; an object that is alive. The types of C
    /// extensions have functions of their own for that, which may do anything.
    pub(crate) unsafe fn memory_of(&self, object: Value) -> Option<u64> {
        // SAFETY: by contract; an object begins with its flags.
        unsafe {
            let is_internal = kind::are_internal((object as *const Value).read());
            let memory = self.memory_of.filter(|_| !is_internal)?;
            Some(memory(object) as u64)
        }
    }

    /// Whether this thread is one of the machine's, has its lock, executes something and is not collecting: whether it
    /// may be asked for its frames, anywhere.
    ///
    /// # Safety
    /// The machine is set up, and has not ended.
    pub(crate) unsafe fn is_at_ruby(&self) -> bool {
        // SAFETY: both read variables, of this thread and of the machine.
        unsafe {
            (self.has_lock)() != 0
                && (self.is_collecting)() == 0
                && self.current.is_none_or(|current| current.has_frames())
        }
    }

    /// Whether the collection that has just marked has found the object alive.
    ///
    /// # Safety
    /// Called at [`event::GC_END_MARK`], of an object that the last such event left alive, or that came since.
    pub(crate) unsafe fn is_marked(&self, object: Value) -> bool {
        // SAFETY: by contract.
        unsafe { self.marks.has(object) }
    }

    /// Where an object is now.
    ///
    /// # Safety
    /// Called while references are updated, after a compaction.
    pub(crate) unsafe fn location(&self, object: Value) -> Value {
        // SAFETY: by contract.
        unsafe { (self.location)(object) }
    }

    /// Keeps an object alive, and where it is.
    ///
    /// # Safety
    /// Called while a collection marks.
    pub(crate) unsafe fn mark(&self, object: Value) {
        // SAFETY: by contract.
        unsafe { (self.mark)(object) }
    }

    /// Makes an object of that type, which stays for good: its functions take part in collections. It has no class, so
    /// the program does not see it.
    ///
    /// # Safety
    /// The machine is set up, and its lock the caller's.
    pub(crate) unsafe fn take_part(&self, of: &'static DataType) {
        // SAFETY: by contract; the pointer is not null, so that the functions are called.
        unsafe { (self.keep)((self.wrap)(0, core::ptr::dangling_mut(), of)) }
    }

    /// The symbol of that name, which stays.
    ///
    /// # Safety
    /// The machine is set up, and its lock the caller's.
    pub(crate) unsafe fn symbol(&self, name: &CStr) -> Value {
        // SAFETY: by contract.
        unsafe { (self.symbol)((self.intern)(name.as_ptr())) }
    }

    /// A figure of `GC.stat`.
    ///
    /// # Safety
    /// The machine's lock is the caller's; the key is one that the version has.
    pub(crate) unsafe fn stat(&self, key: Value) -> u64 {
        // SAFETY: by contract.
        unsafe { (self.stat)(key) as u64 }
    }

    /// Whether the last collection has not swept everything yet, or nobody can say. Makes symbols at the first time.
    ///
    /// # Safety
    /// The machine's lock is the caller's, outside of hooks and collections.
    pub(crate) unsafe fn is_sweeping(&self) -> bool {
        // SAFETY: by contract; all versions have this key.
        self.latest_collection
            .is_none_or(|of| unsafe { of(self.symbol(c"state")) == self.symbol(c"sweeping") })
    }

    /// Has the machine make now what it makes at the first call of a function, which must not be in a hook.
    ///
    /// # Safety
    /// The machine is set up, and its lock the caller's.
    pub(crate) unsafe fn prepare(&self) {
        // SAFETY: by contract; a class that is always alive.
        unsafe { self.marks.has(self.object_class.read()) };
    }

    /// Has `changed` called at events of threads, on these; false if the machine cannot.
    ///
    /// # Safety
    /// The machine is set up, and its lock the caller's.
    pub(crate) unsafe fn watch_threads(&self, changed: Callback, events: u32) -> bool {
        let Some(watch) = self.watch_threads else { return false };
        // SAFETY: by contract.
        unsafe { !watch(changed, events, core::ptr::null_mut()).is_null() }
    }

    /// Has `job` done at the next safe point of a thread that has the machine's lock. Makes nothing, so it may be
    /// called in hooks.
    ///
    /// # Safety
    /// The machine's lock is the caller's.
    pub(crate) unsafe fn postpone(&self, job: Job) {
        // SAFETY: by contract. One that is registered already is not registered twice.
        unsafe { (self.postpone)(0, job, core::ptr::null_mut()) };
    }
}
