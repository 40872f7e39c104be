//! What the child that walks a heap says of it, as bytes and back, side by side.
//!
//! A packet of the connection has whole items, but a block's fields may go on in the next; each item begins with a number, and all numbers are in seven-bit groups,
//! lowest first:
//!
//! ```text
//! 0  kind      form, word, bytes of its name, name         numbered in their order, from 0 on
//! 1  root      category, frame plus one or 0, slot, reference
//! 2  sample    id, address
//! 3  end       ending, blocks, bytes, nanoseconds of processor time, bytes of memory
//! 4  category  bytes of its name, name                     numbered in their order, from 0 on
//! 5  frame     code, line, bytes of function, function, bytes of file, file
//!                                                          numbered in their order, from 0 on
//! 8+ block     of that kind less 8: address, bytes, bytes outside, fields
//!
//! fields       0 end  1 next  2 value  3 values, count  4 outside  5+ a block's address
//! ```
//!
//! An address is told as the difference from that of the block told of last, in words, its sign in the lowest bit: blocks
//! that were allocated one after the other lie and are found so. Sizes are in bytes. A field that is *next* refers to the block that comes next of those that nothing has referred to before: blocks are told of in
//! the order in which they are found, so that most references need no address.

/// Longest packet, in bytes.
pub const MOST_BYTES: usize = 1 << 16;

/// Longest name, in bytes; what is longer is cut.
pub const MOST_NAME: usize = 1024;

/// Any item but a block takes no more than this.
pub const MOST_ITEM: usize = 2 * MOST_NAME + 64;

/// Room for a field.
pub const MOST_FIELD: usize = 22;

/// Room for a block without its fields.
pub const MOST_BLOCK: usize = 44;

const KIND: u64 = 0;
const ROOT: u64 = 1;
const SAMPLE: u64 = 2;
const END: u64 = 3;
const CATEGORY: u64 = 4;
const FRAME: u64 = 5;
const FIRST_BLOCK: u64 = 8;

const LAST: u64 = 0;
const NEXT: u64 = 1;
const VALUE: u64 = 2;
const VALUES: u64 = 3;
const OUTSIDE: u64 = 4;
const FIRST_ADDRESS: u64 = 5;

/// What sort of block it is, whatever the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Form {
    /// Fields, of a tuple, a record, a constructor; its word is the tag.
    Fields = 0,
    /// Bytes.
    String = 1,
    /// A floating-point number.
    Float = 2,
    /// Several.
    Floats = 3,
    /// A function with its environment; its word is where its code is.
    Closure = 4,
    /// An object with methods.
    Object = 5,
    /// Work that is not done yet.
    Lazy = 6,
    /// In place of another block.
    Forward = 7,
    /// What only C code understands.
    Abstract = 8,
    /// With functions of its own; its word is where these are.
    Custom = 9,
    /// A stack that waits to be gone on with.
    Continuation = 10,
    /// What is followed only if other blocks live: an ephemeron, a weak array.
    Ephemeron = 11,
    /// Of a class.
    Instance = 12,
    /// What a runtime keeps for itself.
    Internal = 13,
}

impl Form {
    /// All of them, in the order of their numbers.
    pub const ALL: [Form; 14] = [
        Form::Fields,
        Form::String,
        Form::Float,
        Form::Floats,
        Form::Closure,
        Form::Object,
        Form::Lazy,
        Form::Forward,
        Form::Abstract,
        Form::Custom,
        Form::Continuation,
        Form::Ephemeron,
        Form::Instance,
        Form::Internal,
    ];
}

/// How a walk has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ending {
    /// All that the roots hold has been told.
    Whole = 0,
    /// It would have taken more memory than was allowed.
    Memory = 1,
}

/// What a field refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The next block that nothing has referred to before.
    Next,
    /// So many fields without a reference.
    Values(u64),
    /// Something that is no block of the heap.
    Outside,
    /// The block at that address.
    To(u64),
}

/// An item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A kind of blocks.
    Kind {
        /// Its sort.
        form: Form,
        /// What tells it apart from others of its sort.
        word: u64,
        /// What the runtime calls it; may be empty.
        name: &'a [u8],
    },
    /// A category of roots.
    Category(&'a [u8]),
    /// A frame of a stack: where its code returns to, and what is known of that place.
    Frame(FramePlace<'a>),
    /// What holds a block without being one.
    Root {
        /// Among the categories.
        category: u64,
        /// Among the frames, if it is on a stack that is known.
        frame: Option<u64>,
        /// Where it is; 0 if nobody knows.
        slot: u64,
        /// Never values, nor outside.
        to: Field,
    },
    /// Where a sampled block is.
    Sample {
        /// The sample's number.
        id: u64,
        /// The block's address.
        address: u64,
    },
    /// There is no more.
    End(Summary),
    /// A block; its fields follow, each by [`Decoder::field`].
    Block(Head),
}

/// Code that has called something, and waits for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FramePlace<'a> {
    /// The address to which the call returns.
    pub code: u64,
    /// Of the call, in the file; 0 if nobody knows.
    pub line: u64,
    /// The function's name; empty if nobody knows.
    pub function: &'a [u8],
    /// The source file's name; empty if nobody knows.
    pub file: &'a [u8],
}

/// A block without its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Among the kinds.
    pub kind: u64,
    /// Of what references lead to.
    pub address: u64,
    /// Its bytes, with its header, if it has one.
    pub bytes: u64,
    /// What belongs to it and is elsewhere, in bytes.
    pub outside: u64,
}

/// What there was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Whether that is all.
    pub ending: Ending,
    /// Number of blocks.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Processor time of the child, in nanoseconds.
    pub cpu_nanos: u64,
    /// The child's own memory, in bytes.
    pub memory: u64,
}

/// Writes items one after the other into memory; whoever does so sees to it that there is room ([`MOST_ITEM`],
/// [`MOST_BLOCK`], [`MOST_FIELD`]): what has none is left out.
#[derive(Debug)]
pub struct Encoder<'a> {
    bytes: &'a mut [u8],
    used: usize,
    last: u64,
}

impl<'a> Encoder<'a> {
    /// Into these bytes.
    pub fn new(bytes: &'a mut [u8]) -> Encoder<'a> {
        Encoder { bytes, used: 0, last: 0 }
    }

    /// How many bytes are left.
    #[inline]
    pub fn room(&self) -> usize {
        self.bytes.len() - self.used
    }

    /// What has been written since this was asked last.
    pub fn take(&mut self) -> &[u8] {
        let used = core::mem::take(&mut self.used);
        &self.bytes[..used]
    }

    /// An item, but for a block.
    pub fn put(&mut self, item: &Item<'_>) {
        match *item {
            Item::Kind { form, word, name } => {
                self.numbers([KIND, form as u64, word]);
                self.name(name);
            }
            Item::Category(name) => {
                self.number(CATEGORY);
                self.name(name);
            }
            Item::Frame(FramePlace { code, line, function, file }) => {
                self.numbers([FRAME, code, line]);
                self.name(function);
                self.name(file);
            }
            Item::Root { category, frame, slot, to } => {
                self.numbers([ROOT, category, frame.map_or(0, |frame| frame + 1), slot]);
                self.field(to);
            }
            Item::Sample { id, address } => self.numbers([SAMPLE, id, address]),
            Item::End(Summary { ending, blocks, bytes, cpu_nanos, memory }) => {
                self.numbers([END, ending as u64, blocks, bytes, cpu_nanos, memory]);
            }
            Item::Block(head) => self.block(&head),
        }
    }

    /// A block; its fields, and [`end_of_fields`](Self::end_of_fields), are to follow.
    #[inline]
    pub fn block(&mut self, &Head { kind, address, bytes, outside }: &Head) {
        let distance = self.distance(address);
        self.last = address;
        self.numbers([FIRST_BLOCK + kind, distance, bytes, outside]);
    }

    /// A field of the block that was begun last.
    #[inline]
    pub fn field(&mut self, field: Field) {
        match field {
            Field::Next => self.number(NEXT),
            Field::Values(1) => self.number(VALUE),
            Field::Values(count) => self.numbers([VALUES, count]),
            Field::Outside => self.number(OUTSIDE),
            Field::To(address) => self.number(FIRST_ADDRESS + self.distance(address)),
        }
    }

    /// After a block's last field.
    #[inline]
    pub fn end_of_fields(&mut self) {
        self.number(LAST);
    }

    #[inline]
    fn distance(&self, address: u64) -> u64 {
        let words = (address as i64).wrapping_sub(self.last as i64) / WORD as i64;
        (words << 1 ^ words >> 63) as u64
    }

    fn name(&mut self, name: &[u8]) {
        let name = &name[..name.len().min(MOST_NAME)];
        self.number(name.len() as u64);
        if let Some(to) = self.bytes.get_mut(self.used..self.used + name.len()) {
            to.copy_from_slice(name);
            self.used += name.len();
        }
    }

    #[inline]
    fn numbers<const N: usize>(&mut self, numbers: [u64; N]) {
        for number in numbers {
            self.number(number);
        }
    }

    #[inline(always)]
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    #[inline(always)]
    fn byte(&mut self, byte: u8) {
        if let Some(to) = self.bytes.get_mut(self.used) {
            *to = byte;
            self.used += 1;
        }
    }
}

const WORD: u64 = 8;

/// A packet is not what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Reads the items of packets, in the order of these.
#[derive(Clone, Copy, Debug, Default)]
pub struct Decoder<'a> {
    bytes: &'a [u8],
    last: u64,
}

impl<'a> Decoder<'a> {
    /// Goes on with the next packet, when the one before is used up.
    pub fn next_packet<'b>(&self, bytes: &'b [u8]) -> Decoder<'b> {
        Decoder { bytes, last: self.last }
    }

    /// Whether the packet is used up.
    pub fn is_used_up(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next item; none at the end of the packet.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn item(&mut self) -> Result<Option<Item<'a>>, Malformed> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let item = match self.number()? {
            KIND => {
                let form = *Form::ALL.get(self.number()? as usize).ok_or(Malformed)?;
                Item::Kind { form, word: self.number()?, name: self.name()? }
            }
            ROOT => self.root()?,
            SAMPLE => Item::Sample { id: self.number()?, address: self.number()? },
            END => Item::End(self.summary()?),
            CATEGORY => Item::Category(self.name()?),
            FRAME => Item::Frame(FramePlace {
                code: self.number()?,
                line: self.number()?,
                function: self.name()?,
                file: self.name()?,
            }),
            block => self.block(block.checked_sub(FIRST_BLOCK).ok_or(Malformed)?)?,
        };
        Ok(Some(item))
    }

    /// The next field of a block; none after its last.
    ///
    /// # Errors
    /// [`Malformed`].
    #[inline]
    pub fn field(&mut self) -> Result<Option<Field>, Malformed> {
        Ok(Some(match self.number()? {
            LAST => return Ok(None),
            NEXT => Field::Next,
            VALUE => Field::Values(1),
            VALUES => Field::Values(self.number()?),
            OUTSIDE => Field::Outside,
            address => Field::To(self.address(address - FIRST_ADDRESS)),
        }))
    }

    fn block(&mut self, kind: u64) -> Result<Item<'a>, Malformed> {
        let distance = self.number()?;
        let address = self.address(distance);
        self.last = address;
        Ok(Item::Block(Head { kind, address, bytes: self.number()?, outside: self.number()? }))
    }

    fn root(&mut self) -> Result<Item<'a>, Malformed> {
        let category = self.number()?;
        let frame = self.number()?.checked_sub(1);
        let slot = self.number()?;
        match self.field()? {
            Some(to @ (Field::Next | Field::To(_))) => Ok(Item::Root { category, frame, slot, to }),
            _ => Err(Malformed),
        }
    }

    fn summary(&mut self) -> Result<Summary, Malformed> {
        let ending = match self.number()? {
            0 => Ending::Whole,
            1 => Ending::Memory,
            _ => return Err(Malformed),
        };
        Ok(Summary {
            ending,
            blocks: self.number()?,
            bytes: self.number()?,
            cpu_nanos: self.number()?,
            memory: self.number()?,
        })
    }

    #[inline]
    fn address(&self, distance: u64) -> u64 {
        let words = (distance >> 1) as i64 ^ -((distance & 1) as i64);
        self.last.wrapping_add((words as u64).wrapping_mul(WORD))
    }

    fn name(&mut self) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(self.number()?).map_err(|_| Malformed)?;
        let (name, rest) = self.bytes.split_at_checked(length).ok_or(Malformed)?;
        self.bytes = rest;
        Ok(name)
    }

    #[inline]
    fn number(&mut self) -> Result<u64, Malformed> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.bytes.split_first().ok_or(Malformed)?;
            self.bytes = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Malformed)
    }
}
