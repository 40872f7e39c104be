//! What the machine tells of its objects. \[UNSAFE\]
//!
//! All of these functions read: they make no objects, and ask malloc for nothing (`gc.c`, 3.1 to 3.4), but
//! [`each_page`](Space::each_page). What C extensions have their own functions for may do otherwise.

use core::ffi::{CStr, c_char, c_int, c_void};

use lifetrace_agent::snapshot::walk::Block;
use lifetrace_transport::stream::Form;

use super::name::Name;
use crate::kind;
use crate::symbols::function;
use crate::vm::{Value, Vm};

type PageCallback = unsafe extern "C" fn(*mut c_void, *mut c_void, usize, *mut c_void) -> c_int;
pub(super) type ObjectCallback = unsafe extern "C" fn(Value, *mut c_void);
pub(super) type RootCallback = unsafe extern "C" fn(*const c_char, Value, *mut c_void);

/// Its functions.
pub(super) struct Space {
    vm: &'static Vm,
    pub(super) each_page: Option<unsafe extern "C" fn(PageCallback, *mut c_void)>,
    pub(super) from_object: unsafe extern "C" fn(Value, ObjectCallback, *mut c_void),
    pub(super) from_roots: unsafe extern "C" fn(RootCallback, *mut c_void),
    memory_of: unsafe extern "C" fn(Value) -> usize,
    internal_name: unsafe extern "C" fn(c_int) -> *const c_char,
    type_name: unsafe extern "C" fn(Value) -> *const c_char,
}

/// An object, as the recorder is to be told.
#[derive(Clone, Copy)]
pub(super) struct Object {
    address: Value,
    flags: Value,
    /// What it is an instance of, singleton classes passed over; 0 if programs do not see it.
    class: Value,
}

/// Of the machine's own objects, bits of their flags have the sort.
const SORT: u32 = 12;
const SORTS: Value = 0xf;

impl Space {
    /// `None` if the machine does not export what is needed.
    pub(super) fn find(vm: &'static Vm) -> Option<Space> {
        // SAFETY: of these types in all versions since 2.7, as their headers say.
        unsafe {
            Some(Space {
                vm,
                each_page: function(c"rb_objspace_each_objects_without_setup"),
                from_object: function(c"rb_objspace_reachable_objects_from")?,
                from_roots: function(c"rb_objspace_reachable_objects_from_root")?,
                memory_of: function(c"rb_obj_memsize_of")?,
                internal_name: function(c"rb_imemo_name")?,
                type_name: function(c"rb_objspace_data_type_name")?,
            })
        }
    }

    /// Whether the last collection has not swept everything yet.
    ///
    /// # Safety
    /// The machine's lock is the caller's, outside of hooks and collections.
    pub(super) unsafe fn is_sweeping(&self) -> bool {
        // SAFETY: by contract.
        unsafe { self.vm.is_sweeping() }
    }

    /// What is in a slot.
    ///
    /// # Safety
    /// A slot of the machine's.
    #[inline]
    pub(super) unsafe fn object(&self, address: Value) -> Object {
        // SAFETY: a slot begins with its object's flags, and with its class unless that is of the machine's own types.
        let [flags, class] = unsafe { (address as *const [Value; 2]).read() };
        let has_class = class != 0 && !kind::are_internal(flags) && !kind::are_absent(flags);
        // SAFETY: an object's class lives.
        let class = if has_class { unsafe { self.vm.classes.real(class) } } else { 0 };
        Object { address, flags, class }
    }

    /// # Safety
    /// The object lives.
    #[inline]
    pub(super) unsafe fn block(&self, object: &Object) -> Block {
        let address = object.address as u64;
        let form = if kind::are_internal(object.flags) { Form::Internal } else { Form::Instance };
        // SAFETY: by contract.
        let (word, bytes) = unsafe { (self.word(object), self.bytes(object)) };
        Block { address, form, word, bytes, outside: 0 }
    }

    /// What the object takes with all that is its own, as `ObjectSpace.memsize_of` says.
    ///
    /// # Safety
    /// The object lives.
    unsafe fn bytes(&self, object: &Object) -> u64 {
        match kind::are_freed(object.flags) {
            true => 0,
            // SAFETY: by contract.
            false => unsafe { (self.memory_of)(object.address) as u64 },
        }
    }

    /// What tells its kind apart from others: small numbers, or addresses.
    ///
    /// # Safety
    /// The object lives.
    unsafe fn word(&self, object: &Object) -> u64 {
        let kind = object.flags & kind::MASK;
        match kind {
            kind::CLASS | kind::MODULE => kind as u64,
            kind::INTERNAL => (kind | (object.flags >> SORT & SORTS) << 8) as u64,
            _ if object.class != 0 => object.class as u64,
            // SAFETY: by contract.
            kind::DATA => unsafe { (self.type_name)(object.address) as u64 }.max(kind as u64),
            _ => kind as u64,
        }
    }

    /// What its kind is called: as `lifetrace heap` calls that of a dump's objects.
    ///
    /// # Safety
    /// The object lives.
    pub(super) unsafe fn name<'n>(&self, object: &Object, name: &'n mut Name) -> &'n [u8] {
        let number = object.flags & kind::MASK;
        // SAFETY: by contract; a class that lives.
        let class = (object.class != 0).then(|| unsafe { self.vm.classes.name(object.class) });
        let own = kind::name(number as u32).as_bytes();
        match (number, class.flatten()) {
            (kind::CLASS, _) => name.of(&[b"Class"]),
            (kind::MODULE, _) => name.of(&[b"Module"]),
            (_, Some((class, true))) => name.of(&[class]),
            (_, Some((class, false))) => name.of(&[b"anonymous, of ", class]),
            // SAFETY: by contract; a string, or null.
            (_, None) => match unsafe { self.detail(object) } {
                Some(detail) => name.of(&[b"internal ", own, b" ", detail]),
                None => name.of(&[b"internal ", own]),
            },
        }
    }

    /// # Safety
    /// The object lives.
    unsafe fn detail(&self, object: &Object) -> Option<&'static [u8]> {
        let sort = (object.flags >> SORT & SORTS) as c_int;
        // SAFETY: by contract; names of types stay.
        unsafe {
            let text = match object.flags & kind::MASK {
                kind::INTERNAL => (self.internal_name)(sort),
                kind::DATA => (self.type_name)(object.address),
                _ => return None,
            };
            (!text.is_null()).then(|| CStr::from_ptr(text).to_bytes())
        }
    }
}

impl Object {
    /// Where it is.
    pub(super) fn address(&self) -> Value {
        self.address
    }

    /// Whether there is one: the slot is not empty, and was not left when its object was moved.
    pub(super) fn exists(&self) -> bool {
        !kind::are_absent(self.flags)
    }

    /// Whether it may refer to others, and can be asked.
    pub(super) fn has_references(&self) -> bool {
        !kind::are_freed(self.flags)
    }
}
