//! What a callstack has in place of its frames, if they were found in the runtime's place.
//!
//! It is one word, an immediate below all addresses: no slot is like it.

use crate::waiting::Place;

/// Slots are addresses, and nothing is mapped below this.
const LOWEST_SLOT: u64 = 1 << 16;

/// What stands in a callstack in place of its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ticket {
    /// Nothing could be found out.
    Lost,
    /// The callback, which comes at once, is to walk. Of the blocks that the innermost frame allocates
    /// together it is this one, at most [`LAST_BLOCK`](Self::LAST_BLOCK).
    Wanted(u32),
    /// The backtrace is among those that wait.
    Waiting(Place),
}

impl Ticket {
    /// The compiler counts them in a byte.
    pub(crate) const LAST_BLOCK: u32 = 255;

    /// What word asks for a walk for the first block; the next ones' are 2 more each.
    pub(crate) const FIRST_WANTED: u64 = immediate(1);

    /// Numbers from this one on are places.
    const PLACES: u64 = 2 + Self::LAST_BLOCK as u64;

    /// An immediate that is no slot.
    pub(crate) fn word(self) -> u64 {
        const { assert!(immediate(Self::PLACES + Place::NUMBERS) < LOWEST_SLOT) };
        match self {
            Ticket::Lost => immediate(0),
            Ticket::Wanted(block) => Self::FIRST_WANTED + 2 * u64::from(block),
            Ticket::Waiting(place) => immediate(Self::PLACES + place.number()),
        }
    }

    /// Of a callstack, if it is one.
    pub(crate) fn of(frames: &[u64]) -> Option<Ticket> {
        let [word] = frames else { return None };
        (*word < LOWEST_SLOT).then(|| match word >> 1 {
            0 => Ticket::Lost,
            number if number < Self::PLACES => Ticket::Wanted(number as u32 - 1),
            number => Ticket::Waiting(Place::of(number - Self::PLACES)),
        })
    }
}

const fn immediate(number: u64) -> u64 {
    number << 1 | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_are_read_again() {
        let places = (0..Place::NUMBERS).map(|number| Ticket::Waiting(Place::of(number)));
        let blocks = (0..=Ticket::LAST_BLOCK).map(Ticket::Wanted);
        for ticket in places.chain(blocks).chain([Ticket::Lost]) {
            assert!(ticket.word() % 2 == 1 && ticket.word() < LOWEST_SLOT);
            assert_eq!(Ticket::of(&[ticket.word()]), Some(ticket));
        }
        assert_eq!(Ticket::of(&[]), None);
        assert_eq!(Ticket::of(&[1, 1]), None);
        assert_eq!(Ticket::of(&[0x40_0001]), None);
    }
}
