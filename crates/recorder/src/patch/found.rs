//! The allocator in an object file: which of its functions are to be patched, and how.
//!
//! A program's is hooked as a whole or not at all: a block that is freed by a function that is not hooked would
//! look like a leak. What does nothing without calling another function of the allocator may be left out, as it
//! is observed by way of that. Of a library's, what nobody calls may be left out.

use std::collections::BTreeMap;
use std::fs::File;

use lifetrace_transport::patch::{MOST_ORIGINAL, MOST_PATCHES, Patch, Shape};
use rustc_hash::{FxHashMap, FxHashSet};

use super::families::{self, FAMILIES, Role, may_wrap};
use super::mover::{self, Function};
use super::symbols::{Code, Image, Names, Symbol, each_function, slots};

/// Functions are looked at so far, in bytes; longer ones are not moved, as they may jump anywhere.
const LONGEST: usize = 64 << 10;

/// So many functions are followed to find out whether one is built on another.
const MOST_FOLLOWED: usize = 64;

/// What a file brings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Addresses as they are in the file.
    pub(super) patches: Vec<Patch>,
    /// Functions of an allocator that cannot be patched, by all their names.
    pub(super) stuck: Names,
    /// All that it brings may be built on the C library's, which is hooked. The agent finds that out by trying.
    pub(super) may_wrap: bool,
    /// Where the program begins.
    pub(super) entry: u64,
    pub(super) code: Vec<Code>,
    /// By which a process enters a sandbox; of libraries that have an allocator as well.
    pub(super) prctl: Option<Patch>,
    /// By which a program maps memory itself; likewise.
    pub(super) mappings: Vec<Patch>,
}

impl Found {
    /// Whether it has an allocator, not all of which can be patched.
    pub(super) fn is_stuck(&self) -> bool {
        !self.stuck.is_empty()
    }
}

/// A function of an allocator, with all its names.
#[derive(Clone, Debug)]
struct Candidate {
    names: Names,
    families: [bool; FAMILIES],
    shape: Shape,
}

/// The functions of a file.
#[derive(Default)]
struct Functions {
    candidates: BTreeMap<u64, Candidate>,
    usable_size: [u64; FAMILIES],
    /// Where functions begin, in order.
    starts: Vec<u64>,
    /// Words of memory that lead to functions of the file, when it has been loaded.
    slots: FxHashMap<u64, u64>,
    sizes: BTreeMap<u64, u64>,
    prctl: Option<u64>,
    /// Those that map memory.
    mappings: BTreeMap<u64, Shape>,
    /// The file defines C's own.
    has_malloc: bool,
}

/// What an allocator's functions may be built on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A program's may be wrappers of another object file's.
    Program,
    /// Its functions call one another at most.
    Library,
}

pub(super) fn find(file: &File, kind: Kind) -> Found {
    let Some(image) = Image::open(file) else { return Found::default() };
    let functions = Functions::of(file);
    let hooked: Vec<usize> = (0..FAMILIES).filter(|&family| functions.has(family)).collect();
    let may_wrap = hooked.iter().all(|&family| may_wrap(family));
    let planner = Planner { file, image: &image, functions: &functions, kind };
    let (patches, stuck) = planner.patches(&hooked);
    let prctl = functions.prctl.and_then(|address| planner.plain(address, Shape::Prctl));
    let mappings = functions.mappings.iter();
    let mappings =
        mappings.filter_map(|(&address, &shape)| planner.plain(address, shape)).collect();
    let (entry, code) = (image.entry, image.code);
    Found { patches, stuck, may_wrap, entry, code, prctl, mappings }
}

/// Whether the agent has a hook for each.
pub(super) fn has_room(patches: &[Patch]) -> bool {
    let count = |shape| patches.iter().filter(|patch| patch.shape == shape).count();
    patches.len() <= MOST_PATCHES && Shape::ALL.iter().all(|&it| count(it) <= it.slots())
}

impl Functions {
    fn of(file: &File) -> Functions {
        let mut functions = Functions::default();
        each_function(file, |name, symbol| functions.meet(name, symbol));
        if functions.candidates.is_empty() {
            return functions;
        }
        each_function(file, |_, symbol| {
            functions.starts.push(symbol.address);
            let size = functions.sizes.entry(symbol.address).or_default();
            *size = symbol.size.max(*size);
        });
        functions.slots = slots(file);
        functions.starts.sort_unstable();
        functions.starts.dedup();
        functions
    }

    fn meet(&mut self, name: &[u8], symbol: Symbol) {
        if name == b"prctl" {
            self.prctl = Some(symbol.address);
        }
        if let Some(shape) = families::of_mappings(name).filter(|_| !symbol.is_local) {
            self.mappings.insert(symbol.address, shape);
        }
        let Some(known) = families::find(name) else { return };
        if known.is_common && symbol.is_local {
            return;
        }
        self.has_malloc |= name == b"malloc";
        let shape = match known.role {
            Role::Hooked(shape) => shape,
            Role::UsableSize => {
                self.usable_size[usize::from(known.family)] = symbol.address;
                return;
            }
        };
        let blank = Candidate { names: Names::default(), families: [false; FAMILIES], shape };
        let candidate = self.candidates.entry(symbol.address).or_insert(blank);
        candidate.families[usize::from(known.family)] = true;
        candidate.names.insert(name.into());
    }

    /// Whether the file has this allocator. One that gives no blocks, or takes none back, is none; but a
    /// program that defines malloc has one.
    fn has(&self, family: usize) -> bool {
        let of = || self.candidates.values().filter(|it| it.families[family]);
        let has = |is_free| of().any(|it| (it.shape == Shape::Free) == is_free);
        if family == 0 { self.has_malloc } else { has(true) && has(false) }
    }

    /// Up to the next function, or as long as the symbol says.
    fn length(&self, address: u64) -> usize {
        let next = self.starts.partition_point(|&start| start <= address);
        let gap = self.starts.get(next).map_or(LONGEST as u64, |next| next - address);
        let size = self.sizes.get(&address).copied().filter(|&size| size > 0);
        usize::try_from(size.unwrap_or(gap).min(gap)).unwrap_or(LONGEST).min(LONGEST)
    }
}

/// How a function is hooked.
enum Way {
    Patched(Box<Patch>),
    /// It does nothing without another one that is hooked.
    ByAnother,
    Stuck,
}

struct Planner<'a> {
    file: &'a File,
    image: &'a Image,
    functions: &'a Functions,
    kind: Kind,
}

impl Planner<'_> {
    /// For all functions of these families, and the names of those that have to be patched and can't be.
    fn patches(&self, families: &[usize]) -> (Vec<Patch>, Names) {
        let is_hooked = |it: &&Candidate| families.iter().any(|&family| it.families[family]);
        let (mut patches, mut stuck) = (Vec::new(), Names::default());
        for (&address, candidate) in &self.functions.candidates {
            if is_hooked(&candidate) {
                match self.planned(address, candidate) {
                    Way::Patched(patch) => patches.push(*patch),
                    Way::ByAnother => {}
                    Way::Stuck => stuck.extend(candidate.names.iter().cloned()),
                }
            }
        }
        let has = |is_free| patches.iter().any(|it| (it.shape == Shape::Free) == is_free);
        if families.is_empty() || has(true) && has(false) && has_room(&patches) {
            return (patches, stuck);
        }
        let hooked = self.functions.candidates.values().filter(is_hooked);
        (Vec::new(), hooked.flat_map(|it| it.names.iter().cloned()).collect())
    }

    /// A function of which nothing matters but its name.
    fn plain(&self, address: u64, shape: Shape) -> Option<Patch> {
        let code = self.code(address);
        let patch = mover::patch(self.function(address, &code)).ok()?;
        self.is_alone(address, &patch).then_some(Patch { shape, ..patch })
    }

    fn planned(&self, address: u64, candidate: &Candidate) -> Way {
        if !cfg!(target_arch = "x86_64") {
            return Way::Stuck;
        }
        let code = self.code(address);
        let function = self.function(address, &code);
        let frees = candidate.shape == Shape::Free;
        let is_akin = |other: &Candidate| (other.shape == Shape::Free) == frees;
        let is_whole = function.length < LONGEST;
        let patch = mover::patch(function).ok();
        let patch = patch.filter(|patch| is_whole && self.is_alone(address, patch));
        let Some(patch) = patch else {
            let known = |callee| self.candidate(self.behind_stub(callee)).is_some_and(is_akin);
            let is_observed = mover::always_calls(function, known);
            return if is_observed { Way::ByAnother } else { Way::Stuck };
        };
        let families = || (0..FAMILIES).filter(|&family| candidate.families[family]);
        let is_wrapper = self.kind == Kind::Program && families().all(may_wrap);
        let nests = is_wrapper || self.reaches(address, is_akin);
        let mut sizes = families().map(|family| self.functions.usable_size[family]);
        let usable_size = sizes.find(|&address| address != 0).unwrap_or(0);
        Way::Patched(Box::new(Patch { usable_size, shape: candidate.shape, nests, ..patch }))
    }

    /// Whether no function begins among the bytes that are overwritten.
    fn is_alone(&self, address: u64, patch: &Patch) -> bool {
        let end = patch.address + u64::from(patch.length);
        let next = self.functions.starts.partition_point(|&start| start <= address);
        self.functions.starts.get(next).is_none_or(|&start| start >= end)
    }

    /// Whether a function calls or becomes another of the allocator that is `wanted`, as far as calls say
    /// whom they mean.
    fn reaches(&self, address: u64, wanted: impl Fn(&Candidate) -> bool) -> bool {
        let (mut seen, mut waiting) = (FxHashSet::default(), vec![address]);
        while let Some(at) = waiting.pop() {
            if seen.len() >= MOST_FOLLOWED || !seen.insert(at) {
                continue;
            }
            let code = self.code(at);
            for callee in mover::callees(self.function(at, &code)) {
                let callee = self.behind_stub(callee);
                if callee != address && self.candidate(callee).is_some_and(&wanted) {
                    return true;
                }
                waiting.push(callee);
            }
        }
        false
    }

    fn candidate(&self, address: u64) -> Option<&Candidate> {
        self.functions.candidates.get(&address)
    }

    /// The function of this file that is called by way of a jump through memory, as libraries call what another
    /// one might replace; else what is at the address.
    fn behind_stub(&self, address: u64) -> u64 {
        let slot = mover::stub(address, &self.image.read(self.file, address, MOST_ORIGINAL));
        slot.and_then(|slot| self.functions.slots.get(&slot)).copied().unwrap_or(address)
    }

    /// The function, and padding behind it.
    fn code(&self, address: u64) -> Vec<u8> {
        self.image.read(self.file, address, self.functions.length(address) + MOST_ORIGINAL)
    }

    fn function<'c>(&self, address: u64, code: &'c [u8]) -> Function<'c> {
        Function { address, code, length: self.functions.length(address).min(code.len()) }
    }
}
