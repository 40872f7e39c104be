//! A walk that remembers the last one against a walk that doesn't.

use std::hint::black_box;
use std::vec::Vec;

use lifetrace_agent::backtrace::Backtraces;
use lifetrace_agent::lock::Patience;
use lifetrace_agent::random::Random;

use super::engine;
use super::walker::Walk;
use crate::modules;

struct Check {
    random: Random,
    remembering: Backtraces,
    /// The stack as a recorder has it, outermost frame first.
    told: Vec<u64>,
    readable: core::ops::Range<u64>,
    walks: usize,
    fresh: usize,
    frames: usize,
}

impl Check {
    #[inline(never)]
    fn compare(&mut self) {
        let mut forgetful = Backtraces::default();
        for backtraces in [&mut self.remembering, &mut forgetful] {
            assert_eq!(
                engine::walk(1, Patience::Short, 0, &mut self.readable, backtraces),
                Walk::Complete
            );
        }
        let delta = self.remembering.delta();
        self.told.truncate(delta.shared as usize);
        self.told.extend(delta.fresh.iter().rev());
        self.fresh += delta.fresh.len();
        let whole: Vec<u64> = forgetful.delta().fresh.iter().rev().collect();
        // The innermost frames are the walk's own, and that of the call above, of which the compiler
        // may make two.
        let outer = |frames: &[u64]| frames[..frames.len() - 2].to_vec();
        assert_eq!(outer(&self.told), outer(&whole));
        self.remembering.mark_sent();
        self.walks += 1;
        self.frames += whole.len();
    }
}

/// Calls itself and others at random, with frames of different shapes in between.
#[inline(never)]
fn wander(check: &mut Check, depth: usize) -> u64 {
    // Not always, so that a caller is sometimes met again at another line than last time.
    if check.random.word().is_multiple_of(2) {
        check.compare();
    }
    let mut sum = black_box(depth as u64);
    for turn in 0..check.random.word() % 4 {
        if depth == 0 || check.walks > 20_000 {
            break;
        }
        sum += match check.random.word() % 5 {
            0 => wander(check, depth - 1),
            1 => wander(check, depth - 1) + 1,
            2 => wide(check, depth - 1),
            3 => over_aligned(check, depth - 1),
            _ => through_a_pointer(check, depth - 1, wander),
        };
        sum ^= turn;
    }
    sum
}

#[inline(never)]
fn wide(check: &mut Check, depth: usize) -> u64 {
    let words = black_box([depth as u64; 300]);
    let sum = wander(check, depth);
    sum + words[black_box(7)]
}

#[inline(never)]
fn over_aligned(check: &mut Check, depth: usize) -> u64 {
    #[repr(align(256))]
    struct Aligned([u64; 8]);
    let words = black_box(Aligned([depth as u64; 8]));
    let sum = wander(check, depth);
    sum + words.0[black_box(3)]
}

#[inline(never)]
fn through_a_pointer(
    check: &mut Check,
    depth: usize,
    function: fn(&mut Check, usize) -> u64,
) -> u64 {
    black_box(function)(check, depth) + 1
}

#[test]
fn what_is_remembered_is_what_would_be_found() {
    engine::prepare();
    engine::publish(modules::map_for_tests());
    let mut check = Check {
        random: Random::new(5, 5),
        remembering: Backtraces::default(),
        told: Vec::new(),
        readable: 0..0,
        walks: 0,
        fresh: 0,
        frames: 0,
    };
    while check.walks < 20_000 {
        let until = check.walks;
        wander(&mut check, 25);
        if until.is_multiple_of(5) {
            // Modules have come or gone.
            engine::publish(modules::map_for_tests());
        }
    }
    let Check { walks, fresh, frames, .. } = check;
    assert!(fresh * 3 < frames, "{walks} walks, {fresh} fresh of {frames} frames");
}

/// Calls `function` at the top of another stack, which is all zeros above that.
#[cfg(target_arch = "x86_64")]
fn on_another_stack(function: extern "C" fn()) {
    let mut stack = std::vec![0u128; 1 << 13];
    let middle = stack[1 << 12..].as_mut_ptr();
    // SAFETY: there are 64 KiB below and above, and both registers get back what they had.
    unsafe {
        core::arch::asm!(
            "mov r12, rsp",
            "mov r13, rbp",
            "mov rsp, {middle}",
            "xor ebp, ebp",
            "call {function}",
            "mov rsp, r12",
            "mov rbp, r13",
            middle = in(reg) middle,
            function = in(reg) function,
            out("r12") _,
            out("r13") _,
            clobber_abi("C"),
        );
    }
}

/// For the unwinder the caller's frame is on the same stack, where it reads a return address of 0. The
/// first walk looks closer, the second has rules at hand, and the last meets frames.
#[cfg(target_arch = "x86_64")]
extern "C" fn walk_to_zero() {
    let (mut readable, mut remembering) = (0..0, Backtraces::default());
    let mut lengths = Vec::new();
    for turn in 0..4 {
        let mut forgetful = Backtraces::default();
        let backtraces = if turn < 2 { &mut forgetful } else { &mut remembering };
        let end = engine::walk(2, Patience::Short, 0, &mut readable, black_box(backtraces));
        assert_eq!(end, Walk::Complete);
        let frames: Vec<u64> = backtraces.delta().fresh.iter().collect();
        assert!(!frames.contains(&0), "{frames:x?}");
        lengths.push(frames.len());
    }
    assert!(lengths[0] > 0 && lengths.iter().all(|&length| length == lengths[0]), "{lengths:?}");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_return_address_of_zero_ends_the_stack() {
    engine::prepare();
    engine::publish(modules::map_for_tests());
    on_another_stack(walk_to_zero);
}
