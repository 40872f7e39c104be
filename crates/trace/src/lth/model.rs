//! What a snapshot tells.

use std::sync::Arc;

/// Where a block, or the slot of a root, was in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u64);

/// The number of a kind, in the order in which a snapshot tells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindId(pub u32);

/// The number of a site, in the order in which a snapshot tells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteId(pub u32);

/// The number of a block, in the order in which a snapshot tells them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockNumber(pub u64);

/// What a runtime tells blocks apart by: a class, a tag, a function of closures.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    /// What people call it.
    pub name: Arc<str>,
    /// What its blocks are.
    pub form: Form,
}

/// What blocks of a kind are, whatever the runtime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Form {
    /// Nobody says, or a later version does.
    #[default]
    Other,
    /// Fields: tuples, records, constructors, arrays.
    Fields,
    /// Bytes of a string.
    String,
    /// A floating-point number.
    Float,
    /// Floating-point numbers.
    FloatArray,
    /// A function with what it has caught.
    Closure,
    /// An object with methods.
    Object,
    /// A value that is not computed yet.
    Lazy,
    /// A value that was, and stands for another block.
    Forward,
    /// Nobody but C code knows.
    Abstract,
    /// As [`Form::Abstract`], with operations that have a name.
    Custom,
    /// A suspended stack.
    Continuation,
    /// An instance of the class that the kind is named after.
    Instance,
    /// What a runtime keeps for itself.
    Internal,
}

/// What holds blocks without being one: a slot of a global, of a stack, of the runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// What sort of root that is: `globals`, `stack`, `finalisers`.
    pub category: Arc<str>,
    /// What people call it: `camlCache slot 4`.
    pub name: Option<Arc<str>>,
    /// Where it is; 0 if nobody knows.
    pub slot: Address,
    /// What it holds.
    pub to: Field,
}

/// What a field, or a root, has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// No reference.
    Value,
    /// A reference to the next block that nothing before referred to in this way. The first one is to the first block of
    /// the snapshot, the second to the second one, and so on.
    Next,
    /// A reference to the block at that address, which is told of anywhere.
    To(Address),
    /// A reference to what is no block of the heap.
    Outside,
}

/// A block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// Where it is: a multiple of the length of a word.
    pub address: Address,
    /// What it takes on the heap, with the runtime's header.
    pub bytes: u64,
    /// What it takes elsewhere: bigarrays, what was allocated by malloc for it.
    pub outside: u64,
    /// What it is.
    pub kind: KindId,
    /// What it has, in order.
    pub fields: &'a [Field],
    /// What else there is to say of it, for people: the beginning of a string.
    pub detail: Option<&'a str>,
}

/// A place in the program: the backtrace that blocks were allocated with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Site {
    /// The innermost first.
    pub frames: Vec<Frame>,
}

/// One frame of a site; nothing in it needs to be known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The function's name.
    pub function: Arc<str>,
    /// Where it is written.
    pub file: Arc<str>,
    /// From 1 on; 0 if nobody knows.
    pub line: u32,
}

/// A block that was sampled at its birth, and lived when the snapshot was made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// What the trace calls it.
    pub id: u64,
    /// Where it is now.
    pub address: Address,
    /// Where it was allocated.
    pub site: SiteId,
    /// How many blocks as this one it stands for.
    pub weight: f64,
    /// When it was allocated, in nanoseconds since the Unix epoch; 0 if nobody knows.
    pub born: u64,
}

const FORMS: [Form; 14] = [
    Form::Other,
    Form::Fields,
    Form::String,
    Form::Float,
    Form::FloatArray,
    Form::Closure,
    Form::Object,
    Form::Lazy,
    Form::Forward,
    Form::Abstract,
    Form::Custom,
    Form::Continuation,
    Form::Instance,
    Form::Internal,
];

impl Form {
    /// As snapshots have it.
    pub(super) fn number(self) -> u8 {
        self as u8
    }

    /// [`Form::Other`], if a later version gave it a meaning.
    pub(super) fn from_number(number: u8) -> Self {
        FORMS.get(usize::from(number)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_have_numbers() {
        for form in FORMS {
            assert_eq!(Form::from_number(form.number()), form);
        }
        assert_eq!(Form::from_number(200), Form::Other);
    }
}
