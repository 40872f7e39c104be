//! What holds roots, and what that is called.

/// What holds a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) sort: Sort,
    pub(super) owner: Owner,
    pub(super) frame: Option<Frame>,
}

/// Whose stack it is, as far as that is known and tells it from others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Owner {
    /// The number that the program's thread library gives it.
    pub(super) thread: Option<u64>,
    /// The number that `Domain.self` has, in a program with several.
    pub(super) domain: Option<u64>,
}

/// A frame that is on a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// Where its code goes on.
    pub(super) code: u64,
    /// Its descriptor.
    pub(super) slot: u64,
}

/// What roots are of one sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Globals,
    GlobalRoots,
    Finalisers,
    Threads,
    ThreadDescriptors,
    Stack,
    Handlers,
    LocalRoots,
    Memprof,
    Other,
}

/// Room for what roots of one sort are called.
pub(super) const MOST_CATEGORY: usize = 72;

impl Holder {
    /// Of whom nothing else is known.
    pub(super) fn of(sort: Sort) -> Holder {
        Holder::on_stack(sort, Owner::default())
    }

    /// The stack that is somebody's.
    pub(super) fn on_stack(sort: Sort, owner: Owner) -> Holder {
        Holder { sort, owner, frame: None }
    }

    /// For people, without the frame.
    pub(super) fn name<'a>(&self, room: &'a mut [u8; MOST_CATEGORY]) -> &'a [u8] {
        let Owner { thread, domain } = self.owner;
        if !matches!(self.sort, Sort::Stack | Sort::Threads) || self.owner == Owner::default() {
            return self.sort.name();
        }
        let mut text = Text { room, first: MOST_CATEGORY };
        for (of, number) in [(b" of domain ".as_slice(), domain), (b" of thread ", thread)] {
            if let Some(number) = number {
                text.put_number(number);
                text.put(of);
            }
        }
        text.put(b"stack");
        let Text { room, first } = text;
        &room[first..]
    }
}

impl Sort {
    fn name(self) -> &'static [u8] {
        match self {
            Sort::Globals => b"globals",
            Sort::GlobalRoots => b"global roots of C code",
            Sort::Finalisers => b"finalisers",
            Sort::Threads => b"stacks of other threads",
            Sort::ThreadDescriptors => b"descriptors of threads",
            Sort::Stack => b"stack",
            Sort::Handlers => b"handlers of effects",
            Sort::LocalRoots => b"local roots of C code",
            Sort::Memprof => b"Gc.Memprof",
            Sort::Other => b"units linked at run time, and others",
        }
    }
}

/// What is written from its end on.
struct Text<'a> {
    room: &'a mut [u8; MOST_CATEGORY],
    first: usize,
}

impl Text<'_> {
    fn put(&mut self, word: &[u8]) {
        let begin = self.first - word.len();
        self.room[begin..self.first].copy_from_slice(word);
        self.first = begin;
    }

    fn put_number(&mut self, mut number: u64) {
        loop {
            self.put(&[b'0' + (number % 10) as u8]);
            number /= 10;
            if number == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_called_by_their_owners() {
        let name = |sort: Sort, thread, domain| {
            let holder = Holder::on_stack(sort, Owner { thread, domain });
            holder.name(&mut [0; MOST_CATEGORY]).to_vec()
        };
        assert_eq!(name(Sort::Stack, Some(0), None), b"stack of thread 0");
        assert_eq!(name(Sort::Stack, None, Some(10)), b"stack of domain 10");
        let both = b"stack of thread 18446744073709551615 of domain 18446744073709551615";
        assert_eq!(name(Sort::Threads, Some(u64::MAX), Some(u64::MAX)), both);
        assert_eq!(name(Sort::Threads, None, None), b"stacks of other threads");
        assert_eq!(name(Sort::Globals, Some(1), Some(1)), b"globals");
    }
}
