//! What a callstack has in place of its frames, if they were found in the runtime's place.
//!
//! It is one word, an immediate below all addresses: no slot is like it. Of the numbers of walks only the
//! lower bits are there: the callback comes before so many others.

use crate::waiting::Place;

/// Slots are addresses, and nothing is mapped below this.
const LOWEST_SLOT: u64 = 1 << 16;

/// What stands in a callstack in place of its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ticket {
    /// Nothing could be found out.
    Lost,
    /// The backtrace is among those that wait.
    Waiting(Place),
    /// It is the thread's, of the walk with this number.
    Walked(u64),
}

impl Ticket {
    const WALKS: u64 = 1 << 14;

    /// An immediate that is no slot.
    pub(crate) fn word(self) -> u64 {
        const { assert!(Place::NUMBERS < Self::WALKS) };
        let number = match self {
            Ticket::Lost => 0,
            Ticket::Waiting(place) => 1 + place.number(),
            Ticket::Walked(walk) => Self::WALKS + walk % Self::WALKS,
        };
        number << 1 | 1
    }

    /// Of a callstack, if it is one.
    pub(crate) fn of(frames: &[u64]) -> Option<Ticket> {
        let [word] = frames else { return None };
        (*word < LOWEST_SLOT).then(|| match word >> 1 {
            0 => Ticket::Lost,
            walk @ Self::WALKS.. => Ticket::Walked(walk - Self::WALKS),
            place => Ticket::Waiting(Place::of(place - 1)),
        })
    }

    /// As it is read again.
    pub(crate) fn rounded(self) -> Ticket {
        Ticket::of(&[self.word()]).unwrap_or(Ticket::Lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_are_read_again() {
        let places = (0..Place::NUMBERS).map(|number| Ticket::Waiting(Place::of(number)));
        let walks = (0..40_000).map(Ticket::Walked);
        for ticket in places.chain(walks).chain([Ticket::Lost]) {
            assert!(ticket.word() % 2 == 1 && ticket.word() < LOWEST_SLOT);
            assert_eq!(Ticket::of(&[ticket.word()]), Some(ticket.rounded()));
        }
        assert_eq!(Ticket::Walked(3).rounded(), Ticket::Walked(3));
        assert_ne!(Ticket::Walked(3).rounded(), Ticket::Walked(4).rounded());
        assert_eq!(Ticket::of(&[]), None);
        assert_eq!(Ticket::of(&[1, 1]), None);
        assert_eq!(Ticket::of(&[0x40_0001]), None);
    }
}
