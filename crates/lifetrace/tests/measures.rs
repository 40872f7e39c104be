//! Exact measurements, of several threads at once.

mod support;

use std::hint::black_box;

use lifetrace::testing::{measure, measure_process};
use lifetrace::{Alloc, Recording};
use support::workload::{workload_kept, workload_short_lived};
use support::{child, success};

#[global_allocator]
static ALLOC: Alloc = Alloc::system();

#[inline(never)]
fn leaky(bytes: usize) {
    std::mem::forget(black_box(vec![1u8; bytes]));
}

#[test]
fn all_figures_are_exact() {
    let m = measure(|| {
        let one = black_box(vec![0u8; 1000]);
        let two = black_box(Box::new([0u8; 500]));
        drop(one);
        drop(two);
        black_box(vec![0u8; 700])
    });
    assert_eq!((m.allocated_blocks, m.allocated_bytes, m.peak_bytes), (3, 2200, 1500));
    assert_eq!((m.leaked_blocks, m.leaked_bytes, m.lost), (0, 0, 0));
    assert_eq!(m.leaks, []);
    let account = std::cell::Cell::default();
    let m = measure(|| account.set(workload_short_lived(5000)));
    let account = account.get();
    assert_eq!((m.allocated_blocks, m.allocated_bytes), (account.blocks, account.bytes));
}

#[test]
fn growth_is_bytes_and_shrinkage_a_new_block() {
    let m = measure(|| {
        let mut vector = Vec::<u8>::with_capacity(100);
        vector.reserve_exact(300);
        assert_eq!(vector.capacity(), 300);
        black_box(&vector);
    });
    assert_eq!((m.allocated_blocks, m.allocated_bytes, m.peak_bytes), (1, 300, 300));
    let m = measure(|| {
        let mut vector = Vec::<u8>::with_capacity(1000);
        vector.push(black_box(1));
        vector.shrink_to(200);
        assert_eq!(vector.capacity(), 200);
        std::mem::forget(vector);
    });
    assert_eq!((m.allocated_blocks, m.leaked_blocks, m.leaked_bytes), (2, 1, 200));
}

#[test]
fn a_leak_says_whose_it_is() {
    let m = measure(|| {
        (0..black_box(3)).for_each(|_| leaky(100));
        leaky(1000);
    });
    assert_eq!((m.leaked_blocks, m.leaked_bytes), (4, 1300));
    assert_eq!((m.leaks[0].bytes, m.leaks[1].bytes, m.leaks[1].blocks), (1000, 300, 3));
    let said = m.to_string();
    let first = said.lines().nth(4).unwrap();
    assert!(first.starts_with("  leaky  ") || first.starts_with("  measures::leaky  "), "{said}");
    assert!(said.contains("1300 bytes in 4 blocks live on"), "{said}");
    assert!(said.contains("leaky") && said.contains("measures.rs:"), "{said}");
}

#[test]
fn one_is_inside_another() {
    let mut inner = None;
    let outer = measure(|| {
        leaky(10);
        inner = Some(measure(|| leaky(7)));
        leaky(20);
    });
    assert_eq!(inner.unwrap().leaked_bytes, 7);
    assert!(outer.leaked_bytes >= 37, "{outer}");
    let places = outer.leaks.iter().map(|leak| leak.bytes);
    assert_eq!(places.filter(|bytes| [7, 10, 20].contains(bytes)).count(), 3, "{outer}");
}

#[test]
fn other_threads_may_free_but_do_not_count() {
    let kept = std::cell::Cell::default();
    let m = measure(|| {
        let blocks = workload_kept(50);
        let others = std::thread::scope(|scope| {
            scope
                .spawn(move || {
                    drop(blocks);
                    workload_kept(30)
                })
                .join()
                .unwrap()
        });
        kept.set(others);
    });
    // A thread's own machinery is its parent's.
    assert!(m.allocated_blocks >= 51 && m.leaked_blocks <= 5, "{m}");
    assert_eq!(kept.take().len(), 30);
}

#[test]
fn threads_measure_side_by_side() {
    std::thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || {
                for round in 1..30 {
                    let m = measure(|| (0..round).for_each(|_| leaky(thread + 1)));
                    let leaked = (round * (thread + 1)) as u64;
                    assert_eq!((m.leaked_blocks, m.leaked_bytes), (round as u64, leaked), "{m}");
                }
            });
        }
    });
}

#[test]
fn a_panic_goes_on_and_the_measurement_is_over() {
    let result = std::panic::catch_unwind(|| measure(|| panic!("as planned")));
    assert_eq!(result.unwrap_err().downcast_ref(), Some(&"as planned"));
    assert_eq!(measure(|| leaky(3)).leaked_bytes, 3);
}

/// Alone in its process.
#[test]
fn a_process_is_measured_and_others_sessions_are_in_the_way() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["child_measures_all_threads", "child_has_a_session"] {
        success(child(name, folder.path()).output().unwrap());
    }
}

#[test]
#[ignore = "run by its parent"]
fn child_measures_all_threads() {
    let m = measure_process(|| {
        std::thread::scope(|scope| {
            (0..4).for_each(|_| drop(scope.spawn(|| (0..black_box(25)).for_each(|_| leaky(100)))));
        });
    });
    let ours = m.leaks.iter().filter(|leak| leak.backtrace.to_string().contains("leaky"));
    assert_eq!(ours.map(|leak| leak.bytes).sum::<u64>(), 10_000, "{m}");
    println!("{m}");
}

#[test]
#[ignore = "run by its parent"]
fn child_has_a_session() {
    let session = Recording::live().start().unwrap();
    let panic = std::panic::catch_unwind(|| measure(|| ())).unwrap_err();
    let said = panic.downcast_ref::<String>().unwrap();
    assert!(said.contains("there is a session already"), "{said}");
    session.stop().unwrap();
    assert_eq!(measure(|| leaky(3)).leaked_bytes, 3);
}
