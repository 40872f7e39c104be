//! Dumps that Ruby makes of its own heap: `ObjectSpace.dump_all`, a line of JSON for each object.
//!
//! The machine's roots come first, by category; then its objects, with what each refers to. An object's class is told
//! apart from its references, and is one: it lives as long as the object does. Shapes (3.2 and later) are told as if
//! they were objects, and are passed over: nothing refers to them here.

mod line;

use std::io::{self, BufRead};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::graph::{BlockId, Builder, ShapeId, TooLarge};
use crate::heap::{Heap, Kinds, Places, Shape, Shapes};
use crate::lth::Described;
use line::{Class, Line, Type};

pub use line::description;

/// What has been read of a dump.
#[derive(Debug)]
pub struct Dump {
    /// The heap.
    pub heap: Heap,
    /// References to objects that the dump does not have.
    pub missing: u64,
    /// Lines that could not be read.
    pub damage: Option<Damage>,
}

/// Lines of a dump that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, at byte {place}: {reason}{}", more(*.lines))]
pub struct Damage {
    /// How many.
    pub lines: u64,
    /// The first one's number, from 1 on.
    pub line: u64,
    /// Where that begins, in bytes from the beginning of the file.
    pub place: u64,
    /// What is wrong with it.
    pub reason: String,
}

fn more(lines: u64) -> String {
    match lines {
        0 | 1 => String::new(),
        _ => format!("; {} more lines cannot be read", lines - 1),
    }
}

/// Why there is no heap.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// It is something else.
    #[error("expected lines as ObjectSpace.dump_all writes them, found {0}")]
    NoDump(String),
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It has too many objects.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

/// Whether a file that begins so may be a dump of Ruby's heap.
pub fn is_dump(beginning: &[u8]) -> bool {
    let line = beginning.split(|&byte| byte == b'\n').next().unwrap_or_default();
    line.starts_with(b"{\"type\":\"ROOT\"") || line.starts_with(b"{\"address\":\"0x")
}

/// Reads a dump.
///
/// # Errors
/// [`DumpError`]. Of a dump that is damaged in part, what can be read is answered, and the rest is told.
pub fn read(input: impl BufRead) -> Result<Dump, DumpError> {
    read_each(input, |_| ())
}

/// Reads a dump, and what it says of each object.
///
/// # Errors
/// Those of [`read`].
pub fn read_described(input: impl BufRead) -> Result<(Dump, Descriptions), DumpError> {
    let mut descriptions = Descriptions::default();
    let dump = read_each(input, |line| descriptions.add(line))?;
    Ok((dump, descriptions))
}

/// Calls `each` with the line of each object.
fn read_each(mut input: impl BufRead, mut each: impl FnMut(&[u8])) -> Result<Dump, DumpError> {
    let mut reader = Reader::default();
    let (mut text, mut place, mut number) = (Vec::new(), 0, 0);
    loop {
        text.clear();
        let read = input.read_until(b'\n', &mut text)?;
        if read == 0 {
            return reader.finish();
        }
        number += 1;
        if !text.trim_ascii().is_empty() {
            let objects = reader.objects.len();
            if let Err(reason) = reader.take(&text, place) {
                reader.damaged(number, place, reason.to_string());
            }
            if reader.objects.len() > objects {
                each(&text);
            }
        }
        place += read as u64;
    }
}

/// What a dump says of objects beside their classes, in their order.
#[derive(Debug, Default)]
pub struct Descriptions {
    text: String,
    /// By object, where its description ends.
    ends: Vec<usize>,
}

impl Descriptions {
    fn add(&mut self, line: &[u8]) {
        self.text += &description(line);
        self.ends.push(self.text.len());
    }
}

impl Described for Descriptions {
    fn of(&self, heap: &Heap, id: BlockId) -> &str {
        let Some(place) = heap.place_in_file(id) else { return "" };
        let at = place.number as usize;
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.ends.get(at).map_or("", |&end| &self.text[begin..end])
    }
}

/// What has been read so far.
#[derive(Default)]
struct Reader {
    roots: Vec<(Arc<str>, Vec<u64>)>,
    objects: Vec<Object>,
    /// What all objects refer to, as they come.
    references: Vec<u64>,
    names: FxHashSet<Arc<str>>,
    classes: FxHashMap<u64, Class>,
    damage: Option<Damage>,
}

/// An object, with the number of its references.
struct Object {
    address: u64,
    class: u64,
    bytes: u64,
    place: u64,
    references: u32,
    kind: Type,
    /// What tells it apart beside its type and class.
    detail: Option<Arc<str>>,
}

impl Object {
    /// Whether the machine has its class live as long as the object: not what a call has found a method by, which is
    /// forgotten with the class, nor what is of a class that lives for ever.
    fn holds_class(&self) -> bool {
        match self.kind {
            Type::IMemo => self.detail.as_deref() != Some("callcache"),
            Type::Float | Type::Bignum | Type::Symbol => false,
            _ => true,
        }
    }
}

/// A chain of classes is not longer.
const DEEPEST: usize = 64;

impl Reader {
    fn take(&mut self, text: &[u8], place: u64) -> serde_json::Result<()> {
        // What is known to be UTF-8 as a whole is not looked at again, string by string.
        let line: Line<'_> = match std::str::from_utf8(text) {
            Ok(text) => serde_json::from_str(text)?,
            Err(_) => serde_json::from_slice(text)?,
        };
        let references = line.references.iter().map(|address| address.0);
        match line.kind {
            Type::Root => {
                let name = line.root.unwrap_or_default();
                let at = self.roots.iter().position(|(known, _)| **known == *name);
                let at = at.unwrap_or_else(|| {
                    self.roots.push((name.into(), Vec::new()));
                    self.roots.len() - 1
                });
                self.roots[at].1.extend(references);
            }
            Type::Shape => {}
            kind => {
                self.references.extend(references);
                let address = line.address.map(|address| address.0).unwrap_or_default();
                let class = line.class.map(|address| address.0).unwrap_or_default();
                if matches!(kind, Type::Class | Type::Module | Type::IClass) {
                    self.classes.insert(address, line.as_class());
                }
                let detail = line.detail().map(|name| self.name(name));
                self.objects.push(Object {
                    address,
                    class,
                    bytes: line.memsize.unwrap_or_default(),
                    place,
                    references: line.references.len() as u32,
                    kind,
                    detail,
                });
            }
        }
        Ok(())
    }

    /// A name, once.
    fn name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        self.names.insert(Arc::clone(&name));
        name
    }

    fn damaged(&mut self, line: u64, place: u64, reason: String) {
        match &mut self.damage {
            Some(damage) => damage.lines += 1,
            None => self.damage = Some(Damage { lines: 1, line, place, reason }),
        }
    }

    fn finish(self) -> Result<Dump, DumpError> {
        if self.objects.is_empty() {
            let found = self.damage.map_or("nothing".to_owned(), |damage| damage.to_string());
            return Err(DumpError::NoDump(found));
        }
        let first = 1 + self.roots.len() as u64;
        let number = |at: usize| BlockId(u32::try_from(first + at as u64).unwrap_or(u32::MAX));
        let numbers: FxHashMap<u64, BlockId> =
            self.objects.iter().enumerate().map(|(at, it)| (it.address, number(at))).collect();
        let mut missing = 0;
        let mut block = |address: &u64| {
            let found = numbers.get(address).copied();
            missing += u64::from(found.is_none());
            found
        };
        let mut kinds = Kinds::default();
        let mut shapes = Shapes::default();
        let mut builder = Builder::new(self.roots.len())?;
        for (_, references) in &self.roots {
            builder.add_shaped(ShapeId::ROOT, references.iter().filter_map(&mut block))?;
        }
        let mut rest = &self.references[..];
        for object in &self.objects {
            let (own, others) = rest.split_at(object.references as usize);
            // What the machine keeps in the place of the class of its own objects may be anything.
            let is_class = object.class != 0
                && object.holds_class()
                && (!object.kind.is_internal() || numbers.contains_key(&object.class));
            let class = is_class.then_some(&object.class);
            let kind = kinds.number(self.kind(object), object.kind.form());
            let shape = Shape { kind, bytes: object.bytes, outside: 0, fields: 0, pattern: 0 };
            let references = own.iter().chain(class).filter_map(&mut block);
            builder.add_shaped(shapes.number(shape), references)?;
            rest = others;
        }
        let heap = Heap {
            graph: builder.finish_with(shapes.sizes()),
            roots: self.roots.iter().map(|(name, _)| Arc::clone(name)).collect(),
            kinds: kinds.names,
            forms: kinds.forms,
            shapes: shapes.all,
            addresses: self.objects.iter().map(|it| it.address).collect(),
            places: Places::Each(self.objects.iter().map(|it| it.place).collect()),
            slots: Vec::new(),
        };
        Ok(Dump { heap, missing, damage: self.damage })
    }

    /// What an object's kind is called: as the agent calls the classes of samples.
    fn kind(&self, object: &Object) -> String {
        match (object.kind, &object.detail) {
            (Type::Class, _) => "Class".to_owned(),
            (Type::Module, _) => "Module".to_owned(),
            (kind, Some(detail)) if kind.is_internal() => {
                format!("internal {} {detail}", kind.name())
            }
            (kind, None) if kind.is_internal() => format!("internal {}", kind.name()),
            (kind, detail) => self.class_name(object.class).unwrap_or_else(|| match detail {
                Some(detail) => format!("internal {} {detail}", kind.name()),
                None => format!("internal {}", kind.name()),
            }),
        }
    }

    /// The name of a class, or of the nearest one that it descends from; none if there is none.
    fn class_name(&self, address: u64) -> Option<String> {
        let up = |at: &u64| self.classes.get(at).map(|class| class.superclass);
        let chain = std::iter::successors(Some(address), up).take(DEEPEST);
        let mut is_own = true;
        for class in chain.map_while(|at| self.classes.get(&at)) {
            match &class.name {
                Some(name) if is_own => return Some(name.to_string()),
                Some(name) => return Some(format!("anonymous, of {name}")),
                // What has methods of its own is called as others of its class.
                None => is_own &= class.is_singleton,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
