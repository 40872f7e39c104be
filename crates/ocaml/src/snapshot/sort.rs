//! Sorts of roots, and what they are called.

/// What roots are of one sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Globals,
    GlobalRoots,
    Finalisers,
    Threads,
    ThreadDescriptors,
    Stack,
    LocalRoots,
    Memprof,
    Other,
}

impl Sort {
    /// For people.
    pub(super) fn name(self) -> &'static [u8] {
        match self {
            Sort::Globals => b"globals",
            Sort::GlobalRoots => b"global roots of C code",
            Sort::Finalisers => b"finalisers",
            Sort::Threads => b"stacks of other threads",
            Sort::ThreadDescriptors => b"descriptors of threads",
            Sort::Stack => b"stack",
            Sort::LocalRoots => b"local roots of C code",
            Sort::Memprof => b"Gc.Memprof",
            Sort::Other => b"units linked at run time, and others",
        }
    }
}

/// Room for what roots of one sort are called.
pub(super) const MOST_CATEGORY: usize = 40;

impl Sort {
    /// For people, with the thread whose stack it is, if that is known.
    pub(super) fn name_of(self, thread: Option<u64>, room: &mut [u8; MOST_CATEGORY]) -> &[u8] {
        const OF_THREAD: &[u8] = b"stack of thread ";
        let (Sort::Stack | Sort::Threads, Some(mut thread)) = (self, thread) else {
            return self.name();
        };
        let mut first = MOST_CATEGORY;
        while first == MOST_CATEGORY || thread > 0 {
            first -= 1;
            room[first] = b'0' + (thread % 10) as u8;
            thread /= 10;
        }
        let begin = first - OF_THREAD.len();
        room[begin..first].copy_from_slice(OF_THREAD);
        &room[begin..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_called_by_their_threads() {
        let name = |sort: Sort, thread| sort.name_of(thread, &mut [0; MOST_CATEGORY]).to_vec();
        assert_eq!(name(Sort::Stack, Some(0)), b"stack of thread 0");
        assert_eq!(name(Sort::Threads, Some(u64::MAX)), b"stack of thread 18446744073709551615");
        assert_eq!(name(Sort::Threads, None), b"stacks of other threads");
        assert_eq!(name(Sort::Globals, Some(1)), b"globals");
    }
}
