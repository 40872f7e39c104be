//! What of a process's mappings is in memory, and what it has mapped without anybody's having heard of it.

use super::seen::{Region, Seen};
use super::table::Table;
use super::{Amounts, Class, Origin};

/// As the system says it at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Resident {
    /// Bytes of mappings that were heard, as [`Amounts`] has them.
    program: u64,
    arenas: u64,
    backing: u64,
    /// Bytes that may be accessed, of anonymous memory that nobody was heard to map.
    unheard: u64,
    /// What of that is resident.
    unheard_resident: u64,
}

impl Resident {
    pub(super) fn of(seen: &Seen, table: &Table<Origin>) -> Resident {
        let mut all = Resident::default();
        seen.0.iter().for_each(|region| all.add(region, table));
        all
    }

    /// Pages that were only read are there, and all of them are one: they are not resident. So it may be that more is
    /// there than is resident; then each has its part of the latter.
    fn add(&mut self, region: &Region, table: &Table<Origin>) {
        let (mut there, mut known) = (Resident::default(), 0);
        for (part, origin) in table.live_in(&region.range) {
            known += part.end - part.start;
            *there.of_class(origin.class) += region.present_in(&part);
        }
        let sum = there.heard();
        let resident = sum.min(region.resident);
        let part = |bytes: u64| match sum {
            0 => 0,
            sum => (u128::from(bytes) * u128::from(resident) / u128::from(sum)) as u64,
        };
        self.program += part(there.program);
        self.arenas += part(there.arenas);
        self.backing += part(there.backing);
        if region.is_accessible {
            self.unheard += region.length().saturating_sub(known);
            self.unheard_resident += region.resident - resident;
        }
    }

    fn heard(&self) -> u64 {
        self.program + self.arenas + self.backing
    }

    fn of_class(&mut self, class: Class) -> &mut u64 {
        match class {
            Class::Program => &mut self.program,
            Class::Arena(_) => &mut self.arenas,
            Class::Backing => &mut self.backing,
        }
    }

    /// As the trace tells of it; what is mapped at the very end is not less than what is resident of it.
    pub(super) fn counts(&self, mapped: &Amounts) -> [(&'static str, u64); 5] {
        [
            ("mapped_resident_bytes", self.program.min(mapped.program.bytes)),
            ("arena_resident_bytes", self.arenas.min(mapped.arenas.bytes)),
            ("backing_resident_bytes", self.backing.min(mapped.backing.bytes)),
            ("unheard_bytes", self.unheard),
            ("unheard_resident_bytes", self.unheard_resident),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Mappings, Pages};
    use super::*;
    use lifetrace_transport::message::{Place, Step, ThreadId};

    const PAGE: u64 = 4096;

    fn origin() -> Origin {
        Origin { class: Class::Program, backtrace: Box::default(), is_truncated: false }
    }

    fn map(mappings: &mut Mappings, pages: Pages) {
        let place = Place::new(pages.start * PAGE, (pages.end - pages.start) * PAGE);
        mappings.apply(ThreadId(0), Step::Mapped, place, origin);
    }

    fn counts(mappings: &Mappings) -> Vec<u64> {
        let counts = mappings.counts().into_iter();
        counts
            .filter(|it| it.name.contains("resident") || it.name.contains("unheard"))
            .map(|it| it.value)
            .collect()
    }

    #[test]
    fn who_has_what_is_told_apart_within_a_region() {
        let mut mappings = Mappings::default();
        // Two mappings, between them and behind them what nobody was heard to map; one is gone from the system.
        [10..14, 16..20, 90..95].into_iter().for_each(|pages| map(&mut mappings, pages));
        assert_eq!(counts(&mappings), [0; 0]);
        let region = Region::new(
            10 * PAGE..30 * PAGE,
            5 * PAGE,
            &[11 * PAGE..13 * PAGE, 19 * PAGE..22 * PAGE],
        );
        let mut hidden = Region::new(40 * PAGE..50 * PAGE, 0, &[]);
        hidden.is_accessible = false;
        mappings.see(&Seen(vec![region, hidden]));
        assert_eq!(counts(&mappings), [3, 0, 0, 12, 2].map(|pages| pages * PAGE));
    }

    #[test]
    fn pages_that_were_only_read_are_not_resident() {
        let mut mappings = Mappings::default();
        map(&mut mappings, 10..14);
        let range = 10 * PAGE..14 * PAGE;
        mappings.see(&Seen(vec![Region::new(range.clone(), PAGE, std::slice::from_ref(&range))]));
        assert_eq!(counts(&mappings), [PAGE, 0, 0, 0, 0]);
    }

    #[test]
    fn what_has_ended_since_is_not_told() {
        let mut mappings = Mappings::default();
        map(&mut mappings, 10..14);
        let range = 10 * PAGE..14 * PAGE;
        let region = Region::new(range.clone(), 4 * PAGE, std::slice::from_ref(&range));
        mappings.see(&Seen(vec![region]));
        mappings.apply(ThreadId(0), Step::Unmapped, Place::new(10 * PAGE, 3 * PAGE), origin);
        assert_eq!(counts(&mappings), [PAGE, 0, 0, 0, 0]);
    }
}
