//! How much memory an input may make us take: a packed file of a few kilobytes can ask for all there is.

/// Memory that may still be taken.
#[derive(Debug)]
pub struct Budget {
    left: usize,
    whole: usize,
}

impl Budget {
    /// So many bytes.
    pub fn new(bytes: usize) -> Self {
        Self { left: bytes, whole: bytes }
    }

    /// Takes some of it.
    ///
    /// # Errors
    /// If there is less; the message says what to make of that.
    pub fn take(&mut self, bytes: usize) -> Result<(), String> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| {
            let most = self.whole >> 20;
            format!("what the file tells would take more than {most} MiB of memory from here on")
        })?;
        Ok(())
    }

    /// Gives some of it back.
    pub fn give_back(&mut self, bytes: usize) {
        self.left = self.left.saturating_add(bytes).min(self.whole);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_can_be_taken_again() {
        let mut budget = Budget::new(10);
        budget.take(10).unwrap();
        assert!(budget.take(1).unwrap_err().contains("more than 0 MiB"));
        budget.give_back(4);
        budget.take(4).unwrap();
        assert!(budget.take(1).is_err());
    }
}
