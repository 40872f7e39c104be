//! Locations to bytes and back.
//!
//! A frame's code, the number of its locations, and for each of these 48 bits and the names that are
//! not among the last 31: one move-to-front table of file names, and for each file in it one of the
//! functions met in that file.

use std::sync::Arc;

use super::backtrace_codec::canonical;
use super::cursor::{Cursor, PutFields, until_nul};
use super::error::Fault;
use crate::event::Location;
use crate::ids::LocationCode;

/// Longest location event, the four bytes of its event header included.
pub(super) const MAX_LEN: usize = 4096;

/// The code of a name that is not in its table, and the number of names in a full one.
const NEW_NAME: usize = 31;

const HEAD_LEN: usize = 4 + 8 + 1;
const FIELDS_LEN: usize = 6;

const LINE_BITS: u32 = 20;
const START_BITS: u32 = 8;
const END_BITS: u32 = 10;
const NAME_BITS: u32 = 5;

/// The writer's side.
#[derive(Default)]
pub(super) struct Encoder {
    files: FileTable,
}

impl Encoder {
    /// Appends what follows the event header. Locations that would take more than [`MAX_LEN`] are
    /// replaced by one that is unknown.
    pub(super) fn encode(&mut self, code: LocationCode, locations: &[Location], out: &mut Vec<u8>) {
        if locations.len() > u8::MAX.into() || longest(locations) > MAX_LEN {
            return self.encode(code, &[unknown()], out);
        }
        out.put_u64(canonical(code));
        out.put_u8(locations.len() as u8);
        for location in locations {
            self.encode_location(location, out);
        }
    }

    fn encode_location(&mut self, location: &Location, out: &mut Vec<u8>) {
        let filename = until_nul(&location.filename);
        let defname = until_nul(&location.defname);
        let file_code = self.files.position(|file| &*file.name == filename);
        if file_code == NEW_NAME {
            self.files.push(File { name: filename.into(), defnames: Table::default() });
        } else {
            self.files.bring_to_front(file_code);
        }
        let defnames = &mut self.files.front().defnames;
        let defname_code = defnames.position(|name| &**name == defname);
        if defname_code == NEW_NAME {
            defnames.push(defname.into());
        } else {
            defnames.bring_to_front(defname_code);
        }
        Fields::of(location, file_code, defname_code).encode(out);
        if file_code == NEW_NAME {
            out.put_string(filename);
        }
        if defname_code == NEW_NAME {
            out.put_string(defname);
        }
    }
}

/// The reader's side.
#[derive(Default)]
pub(super) struct Decoder {
    files: FileTable,
}

impl Decoder {
    pub(super) fn decode(
        &mut self,
        cursor: &mut Cursor<'_>,
    ) -> Result<(LocationCode, Box<[Location]>), Fault> {
        let code = LocationCode(canonical(LocationCode(cursor.u64()?)));
        let count = cursor.u8()?;
        let locations = (0..count).map(|_| self.decode_location(cursor));
        Ok((code, locations.collect::<Result<_, _>>()?))
    }

    fn decode_location(&mut self, cursor: &mut Cursor<'_>) -> Result<Location, Fault> {
        let fields = Fields::decode(cursor)?;
        self.find_file(fields.file_code, cursor)?;
        let file = self.files.front();
        if fields.defname_code == NEW_NAME {
            file.defnames.push(cursor.string()?.into());
        } else if !file.defnames.bring_to_front(fields.defname_code) {
            return Err(no_such_name(fields.defname_code));
        }
        Ok(Location {
            filename: file.name.clone(),
            line: fields.line,
            start_char: fields.start_char,
            end_char: fields.end_char,
            defname: file.defnames.front().clone(),
        })
    }

    /// Brings the file to the front. A new one inherits the functions of the one it pushes out, as
    /// it does in version 1's writer; later writers do not refer to these.
    fn find_file(&mut self, file_code: usize, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        if file_code == NEW_NAME {
            let name = cursor.string()?.into();
            let defnames = self.files.make_room().map(|file| file.defnames).unwrap_or_default();
            self.files.push(File { name, defnames });
        } else if !self.files.bring_to_front(file_code) {
            return Err(no_such_name(file_code));
        }
        Ok(())
    }
}

/// The 48 bits of a location.
struct Fields {
    line: u32,
    start_char: u32,
    end_char: u32,
    file_code: usize,
    defname_code: usize,
}

impl Fields {
    fn of(location: &Location, file_code: usize, defname_code: usize) -> Self {
        let Location { line, start_char, end_char, .. } = *location;
        Self { line, start_char, end_char, file_code, defname_code }
    }

    /// Numbers that are too large become the largest that fit.
    fn encode(&self, out: &mut Vec<u8>) {
        let fields = [
            (self.line, LINE_BITS),
            (self.start_char, START_BITS),
            (self.end_char, END_BITS),
            (self.file_code as u32, NAME_BITS),
            (self.defname_code as u32, NAME_BITS),
        ];
        let (mut bits, mut shift) = (0, 0);
        for (value, width) in fields {
            bits |= u64::from(value.min((1 << width) - 1)) << shift;
            shift += width;
        }
        out.extend_from_slice(&bits.to_le_bytes()[..FIELDS_LEN]);
    }

    fn decode(cursor: &mut Cursor<'_>) -> Result<Self, Fault> {
        let mut bits = u64::from(cursor.u32()?) | u64::from(cursor.u16()?) << 32;
        let mut take = |width: u32| {
            let value = bits as u32 & ((1u32 << width) - 1);
            bits >>= width;
            value
        };
        Ok(Self {
            line: take(LINE_BITS),
            start_char: take(START_BITS),
            end_char: take(END_BITS),
            file_code: take(NAME_BITS) as usize,
            defname_code: take(NAME_BITS) as usize,
        })
    }
}

type FileTable = Table<File>;

struct File {
    name: Arc<str>,
    defnames: Table<Arc<str>>,
}

/// Up to 31 entries, the one used last in front.
struct Table<T>(Vec<T>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Table<T> {
    /// Where an entry is; [`NEW_NAME`] when it is not there.
    fn position(&self, is_it: impl FnMut(&T) -> bool) -> usize {
        self.0.iter().position(is_it).unwrap_or(NEW_NAME)
    }

    /// # Panics
    ///
    /// When nothing was pushed before.
    fn front(&mut self) -> &mut T {
        &mut self.0[0]
    }

    /// Says whether there is such an entry.
    fn bring_to_front(&mut self, index: usize) -> bool {
        match self.0.get_mut(..=index) {
            Some(moved) => moved.rotate_right(1),
            None => return false,
        }
        true
    }

    /// Takes the last entry out of a full table.
    fn make_room(&mut self) -> Option<T> {
        if self.0.len() == NEW_NAME { self.0.pop() } else { None }
    }

    fn push(&mut self, entry: T) {
        self.make_room();
        self.0.insert(0, entry);
    }
}

/// Length of the event if none of the names is in its table.
fn longest(locations: &[Location]) -> usize {
    let name_len = |name: &str| until_nul(name).len() + 1;
    let len = |it: &Location| FIELDS_LEN + name_len(&it.filename) + name_len(&it.defname);
    HEAD_LEN + locations.iter().map(len).sum::<usize>()
}

/// What is written in place of locations that are too long.
fn unknown() -> Location {
    Location {
        filename: "<unknown>".into(),
        line: 1,
        start_char: 1,
        end_char: 1,
        defname: "??".into(),
    }
}

fn no_such_name(code: usize) -> Fault {
    Fault::Unexpected { expected: "the position of a name met before", found: code as u64 }
}
