//! Names for addresses: function, file and line, inlined calls and all.
//!
//! One symbolizer serves all sessions of a recording, so that the C library is read once and not
//! once a process. The library beneath (blazesym) is bound to one thread; that thread is in
//! [`resolver`], and what it has found is cached here, where every session's thread can look.
//!
//! An object file is found and opened when its module is loaded ([`object_file`]), while its
//! process is likely still there; it stays open, so a file that is deleted or replaced later does
//! no harm. Its symbols are read at the first address in it.

mod build_id;
mod debug_info;
mod elsewhere;
mod fetching;
mod fit;
mod forms;
mod mini;
mod names;
mod object_file;
mod ocaml;
mod on_disk;
mod resolver;
mod thorough;

use std::io;
use std::sync::mpsc::{self, Sender, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lifetrace_trace::event::Location;
use rustc_hash::FxHashMap;

use crate::modules::FileAddress;
use crate::process::ProcessImage;
use crate::threads;
pub use debug_info::DebugInfo;
pub(crate) use fit::fit;
pub(crate) use object_file::ObjectFile;
pub(crate) use ocaml::function_name as ocaml_function;
pub use on_disk::{FileOnDisk, MappedPlace, SymbolsOnDisk, Unfound, Unnamed};

/// The names of one address, outermost function first, what is inlined last.
pub(crate) type Locations = Arc<[Location]>;

/// Above this many, what no session uses any more is forgotten.
const MAX_OBJECTS: usize = 256;
/// Above this many bytes, the cache of names begins anew. It serves the sessions that come to a place
/// after the first: each asks but once.
const MAX_CACHED: usize = 8 << 20;

/// Shared by all sessions of a recording.
#[derive(Debug)]
pub(crate) struct Symbolizer {
    requests: Sender<Request>,
    shared: Mutex<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    objects: FxHashMap<object_file::Identity, Arc<ObjectFile>>,
    locations: FxHashMap<(u64, FileAddress), Locations>,
    /// Bytes that they take, about.
    cached: usize,
    next_number: u64,
}

#[derive(Debug)]
struct Request {
    object: Arc<ObjectFile>,
    address: FileAddress,
    answer: SyncSender<Locations>,
}

impl Symbolizer {
    /// # Errors
    /// When no thread can be started.
    pub(crate) fn start() -> io::Result<Symbolizer> {
        let (requests, inbox) = mpsc::channel();
        threads::spawn("symbolizer", move || resolver::serve(&inbox))?;
        Ok(Symbolizer { requests, shared: Mutex::default() })
    }

    /// The file of a module of `process`, by its name and build id.
    pub(crate) fn object(
        &self,
        path: &[u8],
        build_id: &[u8],
        process: &ProcessImage,
    ) -> Arc<ObjectFile> {
        self.numbered(object_file::find(path, build_id, process))
    }

    /// The file with its number; all who find it share it.
    fn numbered(&self, found: ObjectFile) -> Arc<ObjectFile> {
        let mut shared = self.shared();
        if shared.objects.len() >= MAX_OBJECTS {
            shared.objects.retain(|_, object| Arc::strong_count(object) > 1);
        }
        let Shared { objects, next_number, .. } = &mut *shared;
        let object = objects.entry(found.identity()).or_insert_with(|| {
            *next_number += 1;
            Arc::new(found.numbered(*next_number))
        });
        Arc::clone(object)
    }

    /// What is at `address` of `object`; at least one location.
    pub(crate) fn locations(&self, object: &Arc<ObjectFile>, address: FileAddress) -> Locations {
        let key = (object.number(), address);
        if let Some(known) = self.shared().locations.get(&key) {
            return Arc::clone(known);
        }
        let locations = self.ask(object, address);
        self.shared().cache(key, &locations);
        locations
    }

    fn ask(&self, object: &Arc<ObjectFile>, address: FileAddress) -> Locations {
        let (answer, inbox) = mpsc::sync_channel(1);
        let request = Request { object: Arc::clone(object), address, answer };
        let sent = self.requests.send(request).ok();
        sent.and_then(|()| inbox.recv().ok())
            .unwrap_or_else(|| Arc::new([names::unresolved(object, address)]))
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    fn cache(&mut self, key: (u64, FileAddress), locations: &Locations) {
        if self.cached > MAX_CACHED {
            self.locations = FxHashMap::default();
            self.cached = 0;
        }
        self.cached += size_of_names(locations);
        self.locations.insert(key, Arc::clone(locations));
    }
}

/// With what the allocator and the table add.
fn size_of_names(locations: &Locations) -> usize {
    const OVERHEAD: usize = 96;
    let names = locations.iter().map(|it| it.filename.len() + it.defname.len() + OVERHEAD);
    OVERHEAD + names.sum::<usize>()
}

/// For an address in no module: code made at run time, or a damaged stack.
pub(crate) fn anonymous(address: u64) -> Location {
    names::anonymous(address)
}

#[cfg(test)]
mod forms_tests;
#[cfg(test)]
mod on_disk_tests;
#[cfg(test)]
mod tests;
