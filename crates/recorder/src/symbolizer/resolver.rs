//! The thread that has the symbol tables.
//!
//! Tables, once read, stay in memory, and those of a program with a gigabyte of debug information are
//! large. So all are let go after a number of files, and when nobody has asked for [`IDLE`]: most
//! places are named in the first moments of a process, and a process that runs for days asks for a
//! new one now and then.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{Input, Sym, Symbolized, Symbolizer};
use lifetrace_trace::event::Location;
use rustc_hash::FxHashSet;

use super::{ObjectFile, Request, names};
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
    let mut tables = Symbolizer::new();
    let mut read = FxHashSet::default();
    let mut next = Ok(first);
    while let Ok(Request { object, address, answer }) = next {
        if read.insert(object.number()) && read.len() > MAX_FILES {
            tables = Symbolizer::new();
            read.clear();
        }
        // The asker's thread may have ended.
        let _ = answer.send(Arc::from(resolve(&tables, &object, address)));
        next = requests.recv_timeout(IDLE);
    }
}

fn resolve(tables: &Symbolizer, object: &ObjectFile, address: FileAddress) -> Vec<Location> {
    object
        .sources()
        // Without debug symbols only the symbol table is used: damaged debug information does not
        // spoil it.
        .flat_map(|path| [(path.clone(), true), (path, false)])
        .find_map(|(path, debug_symbols)| look_up(tables, object, path, debug_symbols, address))
        .unwrap_or_else(|| vec![names::unresolved(object, address)])
}

fn look_up(
    tables: &Symbolizer,
    object: &ObjectFile,
    path: PathBuf,
    debug_symbols: bool,
    address: FileAddress,
) -> Option<Vec<Location>> {
    let mut elf = Elf::new(path);
    elf.debug_syms = debug_symbols;
    match tables.symbolize_single(&Source::Elf(elf), Input::VirtOffset(address.0)) {
        Ok(Symbolized::Sym(symbol)) if covers(&symbol) => Some(names::resolved(object, &symbol)),
        _ => None,
    }
}

/// Debug information gives no size for a function in several pieces, but knows where they are.
fn covers(symbol: &Sym<'_>) -> bool {
    match symbol.size {
        Some(size) => symbol.offset < size,
        None => symbol.code_info.is_some() || symbol.offset < LABEL_REACH,
    }
}
