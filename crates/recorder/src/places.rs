//! Return addresses into location codes, and codes into names.
//!
//! A code is a number for a place: an address in a module's file, or a bare address outside all. It
//! stays what it was when the module is unloaded and something else comes to lie there.

use std::sync::Arc;

use lifetrace_trace::event::{GROWTH, Location, growth_location};
use lifetrace_trace::ids::LocationCode;
use lifetrace_transport::message::Module;
use rustc_hash::FxHashMap;

use crate::modules::{AddressSpace, FileAddress, Loaded, ModuleId};
use crate::process::ProcessImage;
use crate::symbolizer::{self, ObjectFile, Symbolizer};

/// The root of backtraces that the unwinder could not follow to their end.
pub(crate) const TRUNCATED: LocationCode = LocationCode(1);

/// All places that a session has named, by number.
pub(crate) struct Places {
    space: AddressSpace,
    objects: FxHashMap<ModuleId, Arc<ObjectFile>>,
    /// The code of a return address, while the address space stays as it is.
    codes: FxHashMap<u64, LocationCode>,
    numbers: FxHashMap<Place, LocationCode>,
    places: Vec<Place>,
    symbolizer: Arc<Symbolizer>,
    process: ProcessImage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Truncated,
    InModule(ModuleId, FileAddress),
    Anonymous(u64),
}

impl Places {
    pub(crate) fn new(symbolizer: Arc<Symbolizer>, process: ProcessImage) -> Places {
        let mut places = Places {
            space: AddressSpace::default(),
            objects: FxHashMap::default(),
            codes: FxHashMap::default(),
            numbers: FxHashMap::default(),
            places: Vec::new(),
            symbolizer,
            process,
        };
        let code = places.number(Place::Truncated);
        debug_assert_eq!(code, TRUNCATED);
        places
    }

    pub(crate) fn load(&mut self, module: &Module<'_>) {
        // It may have replaced others, and made known what was anonymous.
        self.codes.clear();
        if let Loaded::New(id) = self.space.load(module) {
            let object = self.symbolizer.object(module.path, module.build_id, &self.process);
            self.objects.insert(id, object);
        }
    }

    pub(crate) fn unload(&mut self, start: u64) {
        if let Some(range) = self.space.unload(start) {
            self.codes.retain(|address, _| !range.contains(address));
        }
    }

    /// The code of a return address: of the call before it.
    pub(crate) fn code(&mut self, return_address: u64) -> LocationCode {
        if let Some(&code) = self.codes.get(&return_address) {
            return code;
        }
        let call = return_address.wrapping_sub(1);
        let place = match self.space.find(call) {
            Some((module, address)) => Place::InModule(module, address),
            None => Place::Anonymous(call),
        };
        let code = self.number(place);
        self.codes.insert(return_address, code);
        code
    }

    fn number(&mut self, place: Place) -> LocationCode {
        let Places { numbers, places, .. } = self;
        *numbers.entry(place).or_insert_with(|| {
            places.push(place);
            LocationCode(places.len() as u64)
        })
    }

    /// What a code stands for: a function, then what is inlined into it.
    pub(crate) fn locate(&self, code: LocationCode) -> Vec<Location> {
        if code == GROWTH {
            return vec![growth_location()];
        }
        match self.places.get(code.0 as usize - 1) {
            Some(Place::InModule(module, address)) => {
                self.symbolizer.locations(&self.objects[module], *address).to_vec()
            }
            Some(Place::Anonymous(address)) => vec![symbolizer::anonymous(*address)],
            Some(Place::Truncated) | None => vec![symbolizer::truncated()],
        }
    }
}
