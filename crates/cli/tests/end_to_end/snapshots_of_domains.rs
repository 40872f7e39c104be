//! Snapshots of programs of OCaml 5 alone: with several domains, and with fibers.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread;

use lifetrace_trace::lth::Form;

use crate::snapshots_of_ocaml::{of_length, snapshots};
use crate::support::run::Target;
use crate::support::running::Running;
use crate::support::snapshot::Snapshot;

const SOURCE: &str = include_str!("../../../../fixtures/targets/ocaml/held_by_fibers.ml");

/// What `held_by_fibers.ml` says of itself is so: each thing is on that stack, in the frame of that function.
pub fn check_fibers(program: &Path) {
    let target = Target::new(&[program]);
    let (bare, recording) =
        (target.bare(), target.record(&["--snapshot-at-exit", "--rate", "1e-3"]));
    assert_eq!((recording.outcome.code, &recording.outcome.stdout), (0, &bare.stdout));
    let [ref path] = snapshots(&recording)[..] else { panic!("{:?}", recording.traces()) };
    let snapshot = Snapshot::read(path);
    let printed = recording.outcome.stdout_text();
    let lines = printed.lines().map(|line| {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        (words[1].parse().unwrap(), words[2], words[3])
    });
    let lines: Vec<(u64, &str, &str)> = lines.collect();
    assert_eq!(lines.len(), 9, "{lines:?}");
    for (length, function, stack) in lines {
        let [block] = of_length(&snapshot, length)[..] else { panic!("{length} {function}") };
        match stack {
            "continuation" => check_continuation(&snapshot, block),
            "handlers of effects" => check_by_handlers(&snapshot, block),
            stack => check_frame(&snapshot, block, function, stack),
        }
    }
    // The way over each stack was the runtime's own.
    let is_vague = |category: &str| matches!(category, "stack" | "stacks of other threads");
    let is_stack = |category: &str| category.starts_with("stack");
    for (root, _) in &snapshot.roots {
        assert!(!is_vague(&root.category), "{root:?}");
        assert!(root.name.is_some() || !is_stack(&root.category), "{root:?}");
    }
    // At the program's end its functions and variables are known as well.
    let closures = snapshot.blocks.iter().filter(|block| block.kind.form == Form::Closure);
    assert!(closures.clone().any(|block| block.kind.name.starts_with("Held_by_fibers.")));
    let variables = snapshot.roots.iter().filter_map(|(root, _)| root.name.as_deref());
    assert!(variables.clone().any(|name| name.starts_with("Held_by_fibers, field ")));
}

fn check_frame(snapshot: &Snapshot, block: usize, function: &str, stack: &str) {
    let marks = [
        ("in_thread", "(* in a thread *)"),
        ("in_domain", "(* in a domain *)"),
        ("in_fiber", "(* at last *)"),
        ("in_parent", "(* and waits *)"),
    ];
    let (_, mark) = marks.iter().find(|(name, _)| *name == function).unwrap();
    let line = 1 + SOURCE.lines().position(|line| line.contains(mark)).unwrap();
    let frame = format!("Held_by_fibers.{function} (held_by_fibers.ml:{line})");
    let roots = snapshot.roots.iter().filter(|(_, to)| *to == block as u64);
    let found: BTreeSet<_> =
        roots.map(|(root, _)| (&*root.category, root.name.as_deref().unwrap())).collect();
    assert_eq!(found, BTreeSet::from([(stack, &*frame)]));
}

/// Both fibers are one continuation's, which waits where the inner one does.
fn check_continuation(snapshot: &Snapshot, block: usize) {
    let holders: Vec<_> = snapshot.referrers(block).map(|block| &*block.kind.name).collect();
    assert_eq!(holders, ["continuation in Held_by_fibers.suspended"]);
    let by_globals = snapshot.held_by(|root| &*root.category == "globals");
    assert!(by_globals[block]);
    let by_others = snapshot.held_by(|root| &*root.category != "globals");
    assert!(!by_others[block]);
}

fn check_by_handlers(snapshot: &Snapshot, block: usize) {
    let by_handlers = snapshot.held_by(|root| &*root.category == "handlers of effects");
    assert!(by_handlers[block]);
}

/// Snapshots of domains that compute, asked for by several at the same time: each is answered, and the program goes on.
pub fn check_churning(program: &Path) {
    const ASKING: usize = 2;
    const EACH: usize = 4;
    let mut running = Running::of(program, &[], &["--rate", "1e-3"]);
    let ask = |who: usize| {
        for number in 0..EACH {
            let path = running.folder.path().join(format!("{who}-{number}.lth"));
            let path = path.to_str().unwrap();
            let asked = running.snapshot(&["-q", "--wait", "1h", "-o", path]);
            assert_eq!((asked.code, &*asked.stderr_text()), (0, ""), "{who} {number}");
        }
    };
    thread::scope(|scope| {
        for who in 0..ASKING {
            let ask = &ask;
            scope.spawn(move || ask(who));
        }
    });
    assert_eq!(running.files().len(), ASKING * EACH);
    for path in running.files() {
        let snapshot = Snapshot::read(&path);
        let cells = snapshot.blocks.iter().filter(|block| block.bytes == 3 * 8).count();
        assert!(cells >= 100_000, "{cells}");
        for number in 1..=4 {
            check_held_by_domain(&snapshot, number);
        }
    }
    running.tell(b"enough\n");
    assert_eq!(running.finish(), (Some(0), "ended 100000 10000\n".to_owned()));
}

/// What a domain holds all the while is there once, on its own stack, in the frame of its function.
fn check_held_by_domain(snapshot: &Snapshot, number: u64) {
    let held = of_length(snapshot, 1_000 * number);
    let [block] = held[..] else { panic!("{number}: {held:?}") };
    let roots = snapshot.roots.iter().filter(|(_, to)| *to == block as u64);
    let holders: BTreeSet<_> = roots
        .map(|(root, _)| (&*root.category, root.name.as_deref().unwrap().split(' ').next()))
        .collect();
    let stack = format!("stack of domain {number}");
    assert_eq!(holders, BTreeSet::from([(&*stack, Some("Churning_domains.churn"))]));
}
