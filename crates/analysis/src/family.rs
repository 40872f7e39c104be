//! Which of several traces is of a process that another one's process started.
//!
//! A process that was forked says whose trace goes on in it. One that became another program has two
//! traces with the same number, the later is the child of the earlier. Else the parent is the youngest
//! process with the parent's number that is older than the child: numbers are used again.

use lifetrace_trace::ids::Timestamp;

/// What a trace says of its process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The file name of its trace.
    pub file: String,
    /// Its number; 0 if that is not known.
    pub pid: u64,
    /// Its parent's number.
    pub parent_pid: Option<u64>,
    /// Number and file name of the trace of the process that it was forked from; the name may be empty.
    pub forked_from: Option<(u64, String)>,
    /// Whether its trace ended as it became another program.
    pub became_another: bool,
    /// When its trace begins.
    pub start: Timestamp,
}

/// A process among its relatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relative {
    /// Its number among the members.
    pub index: usize,
    /// The number of its parent, if that is there.
    pub parent: Option<usize>,
    /// How many ancestors are there.
    pub depth: usize,
}

/// All members, each after its parent, siblings in the order in which they began.
pub fn family(members: &[Member]) -> Vec<Relative> {
    let parents: Vec<_> = (0..members.len()).map(|index| parent(members, index)).collect();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); members.len() + 1];
    let mut by_age: Vec<_> = (0..members.len()).collect();
    by_age.sort_by_key(|&index| age(members, index));
    for &index in by_age.iter().rev() {
        children[parents[index].map_or(members.len(), |parent| parent)].push(index);
    }
    let mut waiting: Vec<_> = children[members.len()].iter().map(|&index| (index, 0)).collect();
    let mut family = Vec::with_capacity(members.len());
    while let Some((index, depth)) = waiting.pop() {
        family.push(Relative { index, parent: parents[index], depth });
        waiting.extend(children[index].iter().map(|&child| (child, depth + 1)));
    }
    family
}

/// A parent is always before its child in this order, so nobody is their own ancestor.
fn age(members: &[Member], index: usize) -> (Timestamp, usize) {
    (members[index].start, index)
}

fn parent(members: &[Member], index: usize) -> Option<usize> {
    let member = &members[index];
    let elder = || (0..members.len()).filter(|&it| age(members, it) < age(members, index));
    let named = |pid: u64| elder().filter(move |&it| pid > 0 && members[it].pid == pid);
    let youngest = |pid: u64| named(pid).max_by_key(|&it| age(members, it));
    let earlier_self = || youngest(member.pid).filter(|&it| members[it].became_another);
    let forked_from = member.forked_from.as_ref();
    let by_file = forked_from.filter(|(_, file)| !file.is_empty()).and_then(|(pid, file)| {
        elder().find(|&it| members[it].file == *file && members[it].pid == *pid)
    });
    by_file
        .or_else(|| forked_from.and_then(|&(pid, _)| youngest(pid)))
        .or_else(earlier_self)
        .or_else(|| member.parent_pid.and_then(youngest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn member(pid: u64, start: u64, parent_pid: u64) -> Member {
        let file = format!("{pid}.{start}.lt");
        Member {
            file,
            pid,
            parent_pid: Some(parent_pid),
            forked_from: None,
            became_another: false,
            start: Timestamp(start),
        }
    }

    fn forked(pid: u64, start: u64, parent: (u64, &str)) -> Member {
        Member {
            forked_from: Some((parent.0, parent.1.to_owned())),
            ..member(pid, start, parent.0)
        }
    }

    fn check(members: &[Member], expected: &[(usize, Option<usize>, usize)]) {
        let found = family(members);
        let found: Vec<_> = found.iter().map(|it| (it.index, it.parent, it.depth)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_fork_server_and_its_workers() {
        let members = [
            forked(12, 30, (10, "10.5.lt")),
            member(10, 5, 1),
            forked(11, 20, (10, "10.5.lt")),
            forked(13, 40, (12, "")),
        ];
        check(&members, &[(1, None, 0), (2, Some(1), 1), (0, Some(1), 1), (3, Some(0), 2)]);
    }

    #[test]
    fn a_process_that_became_another_program_is_its_child() {
        let members = [
            member(10, 1, 9),
            Member { became_another: true, ..forked(11, 5, (10, "10.1.lt")) },
            member(11, 6, 10),
            member(12, 7, 11),
        ];
        check(&members, &[(0, None, 0), (1, Some(0), 1), (2, Some(1), 2), (3, Some(2), 3)]);
    }

    #[test]
    fn numbers_are_used_again() {
        let members =
            [member(10, 1, 9), member(10, 100, 9), member(11, 50, 10), member(12, 150, 10)];
        check(&members, &[(0, None, 0), (2, Some(0), 1), (1, None, 0), (3, Some(1), 1)]);
    }

    #[test]
    fn strangers_are_unrelated() {
        let members = [member(3, 9, 2), member(0, 1, 0), member(0, 2, 0)];
        check(&members, &[(1, None, 0), (2, None, 0), (0, None, 0)]);
    }

    proptest! {
        /// Whatever traces say, all are listed once, after their parents.
        #[test]
        fn nobody_is_their_own_ancestor(
            all in prop::collection::vec((0u64..4, 0u64..4, 0u64..4, prop::option::of(0usize..6)), 0..8),
        ) {
            let mut members: Vec<_> =
                all.iter().map(|&(pid, start, parent, _)| member(pid, start, parent)).collect();
            for (index, &(.., from)) in all.iter().enumerate() {
                let from = from.and_then(|from| members.get(from)).map(|it| (it.pid, it.file.clone()));
                members[index].forked_from = from;
            }
            let found = family(&members);
            let mut listed: Vec<_> = found.iter().map(|it| it.index).collect();
            for (at, relative) in found.iter().enumerate() {
                if let Some(parent) = relative.parent {
                    let before = found[..at].iter().find(|it| it.index == parent).unwrap();
                    prop_assert_eq!(before.depth + 1, relative.depth);
                }
            }
            listed.sort_unstable();
            prop_assert!(listed.into_iter().eq(0..members.len()));
        }
    }
}
