//! What class an object is of, and what classes are called. \[UNSAFE\]

use crate::kind;
use crate::symbols::{Value, function};
use crate::texts::Texts;

/// No class descends from another through more.
const DEEPEST: usize = 64;

type OfValue = unsafe extern "C" fn(Value) -> Value;

/// The machine's functions for classes.
#[derive(Debug)]
pub(crate) struct Classes {
    ractor: Option<*const Value>,
    superclass: OfValue,
    real: OfValue,
    path: OfValue,
    texts: Texts,
    nil: Value,
}

impl Classes {
    /// `None` if any is missing. `nil` is the machine's.
    pub(crate) fn find(texts: Texts, nil: Value) -> Option<Classes> {
        // SAFETY: of these types in all versions since 2.7, as their headers say.
        unsafe {
            Some(Classes {
                ractor: function(c"rb_cRactor"),
                superclass: function(c"rb_class_superclass")?,
                real: function(c"rb_class_real")?,
                path: function(c"rb_class_path_cached")?,
                texts,
                nil,
            })
        }
    }

    /// Whether a new object is a ractor.
    ///
    /// # Safety
    /// The object of an event `NEWOBJ`, in its hook.
    pub(crate) unsafe fn is_ractor(&self, object: Value) -> bool {
        let Some(ractor) = self.ractor else { return false };
        // SAFETY: an object begins with its flags and its class, of which both are there by then; the exported variable.
        let ([_, class], ractor) = unsafe { ((object as *const [Value; 2]).read(), ractor.read()) };
        // SAFETY: the class of an object of that type.
        unsafe { kind::is_data(object) && class != 0 && self.descends(class, ractor) }
    }

    /// # Safety
    /// Both are classes.
    unsafe fn descends(&self, mut class: Value, from: Value) -> bool {
        for _ in 0..DEEPEST {
            if class == from || class == 0 || class == self.nil {
                return class == from;
            }
            // SAFETY: by contract; makes no objects.
            class = unsafe { (self.superclass)(class) };
        }
        false
    }

    /// The class of a new object; none if it is one of the machine's own, which programs do not see.
    ///
    /// # Safety
    /// The object of an event `NEWOBJ`, in its hook.
    pub(crate) unsafe fn of(&self, object: Value) -> Option<Value> {
        // SAFETY: an object begins with its flags and, if it is not of the machine's own types, its class: both are there
        // by then. A class's real one is found without making anything.
        unsafe {
            let [flags, class] = (object as *const [Value; 2]).read();
            let has_class = class != 0 && !kind::are_internal(flags);
            let class = has_class.then(|| (self.real)(class));
            class.filter(|&class| class != 0)
        }
    }

    /// The class itself, or the nearest that it descends from, that objects are said to be of. Makes nothing.
    ///
    /// # Safety
    /// A class that is alive.
    #[inline]
    pub(crate) unsafe fn real(&self, class: Value) -> Value {
        // SAFETY: by contract.
        unsafe { (self.real)(class) }
    }

    /// The name of a class, or of the nearest one that it descends from and that has a name: whether it is its own.
    /// Makes nothing.
    ///
    /// # Safety
    /// The machine's lock is the caller's; a class that is alive. To be used before the machine does anything.
    pub(crate) unsafe fn name(&self, class: Value) -> Option<(&'static [u8], bool)> {
        // SAFETY: by contract; what a class descends from is alive.
        let name = |of: Value| unsafe { self.texts.bytes((self.path)(of)) };
        let outwards = |of: &Value| {
            // SAFETY: as above.
            let next = unsafe { (self.superclass)(*of) };
            (next != 0 && next != self.nil).then_some(next)
        };
        let ancestors = core::iter::successors(Some(class), outwards).take(DEEPEST);
        let mut named = ancestors.filter_map(|of| Some((name(of)?, of == class)));
        named.next()
    }
}
