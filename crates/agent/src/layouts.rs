//! What the runtime's tables say of the code that was on stacks lately.
//!
//! To find a frame's caller takes the frame's size, which takes its code, which is read from the stack where
//! the callee's size says: each step waits for the one before. But code that recurses comes in the same
//! order again and again. So with each frame's layout stands which one came next when it was last seen. A walk
//! takes the next one to be that, and only compares the code that it reads with it: a processor that
//! foresees the comparison has several frames under way at once.

/// The layouts that are kept: more than a recursion mostly has calls.
const COUNT: usize = 256;

/// What is known of frames whose code is at an address.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Layout {
    code: u64,
    /// What such frames are called, or 0: nothing is known.
    pub(crate) name: u64,
    /// In bytes, from the frame's stack pointer to its caller's.
    pub(crate) size: u32,
    /// The place of the layout that came next.
    next: u32,
}

/// Some of them, each in a place that depends on the code. All zero is none.
#[derive(Debug)]
pub(crate) struct Layouts([Layout; COUNT]);

/// The place of a layout. Any number is one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place(u32);

impl Layouts {
    /// The layout of frames with that code, the caller's of those at `callee`, if it is known; and where it
    /// is, or may be put.
    #[inline]
    pub(crate) fn find(&mut self, callee: Place, code: u64) -> (Place, Option<Layout>) {
        let guess = Place(self.at(callee).next);
        if self.at(guess).code == code {
            return (guess, self.known(guess));
        }
        let place = place(code);
        self.0[index(callee)].next = place.0;
        (place, self.known(place).filter(|layout| layout.code == code))
    }

    /// Puts what was found out.
    pub(crate) fn put(&mut self, at: Place, code: u64, name: u64, size: u64) {
        if let Ok(size) = u32::try_from(size) {
            self.0[index(at)] = Layout { code, name, size, next: at.0 };
        }
    }

    #[inline]
    fn at(&self, place: Place) -> &Layout {
        &self.0[index(place)]
    }

    #[inline]
    fn known(&self, place: Place) -> Option<Layout> {
        Some(*self.at(place)).filter(|layout| layout.name != 0)
    }
}

impl Default for Layouts {
    fn default() -> Self {
        Layouts([Layout::default(); COUNT])
    }
}

/// Addresses after calls differ in all their lower bits.
#[inline]
fn place(code: u64) -> Place {
    Place((code.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32)
}

#[inline]
fn index(place: Place) -> usize {
    place.0 as usize % COUNT
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::random::Random;

    /// More codes than there are places, and 0, which is none.
    #[test]
    fn what_is_found_was_put() {
        let mut random = Random::new(1, 7);
        let (mut layouts, mut put) = (Layouts::default(), HashMap::new());
        let (mut at, mut found) = (Place::default(), 0);
        for round in 0..20_000u64 {
            let few = round / 1_000 % 2 == 0;
            let code = if few { round % 5 } else { random.word() % 800 };
            let (place, layout) = layouts.find(at, code);
            match layout {
                Some(layout) => {
                    found += 1;
                    assert_eq!(Some(&(layout.name, layout.size)), put.get(&code));
                }
                None => {
                    let (name, size) = (round + 1, round as u32);
                    layouts.put(place, code, name, size.into());
                    put.insert(code, (name, size));
                }
            }
            at = place;
        }
        assert!(found > 10_000, "{found}");
    }

    #[test]
    fn a_frame_that_is_too_large_is_looked_up_each_time() {
        let mut layouts = Layouts::default();
        let (place, _) = layouts.find(Place::default(), 5);
        layouts.put(place, 5, 6, 1 << 32);
        assert!(layouts.find(Place::default(), 5).1.is_none());
    }
}
