//! The list of what could not be read.

use super::error::{Cause, Damage};

/// More are only counted.
const MAX_LISTED: usize = 1000;

/// What could not be read so far. Neighbouring losses become one.
#[derive(Debug, Default)]
pub(super) struct Damages {
    listed: Vec<Damage>,
    count: u64,
    /// Whether nothing was read since the last one.
    is_open: bool,
}

impl Damages {
    pub(super) fn listed(&self) -> &[Damage] {
        &self.listed
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// So many bytes from `offset` on tell nothing.
    pub(super) fn add(&mut self, offset: u64, bytes: u64, cause: Cause) {
        if self.is_open {
            if let Some(last) = self.listed.last_mut() {
                last.bytes = (offset + bytes).saturating_sub(last.offset).max(last.bytes);
            }
            return;
        }
        self.is_open = true;
        self.count += 1;
        if self.listed.len() < MAX_LISTED {
            self.listed.push(Damage { offset, bytes, births: None, cause });
        }
    }

    /// What follows can be read again, and so many births are missing, if that is known.
    pub(super) fn close(&mut self, births: Option<u64>) {
        if std::mem::take(&mut self.is_open)
            && let Some(last) = self.listed.last_mut()
            && self.count <= MAX_LISTED as u64
        {
            last.births = births;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_become_one() {
        let mut damages = Damages::default();
        damages.add(10, 5, Cause::Bytes);
        damages.add(15, 100, Cause::Missing);
        damages.close(Some(3));
        damages.close(None);
        damages.add(200, 1, Cause::Cut);
        let expected = [
            Damage { offset: 10, bytes: 105, births: Some(3), cause: Cause::Bytes },
            Damage { offset: 200, bytes: 1, births: None, cause: Cause::Cut },
        ];
        assert_eq!(damages.listed(), expected);
        assert_eq!(damages.count(), 2);
    }
}
