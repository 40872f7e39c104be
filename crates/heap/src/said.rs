//! What a file says of its objects, read when it is asked for.

use std::cell::RefCell;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use lifetrace_snapshot::heap::Place;
use lifetrace_snapshot::ruby;
use lifetrace_trace::lth::{self, BlockNumber};

/// More of a line is not read to describe its object.
const MOST_OF_LINE: u64 = 1 << 14;

/// A file that describes objects.
#[derive(Debug)]
pub(crate) struct Said {
    file: RefCell<BufReader<File>>,
    form: Form,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    /// A line for each object.
    Lines,
    /// Packets of many.
    Packets,
}

impl Said {
    /// By Ruby's dumps.
    pub(crate) fn in_lines(file: File) -> Said {
        Said { file: RefCell::new(BufReader::new(file)), form: Form::Lines }
    }

    /// By snapshots.
    pub(crate) fn in_packets(file: File) -> Said {
        Said { file: RefCell::new(BufReader::new(file)), form: Form::Packets }
    }

    /// What is said of the object that is told of there; nothing if that cannot be read.
    pub(crate) fn of(&self, place: Place) -> Option<String> {
        let mut file = self.file.borrow_mut();
        file.seek(SeekFrom::Start(place.offset)).ok()?;
        match self.form {
            Form::Lines => {
                let mut line = Vec::new();
                file.by_ref().take(MOST_OF_LINE).read_until(b'\n', &mut line).ok()?;
                Some(ruby::description(&line))
            }
            Form::Packets => lth::detail(&mut *file, BlockNumber(place.number)).ok().flatten(),
        }
    }
}
