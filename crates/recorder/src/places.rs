//! Return addresses into location codes, and codes into names.
//!
//! A code is a number for a place: an address in a module's file, or a bare address outside all. It
//! stays what it was when the module is unloaded and something else comes to lie there.
//!
//! A process that loads and unloads, or makes code as it runs, has no end of places. So beyond a
//! number of them all are forgotten but those in use, and these get new codes: codes are never used
//! for anything else again, and a place may have had several ([`renew`](Places::renew)).
//!
//! A managed runtime's frames have numbers instead of addresses, and names that their agent has sent.

use std::borrow::Cow;
use std::cell::RefCell;
use std::iter;
use std::sync::Arc;

use lifetrace_trace::event::{
    DESERIALISED_NAME, GROWTH, LEFT_OUT_NAME, Location, TRUNCATED_NAME, growth_location, remark,
};
use lifetrace_trace::frame::{Frame, FrameKind};
use lifetrace_trace::ids::LocationCode;
use lifetrace_transport::message::{
    FRAMES_LEFT_OUT, FrameName, Frames, MANAGED_FRAME, Module, Run,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::cuts::{Cut, is_full};
use crate::made_code::MadeCode;
use crate::managed::{self, ManagedNames};
use crate::modules::{AddressSpace, FileAddress, Loaded, ModuleId};
use crate::notice::Notice;
use crate::process::ProcessImage;
use crate::runtimes::Language;
use crate::symbolizer::{self, ObjectFile, Symbolizer};

/// The root of backtraces that the unwinder could not follow to their end.
pub(crate) const TRUNCATED: LocationCode = LocationCode(1);

/// The innermost frame of blocks that were built from bytes that were read.
pub(crate) const DESERIALISED: LocationCode = LocationCode(2);

/// In the place of frames that are missing in the middle.
const LEFT_OUT: LocationCode = LocationCode(3);

const NO_CODE: LocationCode = LocationCode(0);

/// The first code of a place.
const FIRST_CODE: u64 = 4;

/// About 100 bytes each. Somewhat below 7/8 of a power of two, at which tables would double.
const MOST_PLACES: usize = 100_000;
const MOST_OBJECTS: usize = 1024;

/// The places that a session has named lately, by number.
pub(crate) struct Places {
    space: AddressSpace,
    objects: FxHashMap<ModuleId, Arc<ObjectFile>>,
    /// The object files that have a managed runtime's interpreter in them.
    interpreters: FxHashSet<ModuleId>,
    /// Of those that are forgotten.
    unread: Vec<Notice>,
    /// The number that the trace has for a module that is mapped, or was.
    module_numbers: FxHashMap<ModuleId, u32>,
    /// Mappings so far.
    mappings: u32,
    managed: ManagedNames,
    /// The code of a return address, while the address space stays as it is.
    codes: FxHashMap<u64, LocationCode>,
    /// The codes of managed frames that are no return addresses, by number; [`NO_CODE`] of the others.
    managed_codes: Vec<LocationCode>,
    numbers: FxHashMap<CodeLocation, LocationCode>,
    /// The first has the code `first`, and so on.
    places: Vec<CodeLocation>,
    first: u64,
    limits: Limits,
    symbolizer: Arc<Symbolizer>,
    /// Names of code that is in no module.
    made: RefCell<MadeCode>,
    process: ProcessImage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum CodeLocation {
    InModule(ModuleId, FileAddress),
    Anonymous(u64),
    Managed(u64),
    Remark(&'static str),
}

/// When to renew.
#[derive(Clone, Copy, Debug)]
struct Limits {
    places: usize,
    objects: usize,
}

impl Places {
    pub(crate) fn new(symbolizer: Arc<Symbolizer>, process: ProcessImage) -> Places {
        Places {
            space: AddressSpace::default(),
            objects: FxHashMap::default(),
            interpreters: FxHashSet::default(),
            unread: Vec::new(),
            module_numbers: FxHashMap::default(),
            mappings: 0,
            managed: ManagedNames::default(),
            codes: FxHashMap::default(),
            managed_codes: Vec::new(),
            numbers: FxHashMap::default(),
            places: Vec::new(),
            first: FIRST_CODE,
            limits: Limits { places: MOST_PLACES, objects: MOST_OBJECTS },
            symbolizer,
            made: RefCell::new(MadeCode::new(process.pid)),
            process,
        }
    }

    /// Notes a mapping, and says what number the trace has for it.
    pub(crate) fn load(&mut self, module: &Module<'_>) -> u32 {
        // It may have replaced others, and made known what was anonymous.
        self.codes.clear();
        let id = match self.space.load(module) {
            Loaded::Again(id) => id,
            Loaded::New(id) => {
                let object = self.symbolizer.object(module.path, module.build_id, &self.process);
                self.objects.insert(id, object);
                if self.managed.is_interpreter(&self.path_of(module)) {
                    self.interpreters.insert(id);
                }
                id
            }
        };
        let number = self.mappings;
        self.mappings += 1;
        self.module_numbers.insert(id, number);
        number
    }

    /// The path of a module's file; an agent may not know that of the program itself.
    pub(crate) fn path_of(&self, module: &Module<'_>) -> Arc<str> {
        self.path(module.path).into()
    }

    fn path<'a>(&'a self, path: &'a [u8]) -> Cow<'a, str> {
        match path {
            b"" => self.process.executable.to_string_lossy(),
            path => String::from_utf8_lossy(path),
        }
    }

    pub(crate) fn unload(&mut self, start: u64) {
        if let Some(range) = self.space.unload(start) {
            self.codes.retain(|address, _| !range.contains(address));
        }
    }

    /// Whether a code is of a place in a managed runtime's interpreter, or in what that has compiled.
    pub(crate) fn is_interpreters(&self, code: LocationCode) -> bool {
        let index = code.0.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        match index.and_then(|index| self.places.get(index)) {
            Some(CodeLocation::InModule(module, _)) => self.interpreters.contains(module),
            Some(CodeLocation::Anonymous(_)) => true,
            _ => false,
        }
    }

    /// Managed frames are this runtime's.
    pub(crate) fn are_of(&mut self, language: &'static dyn Language) {
        self.managed.are_of(language);
        let known = self.space.known();
        let known = known.filter(|(path, _)| self.managed.is_interpreter(&self.path(path)));
        self.interpreters = known.map(|(_, id)| id).collect();
    }

    /// Notes what a managed frame stands for.
    pub(crate) fn name(&mut self, name: &FrameName<'_>) {
        self.managed.add(name);
    }

    /// Notes the return address that a managed frame is.
    pub(crate) fn name_address(&mut self, frame: u64, address: u64) {
        self.managed.add_address(frame, address);
    }

    /// What a frame's number stands for in the program's own words, without the brackets.
    pub(crate) fn name_of(&self, number: u64) -> String {
        let frame = self.managed.frame(number);
        let name = frame.locations.first().map_or("", |location| &*location.defname);
        name.trim_start_matches('[').trim_end_matches(']').to_owned()
    }

    /// The code of a backtrace's word: a managed frame, or the call before a return address.
    #[inline]
    pub(crate) fn code(&mut self, word: u64) -> LocationCode {
        if word & MANAGED_FRAME == 0 {
            return self.code_of_address(word);
        }
        let number = word & !MANAGED_FRAME;
        match self.managed_codes.get(number as usize) {
            Some(&code) if code != NO_CODE => code,
            _ => self.code_of_managed(number),
        }
    }

    /// Adds the codes of a backtrace's frames, outermost first.
    ///
    /// A deep stack may be another one at each sample, so it is worth while to take frames as they mostly are, which
    /// are managed, known and not of a recursion, in a loop without branches.
    pub(crate) fn put_codes(&mut self, frames: &Frames<'_>, codes: &mut Vec<LocationCode>) {
        const STRETCH: usize = 64;
        let Frames::RunBytes(bytes) = frames else {
            return self.put_codes_one_by_one(frames, codes);
        };
        for runs in bytes.as_chunks().0.rchunks(STRETCH) {
            let before = codes.len();
            if !self.put_known_codes(runs, codes) {
                codes.truncate(before);
                self.put_codes_one_by_one(&Frames::RunBytes(runs.as_flattened()), codes);
            }
        }
    }

    /// False if there is any frame without a code so far, or more than one of it: such a [`Run`], taken for a number,
    /// is greater than any.
    fn put_known_codes(&self, runs: &[[u8; 4]], codes: &mut Vec<LocationCode>) -> bool {
        const _: () = assert!(managed::MOST <= Run::LAST_NUMBER as usize + 1);
        let mut are_known = true;
        codes.extend(runs.iter().rev().map(|&run| {
            let known = self.managed_codes.get(u32::from_le_bytes(run) as usize);
            let code = known.copied().unwrap_or(NO_CODE);
            are_known &= code != NO_CODE;
            code
        }));
        are_known
    }

    fn put_codes_one_by_one(&mut self, frames: &Frames<'_>, codes: &mut Vec<LocationCode>) {
        frames.for_each_run_outward(|address, frames| {
            let code = self.code(address);
            codes.push(code);
            if frames > 1 {
                codes.extend(iter::repeat_n(code, frames - 1));
            }
        });
    }

    #[cold]
    fn code_of_managed(&mut self, number: u64) -> LocationCode {
        if number == FRAMES_LEFT_OUT & !MANAGED_FRAME {
            return LEFT_OUT;
        }
        if let Some(address) = self.managed.address(number) {
            return self.code_of_address(address);
        }
        let code = self.number(CodeLocation::Managed(number));
        if number < managed::MOST as u64 {
            let at = number as usize;
            self.managed_codes.resize(self.managed_codes.len().max(at + 1), NO_CODE);
            self.managed_codes[at] = code;
        }
        code
    }

    fn code_of_address(&mut self, address: u64) -> LocationCode {
        if let Some(&code) = self.codes.get(&address) {
            return code;
        }
        let code = self.number(self.place_of_call(address.wrapping_sub(1)));
        self.codes.insert(address, code);
        code
    }

    fn place_of_call(&self, address: u64) -> CodeLocation {
        match self.space.find(address) {
            Some((module, address)) => CodeLocation::InModule(module, address),
            None => CodeLocation::Anonymous(address),
        }
    }

    /// Whether there are so many places or files that most are likely of the past.
    pub(crate) fn are_many(&self) -> bool {
        self.places.len() > self.limits.places || self.objects.len() > self.limits.objects
    }

    /// Forgets all places but those of the codes in `used`, which are replaced by new ones.
    pub(crate) fn renew<'a>(&mut self, used: impl Iterator<Item = &'a mut LocationCode>) {
        let first = self.first + self.places.len() as u64;
        let (old, old_first) = (std::mem::take(&mut self.places), self.first);
        self.numbers = FxHashMap::default();
        self.codes = FxHashMap::default();
        self.managed_codes = Vec::new();
        self.first = first;
        for code in used {
            if let Some(&place) = code.0.checked_sub(old_first).and_then(|at| old.get(at as usize))
            {
                *code = self.number(place);
            }
        }
        self.forget_modules();
        self.limits.places = MOST_PLACES.max(2 * self.places.len());
        self.limits.objects = MOST_OBJECTS.max(2 * self.objects.len());
    }

    /// Keeps the modules that are mapped or have places.
    fn forget_modules(&mut self) {
        let named = self.places.iter().filter_map(|place| match place {
            CodeLocation::InModule(module, _) => Some(*module),
            _ => None,
        });
        let kept: FxHashSet<ModuleId> = named.chain(self.space.mapped()).collect();
        self.space.forget_others(&kept);
        let forgotten = self.objects.extract_if(|id, _| !kept.contains(id));
        self.unread.extend(forgotten.filter_map(|(_, object)| unread(&object)));
        self.module_numbers.retain(|id, _| kept.contains(id));
    }

    fn number(&mut self, place: CodeLocation) -> LocationCode {
        let Places { numbers, places, first, .. } = self;
        *numbers.entry(place).or_insert_with(|| {
            places.push(place);
            LocationCode(*first + places.len() as u64 - 1)
        })
    }

    /// What there is to say of a backtrace that ends there, with so many frames, before its outermost
    /// frame.
    pub(crate) fn cut(&self, end: LocationCode, frames: usize) -> Option<Cut> {
        let place = end.0.checked_sub(self.first).and_then(|at| self.places.get(at as usize))?;
        match place {
            _ if is_full(frames) => Some(Cut::TooDeep),
            CodeLocation::Anonymous(_) => Some(Cut::AtMadeCode),
            CodeLocation::InModule(module, _) => {
                Some(Cut::AtFile(self.objects[module].name().into()))
            }
            CodeLocation::Managed(_) | CodeLocation::Remark(_) => None,
        }
    }

    /// What could not be read of the files that have been asked about.
    pub(crate) fn unread(&self) -> Vec<Notice> {
        let present = self.objects.values().filter_map(|object| unread(object));
        self.unread.iter().cloned().chain(present).collect()
    }

    /// What a code stands for.
    pub(crate) fn locate(&self, code: LocationCode) -> Frame {
        let place = code.0.checked_sub(self.first).and_then(|at| self.places.get(at as usize));
        match place {
            Some(CodeLocation::InModule(module, address)) => Frame {
                locations: self.symbolizer.locations(&self.objects[module], *address).to_vec(),
                kind: FrameKind::Native,
                module: self.module_numbers.get(module).copied(),
            },
            Some(CodeLocation::Anonymous(address)) => {
                let told = self.made.borrow_mut().locate(*address);
                vec![told.unwrap_or_else(|| symbolizer::anonymous(*address))].into()
            }
            Some(CodeLocation::Managed(number)) => self.managed.frame(*number),
            Some(CodeLocation::Remark(name)) => vec![remark(name)].into(),
            None => vec![remark_of(code)].into(),
        }
    }
}

fn unread(object: &ObjectFile) -> Option<Notice> {
    let what = object.unread()?;
    Some(Notice::Unread { what, file: object.name().into() })
}

fn remark_of(code: LocationCode) -> Location {
    match code {
        GROWTH => growth_location(),
        DESERIALISED => remark(DESERIALISED_NAME),
        LEFT_OUT => remark(LEFT_OUT_NAME),
        _ => remark(TRUNCATED_NAME),
    }
}

mod callers;

#[cfg(test)]
mod tests;
