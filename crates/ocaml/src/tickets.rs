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
    /// The callback is to walk.
    Wanted,
    /// The backtrace is among those that wait.
    Waiting(Place),
}

impl Ticket {
    /// Numbers from this one on are places.
    const PLACES: u64 = 2;

    /// An immediate that is no slot.
    pub(crate) fn word(self) -> u64 {
        const { assert!((Self::PLACES + Place::NUMBERS) << 1 < LOWEST_SLOT) };
        let number = match self {
            Ticket::Lost => 0,
            Ticket::Wanted => 1,
            Ticket::Waiting(place) => Self::PLACES + place.number(),
        };
        number << 1 | 1
    }

    /// Of a callstack, if it is one.
    pub(crate) fn of(frames: &[u64]) -> Option<Ticket> {
        let [word] = frames else { return None };
        (*word < LOWEST_SLOT).then(|| match word >> 1 {
            0 => Ticket::Lost,
            1 => Ticket::Wanted,
            place => Ticket::Waiting(Place::of(place - Self::PLACES)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_are_read_again() {
        let places = (0..Place::NUMBERS).map(|number| Ticket::Waiting(Place::of(number)));
        for ticket in places.chain([Ticket::Lost, Ticket::Wanted]) {
            assert!(ticket.word() % 2 == 1 && ticket.word() < LOWEST_SLOT);
            assert_eq!(Ticket::of(&[ticket.word()]), Some(ticket));
        }
        assert_eq!(Ticket::of(&[]), None);
        assert_eq!(Ticket::of(&[1, 1]), None);
        assert_eq!(Ticket::of(&[0x40_0001]), None);
    }
}
