//! Values of OCaml's, as a graph: blocks by number.

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// An integer, a constant constructor. What does not fit is something else.
    Int(i32),
    /// A block with fields.
    Block(BlockId),
    /// A string.
    String(StringId),
    /// A number with a box, a block without fields: nothing that types are made of.
    Other,
}

/// The number of a block with fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BlockId(pub(crate) u32);

/// The number of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StringId(pub(crate) u32);

/// A graph of values.
#[derive(Debug, Default)]
pub(crate) struct Values {
    pub(crate) blocks: Vec<Head>,
    pub(crate) fields: Vec<Value>,
    /// Where each is among the bytes.
    pub(crate) strings: Vec<(u32, u32)>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) root: Option<Value>,
}

/// A block: its tag, and where its fields are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) tag: u8,
    pub(crate) first: u32,
    pub(crate) count: u32,
}

impl Values {
    /// The tag and the fields of a block; nothing of another value.
    pub(crate) fn block(&self, value: Value) -> Option<(u8, &[Value])> {
        let Value::Block(BlockId(id)) = value else { return None };
        let head = self.blocks.get(id as usize)?;
        let first = head.first as usize;
        Some((head.tag, self.fields.get(first..first + head.count as usize)?))
    }

    /// The fields of a block with that tag and so many of them.
    pub(crate) fn fields<const N: usize>(&self, value: Value, tag: u8) -> Option<&[Value; N]> {
        let (own, fields) = self.block(value)?;
        if own == tag { fields.try_into().ok() } else { None }
    }

    /// What a string says.
    pub(crate) fn string(&self, value: Value) -> Option<&str> {
        let Value::String(StringId(id)) = value else { return None };
        let &(first, length) = self.strings.get(id as usize)?;
        std::str::from_utf8(self.bytes.get(first as usize..(first + length) as usize)?).ok()
    }

    /// The elements of a list; `None` if it is none, or has more than so many.
    pub(crate) fn list(&self, value: Value, most: usize) -> Option<Vec<Value>> {
        let (mut rest, mut elements) = (value, Vec::new());
        while let Some(&[first, next]) = self.fields(rest, 0) {
            if elements.len() >= most {
                return None;
            }
            elements.push(first);
            rest = next;
        }
        (rest == Value::Int(0)).then_some(elements)
    }

    /// What an option has, if it is one.
    pub(crate) fn option(&self, value: Value) -> Option<Option<Value>> {
        match value {
            Value::Int(0) => Some(None),
            some => self.fields(some, 0).map(|&[it]| Some(it)),
        }
    }
}
