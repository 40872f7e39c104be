//! What an allocator costs in instructions, a pair of an allocation and a release: counted by callgrind,
//! so the same whatever else the machine does. Only optimised code is counted.

#[path = "programs/pairs.rs"]
mod pairs;
mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use lifetrace::{Alloc, Recording, external};
use mimalloc::MiMalloc;
use pairs::{PAIRS, lifetrace_test_pairs};
use support::in_folder;
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOC: Alloc = Alloc::system();

#[test]
#[ignore = "run by its parent"]
fn child_before() {
    lifetrace_test_pairs();
}

#[test]
#[ignore = "run by its parent"]
fn child_during() {
    let session = Recording::new(in_folder("during.lt")).interval(1 << 40).start().unwrap();
    lifetrace_test_pairs();
    session.stop().unwrap();
}

#[test]
#[ignore = "run by its parent"]
fn child_after() {
    let session = Recording::new(in_folder("after.lt")).interval(1).start().unwrap();
    drop(black_box(vec![1u8; 1000]));
    session.stop().unwrap();
    lifetrace_test_pairs();
}

#[test]
#[ignore = "run by its parent"]
fn child_after_a_leak() {
    let session = Recording::new(in_folder("leak.lt")).interval(1).start().unwrap();
    std::mem::forget(black_box(vec![1u8; 1000]));
    session.stop().unwrap();
    lifetrace_test_pairs();
}

/// Tokens, each gone before the next, and nothing else.
#[unsafe(no_mangle)]
#[inline(never)]
fn lifetrace_test_tokens() {
    for _ in 0..PAIRS {
        drop(black_box(external("gpu", black_box(1000))));
    }
}

/// What is counted with them.
#[unsafe(no_mangle)]
#[inline(never)]
fn lifetrace_test_no_tokens() {
    for _ in 0..PAIRS {
        black_box(1000);
        black_box(u64::MAX);
    }
}

#[test]
#[ignore = "run by its parent"]
fn child_tokens_before() {
    lifetrace_test_tokens();
    lifetrace_test_no_tokens();
}

#[test]
#[ignore = "run by its parent"]
fn child_tokens_during() {
    let session = Recording::new(in_folder("tokens.lt")).interval(1 << 40).start().unwrap();
    lifetrace_test_tokens();
    session.stop().unwrap();
}

type Allocate = unsafe fn(usize, usize) -> *mut u8;
type Release = unsafe fn(*mut u8, usize, usize);

/// Pairs by an allocator that is not the program's, through functions as the compiler makes them of the
/// program's.
macro_rules! pairs_by {
    ($function:ident, $allocator:ident: $type:ty = $value:expr) => {
        static $allocator: $type = $value;

        #[unsafe(no_mangle)]
        #[inline(never)]
        fn $function() {
            #[inline(never)]
            unsafe fn allocate(size: usize, align: usize) -> *mut u8 {
                // SAFETY: the caller's contract.
                unsafe { $allocator.alloc(Layout::from_size_align_unchecked(size, align)) }
            }
            #[inline(never)]
            unsafe fn release(block: *mut u8, size: usize, align: usize) {
                // SAFETY: the caller's contract.
                unsafe {
                    $allocator.dealloc(block, Layout::from_size_align_unchecked(size, align));
                }
            }
            // Nothing is known of who is called, as elsewhere.
            let (allocate, release) = black_box((allocate as Allocate, release as Release));
            for size in 0..PAIRS {
                let size = black_box(16 + size as usize % 100);
                // SAFETY: blocks of a layout with a size, which are freed as they were allocated.
                unsafe { release(black_box(allocate(size, 8)), size, 8) };
            }
        }
    };
}

pairs_by!(lifetrace_test_mimalloc, BARE_MIMALLOC: MiMalloc = MiMalloc);
pairs_by!(lifetrace_test_in_mimalloc, IN_MIMALLOC: Alloc<MiMalloc> = Alloc::new(MiMalloc));
pairs_by!(lifetrace_test_jemalloc, BARE_JEMALLOC: Jemalloc = Jemalloc);
pairs_by!(lifetrace_test_in_jemalloc, IN_JEMALLOC: Alloc<Jemalloc> = Alloc::new(Jemalloc));
pairs_by!(lifetrace_test_shifted, BARE_SHIFTED: Shifted = Shifted::new());
pairs_by!(lifetrace_test_in_shifted, IN_SHIFTED: Alloc<Shifted> = Alloc::new(Shifted::new()));

/// An allocator with contents: blocks have a head of so many bytes.
struct Shifted(AtomicUsize);

impl Shifted {
    const fn new() -> Shifted {
        Shifted(AtomicUsize::new(16))
    }

    fn head(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

// SAFETY: a block is a part of a larger one of the system's, as aligned, since the head is as long as any
// alignment that is asked for here.
unsafe impl GlobalAlloc for Shifted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe {
            let whole = Layout::from_size_align_unchecked(layout.size() + self.head(), 16);
            System.alloc(whole).add(self.head())
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe {
            let whole = Layout::from_size_align_unchecked(layout.size() + self.head(), 16);
            System.dealloc(block.sub(self.head()), whole);
        }
    }
}

#[test]
#[ignore = "run by its parent"]
fn child_others() {
    // What is never written is a constant to the compiler, for the bare one alone.
    BARE_SHIFTED.0.store(black_box(16), Ordering::Relaxed);
    for pairs in [
        lifetrace_test_mimalloc,
        lifetrace_test_in_mimalloc,
        lifetrace_test_jemalloc,
        lifetrace_test_in_jemalloc,
        lifetrace_test_shifted,
        lifetrace_test_in_shifted,
    ] {
        pairs();
    }
}

/// Runs the pairs with the system's allocator alone.
fn bare(folder: &Path) -> Command {
    let program = folder.join("pairs");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/pairs.rs");
    let compiler = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let status = Command::new(compiler)
        .args(["--edition=2024", "-Copt-level=3", "-o"])
        .args([&program, &source])
        .status();
    assert!(status.expect("rustc can be run").success());
    Command::new(program)
}

/// Instructions of a pair, or of whatever else the function does so often.
fn count(program: &Command, function: &str, folder: &Path) -> f64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(format!("--toggle-collect={function}"))
        .arg(program.get_program())
        .args(program.get_args())
        .env(support::FOLDER, folder)
        .output()
        .expect("valgrind can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let collected = said.lines().find_map(|line| line.split_once("Collected : "));
    let (_, count) = collected.unwrap_or_else(|| panic!("no count in:\n{said}"));
    count.trim().parse::<f64>().unwrap() / PAIRS as f64
}

#[test]
#[cfg_attr(debug_assertions, ignore = "counts optimised code")]
fn an_allocator_without_a_session_costs_next_to_nothing() {
    if !has_valgrind() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let count = |program: &Command| count(program, "lifetrace_test_pairs", folder);
    let bare = count(&bare(folder));
    let more = |name| count(&support::child(name, folder)) - bare;
    let (before, after) = (more("child_before"), more("child_after"));
    let (leak, during) = (more("child_after_a_leak"), more("child_during"));
    println!(
        "bare {bare}: before {before:+}, after {after:+}, with a leak {leak:+}, during {during:+}"
    );
    assert!(before <= 2.0 && after <= 2.0, "before {before:+}, after {after:+}");
    assert!(leak <= 4.0 && during <= 14.0, "with a leak {leak:+}, during {during:+}");
}

#[test]
#[cfg_attr(debug_assertions, ignore = "counts optimised code")]
fn around_another_allocator_it_costs_two_instructions() {
    if !has_valgrind() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let count = |function: &str| count(&support::child("child_others", folder), function, folder);
    for inner in ["mimalloc", "jemalloc", "shifted"] {
        let bare = count(&format!("lifetrace_test_{inner}"));
        let more = count(&format!("lifetrace_test_in_{inner}")) - bare;
        println!("{inner}: bare {bare}, inside {more:+}");
        assert!(more <= 2.0, "{inner}: bare {bare}, inside {more:+}");
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "counts optimised code")]
fn a_token_that_is_not_sampled_costs_a_countdown() {
    if !has_valgrind() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let count =
        |name, function| count(&support::child(name, folder.path()), function, folder.path());
    let none = count("child_tokens_before", "lifetrace_test_no_tokens");
    let before = count("child_tokens_before", "lifetrace_test_tokens") - none;
    let during = count("child_tokens_during", "lifetrace_test_tokens") - none;
    println!("before {before:+}, during {during:+}");
    assert!(before <= 14.0 && during <= 21.0, "before {before:+}, during {during:+}");
}

fn has_valgrind() -> bool {
    let is_there = Command::new("valgrind").arg("--version").output().is_ok();
    if !is_there {
        eprintln!("skipped: no valgrind");
    }
    is_there
}
