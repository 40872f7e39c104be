//! Anonymous memory that programs have from the system: what agents say of pages into births and deaths.
//!
//! ```text
//! pages mapped, unmapped, moved       pieces              births and deaths of two samplers
//!   and by whom                   ->  (table)         ->  `mmap`: the program's
//!                                     whose (arenas)      `arena`: an allocator's or a runtime's
//! ```
//!
//! All of it is told, so both samplers are exact. What an allocator or a runtime maps is an *arena*. An arena of one
//! whose blocks are in the trace anyway, malloc's or a managed heap's, is *backing*: it would count what is counted
//! already, so it has no births, and is told as a sum only.
//!
//! What a process had mapped before its session (a forked child, of its parent's) is not known, and not told.

mod arenas;
mod resident;
mod seen;
mod table;

pub(crate) use arenas::{Named, Owner, owner_of};
use lifetrace_trace::fact::RuntimeCount;
use lifetrace_trace::ids::LocationCode;
use lifetrace_transport::message::{Place, Step, ThreadId};
use resident::Resident;
use rustc_hash::FxHashMap;
pub(crate) use seen::Seen;
pub(crate) use table::{Change, Kind, PieceId};
use table::{Pages, Table, Taken};

/// Whose memory is, as a trace tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The program's.
    Program,
    /// An allocator's or a runtime's whose blocks are not in the trace.
    Arena(Owner),
    /// One's whose blocks are.
    Backing,
}

/// Where a piece comes from.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) class: Class,
    /// Outermost frame first.
    pub(crate) backtrace: Box<[LocationCode]>,
    pub(crate) is_truncated: bool,
}

/// Of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Amount {
    bytes: u64,
    pieces: u64,
}

/// What is mapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Amounts {
    program: Amount,
    arenas: Amount,
    backing: Amount,
}

/// The mappings of one session.
#[derive(Debug, Default)]
pub(crate) struct Mappings {
    table: Table<Origin>,
    /// What threads have lifted.
    lifted: FxHashMap<ThreadId, Taken<Origin>>,
    /// What threads have unmapped last, as far as they may find that the system has refused.
    unmapped: FxHashMap<ThreadId, Taken<Origin>>,
    live: FxHashMap<PieceId, (Class, u64)>,
    amounts: Amounts,
    /// The most that was not backing, in bytes.
    most: u64,
    /// How much of it was in memory at the end, if somebody has looked.
    resident: Option<Resident>,
}

impl Mappings {
    /// Applies a step; `origin` is asked for where memory may be new. What has become of pieces, oldest first.
    pub(crate) fn apply(
        &mut self,
        thread: ThreadId,
        step: Step,
        pages: Place,
        origin: impl FnOnce() -> Origin,
    ) -> Vec<Change<Origin>> {
        let start = pages.address();
        let pages = start..start.saturating_add(pages.size);
        self.unmapped.retain(|of, _| *of != thread || step == Step::StillMapped);
        match step {
            Step::Mapped => self.table.map(pages, origin()),
            Step::Reserved => self.table.reserve(pages),
            Step::Opened => self.table.open(pages, &origin()),
            Step::Unmapped => drop(self.unmapped.insert(thread, self.table.unmap(pages))),
            Step::StillMapped => {
                if let Some(taken) = self.unmapped.remove(&thread) {
                    self.table.restore(taken);
                }
            }
            Step::Lifted => self.lift(thread, pages),
            Step::Landed => match self.lifted.remove(&thread) {
                Some(taken) => self.table.land(taken, pages, origin()),
                // That it was lifted has been lost.
                None => drop(self.table.unmap(pages)),
            },
        }
        let changes = self.table.take_changes();
        changes.iter().for_each(|change| self.count(change));
        changes
    }

    fn lift(&mut self, thread: ThreadId, pages: Pages) {
        let taken = self.table.lift(pages);
        if let Some(lost) = self.lifted.insert(thread, taken) {
            self.table.lose(&lost);
        }
    }

    fn count(&mut self, change: &Change<Origin>) {
        match change {
            Change::Born { id, bytes, origin, .. } => {
                self.live.insert(*id, (origin.class, *bytes));
                let amount = self.amounts.of(origin.class);
                amount.bytes = amount.bytes.saturating_add(*bytes);
                amount.pieces += 1;
            }
            Change::Died(id) => {
                if let Some((class, bytes)) = self.live.remove(id) {
                    let amount = self.amounts.of(class);
                    amount.bytes = amount.bytes.saturating_sub(bytes);
                    amount.pieces -= 1;
                }
            }
        }
        let Amounts { program, arenas, .. } = self.amounts;
        self.most = self.most.max(program.bytes.saturating_add(arenas.bytes));
    }

    /// The most that was ever mapped, but for backing.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// Compares what is mapped with what the system says at the end.
    pub(crate) fn see(&mut self, seen: &Seen) {
        self.resident = Some(Resident::of(seen, &self.table));
    }

    /// All frames, to be given other codes.
    pub(crate) fn codes_mut(&mut self) -> impl Iterator<Item = &mut LocationCode> {
        let lifted = self.lifted.values_mut().flat_map(Taken::origins_mut);
        let unmapped = self.unmapped.values_mut().flat_map(Taken::origins_mut);
        let origins = self.table.origins_mut().chain(lifted).chain(unmapped);
        origins.flat_map(|origin| origin.backtrace.iter_mut())
    }

    /// As the trace tells of it: what is mapped now.
    pub(crate) fn counts(&self) -> Vec<RuntimeCount> {
        let Amounts { program, arenas, backing } = self.amounts;
        let counts = [
            ("mapped_bytes", program.bytes),
            ("mapped_pieces", program.pieces),
            ("arena_bytes", arenas.bytes),
            ("arena_pieces", arenas.pieces),
            ("backing_bytes", backing.bytes),
            ("backing_pieces", backing.pieces),
            ("reserved_bytes", self.table.reserved()),
        ];
        let of_system = self.resident.iter().flat_map(|it| it.counts(&self.amounts));
        let counts = counts.into_iter().chain(of_system);
        counts.map(|(name, value)| RuntimeCount { name: name.into(), value }).collect()
    }
}

impl Amounts {
    fn of(&mut self, class: Class) -> &mut Amount {
        match class {
            Class::Program => &mut self.program,
            Class::Arena(_) => &mut self.arenas,
            Class::Backing => &mut self.backing,
        }
    }
}
