//! The thread that has the symbol tables.
//!
//! Tables, once read, stay in memory, and those of a program with a gigabyte of debug information are
//! large. So all are let go after a number of files, and when nobody has asked for [`IDLE`]: most
//! places are named in the first moments of a process, and a process that runs for days asks for a
//! new one now and then.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{Input, Sym, Symbolized, Symbolizer};
use lifetrace_trace::event::Location;
use rustc_hash::{FxHashMap, FxHashSet};

use super::thorough::Thorough;
use super::{ObjectFile, Request, names, ocaml};
use crate::modules::FileAddress;

const MAX_FILES: usize = 256;
const IDLE: Duration = Duration::from_secs(3);

/// A label without a size (of code written in assembler) is believed so far, in bytes.
const LABEL_REACH: usize = 4096;

/// Answers until the last asker is gone.
pub(super) fn serve(requests: &Receiver<Request>) {
    while let Ok(first) = requests.recv() {
        serve_the_busy(first, requests);
    }
}

/// Answers, with tables that are kept, until nobody has asked for a while.
fn serve_the_busy(first: Request, requests: &Receiver<Request>) {
    let mut tables = Tables::default();
    let mut next = Ok(first);
    while let Ok(Request { object, address, answer }) = next {
        if tables.read.insert(object.number()) && tables.read.len() > MAX_FILES {
            tables = Tables::default();
        }
        // The asker's thread may have ended.
        let _ = answer.send(Arc::from(tables.resolve(&object, address)));
        next = requests.recv_timeout(IDLE);
    }
}

/// Of files with OCaml code, by their numbers.
type OcamlNames = FxHashMap<u64, ocaml::Names>;

/// What has been read.
#[derive(Default)]
struct Tables {
    fast: Symbolizer,
    thorough: FxHashMap<u64, Thorough>,
    ocaml: OcamlNames,
    /// The numbers of all files.
    read: FxHashSet<u64>,
}

impl Tables {
    fn resolve(&mut self, object: &ObjectFile, address: FileAddress) -> Vec<Location> {
        let Tables { fast, thorough, ocaml, .. } = self;
        let thorough = thorough.entry(object.number());
        let thorough = thorough.or_insert_with(|| Thorough::open(object));
        let mut by_fast =
            |debug_symbols| look_up_all((fast, ocaml), object, debug_symbols, address);
        let found = if thorough.is_needed() {
            let symbol = by_fast(false).ok().flatten();
            let name = symbol.as_ref().and_then(|symbol| symbol.first()).map(|it| &*it.defname);
            thorough.find(object, address, name).or(symbol)
        } else {
            let found = by_fast(true).inspect_err(|Unreadable| thorough.complain(object));
            // Damaged debug information does not spoil the symbol table.
            found.unwrap_or_else(|Unreadable| by_fast(false).ok().flatten())
        };
        found.unwrap_or_else(|| {
            object.note_unfound();
            vec![names::unresolved(object, address)]
        })
    }
}

/// Something in a file makes no sense.
struct Unreadable;

/// What the first of a module's files has that has anything; each by its debug information, and by its
/// symbol table alone.
fn look_up_all(
    (tables, ocaml): (&Symbolizer, &mut OcamlNames),
    object: &ObjectFile,
    debug_symbols: bool,
    address: FileAddress,
) -> Result<Option<Vec<Location>>, Unreadable> {
    let mut found = Ok(None);
    for path in object.sources() {
        match look_up((tables, &mut *ocaml), object, &path, debug_symbols, address) {
            Ok(Some(locations)) => return Ok(Some(locations)),
            Ok(None) => {}
            Err(error) => found = Err(error),
        }
    }
    found
}

fn look_up(
    (tables, ocaml): (&Symbolizer, &mut OcamlNames),
    object: &ObjectFile,
    path: &Path,
    debug_symbols: bool,
    address: FileAddress,
) -> Result<Option<Vec<Location>>, Unreadable> {
    let mut elf = Elf::new(path);
    elf.debug_syms = debug_symbols;
    match tables.symbolize_single(&Source::Elf(elf), Input::VirtOffset(address.0)) {
        Ok(Symbolized::Sym(symbol)) if covers(&symbol) => {
            let mut locations = names::resolved(object, &symbol);
            if let Some(location) = locations.first_mut().filter(|_| ocaml::is_ocaml(&symbol.name))
            {
                let names = ocaml.entry(object.number());
                names.or_insert_with(|| ocaml::Names::read(object)).rename(&symbol, location);
            }
            Ok(Some(locations))
        }
        Ok(_) => Ok(None),
        Err(_) => Err(Unreadable),
    }
}

/// Debug information gives no size for a function in several pieces, but knows where they are.
fn covers(symbol: &Sym<'_>) -> bool {
    match symbol.size {
        Some(size) => symbol.offset < size,
        None => symbol.code_info.is_some() || symbol.offset < LABEL_REACH,
    }
}
