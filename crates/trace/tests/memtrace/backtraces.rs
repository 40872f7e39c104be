//! Backtraces: prefixes, runs, evictions, truncation.

use lifetrace_trace::event::Event;
use lifetrace_trace::ids::LocationCode;
use lifetrace_trace::memtrace::{NewAllocation, Reader};

use crate::support::{Owned, START, allocation, codes, nowhere, read_whole, writer};

#[test]
fn common_prefixes_are_counted() {
    let stacks = [&[1, 2, 3][..], &[1, 2, 4], &[1, 2, 4, 5], &[9], &[9], &[]].map(codes);
    let trace = check_backtraces(&stacks);
    let mut reader = Reader::open(&trace[..]).unwrap();
    let mut prefixes = Vec::new();
    while let Some((_, event)) = reader.next().unwrap() {
        if let Event::Allocation(allocation) = event {
            prefixes.push(allocation.common_prefix);
        }
    }
    assert_eq!(prefixes, [0, 2, 3, 0, 1, 0]);
}

#[test]
fn a_known_prefix_is_only_a_hint() {
    let stacks = [&[1, 2, 3, 4][..], &[1, 2, 3, 5]].map(codes);
    let write = |known| {
        let mut writer = writer();
        writer.allocation(START, &allocation(&stacks[0]), &mut nowhere).unwrap();
        let hinted = NewAllocation { common_prefix: known, ..allocation(&stacks[1]) };
        writer.allocation(START, &hinted, &mut nowhere).unwrap();
        writer.finish().unwrap()
    };
    assert_eq!(write(0), write(2));
    assert_eq!(write(0), write(3));
}

/// OCaml's combined allocations have codes with other low bits; natively, codes count from 0.
#[test]
fn codes_are_opaque() {
    let odd = [0, 1, 2, 3, 0x7fff_1234_5678, 0x7fff_1234_5679, 0x7fff_1234_567a, (1 << 62) - 1];
    let negative = [u64::MAX, u64::MAX - 1, !0 << 62];
    let stack = codes(&[&odd[..], &negative].concat());
    let mut reversed = stack.clone();
    reversed.reverse();
    check_backtraces(&[stack.clone(), reversed, stack]);
}

#[test]
fn the_highest_bit_of_a_code_repeats_the_next() {
    let mut writer = writer();
    let backtrace = codes(&[1 << 63, 1 << 62]);
    writer.allocation(START, &allocation(&backtrace), &mut nowhere).unwrap();
    assert_eq!(backtraces(&writer.finish().unwrap()), [codes(&[0, 3 << 62])]);
}

#[test]
fn runs_of_every_length() {
    let recursion = |depth| [vec![5; depth], vec![6]].concat();
    let depths = [0, 1, 2, 3, 4, 253, 254, 255, 256, 257, 258, 510, 511, 512, 513, 514, 2000];
    let stacks: Vec<_> = depths.iter().map(|&depth| codes(&recursion(depth))).collect();
    check_backtraces(&stacks);
    let apart: Vec<_> = depths
        .iter()
        .map(|&depth| codes(&[vec![depth as u64 + 9], recursion(depth)].concat()))
        .collect();
    check_backtraces(&apart);
}

/// The codes of these frames all hash to slot 0, so each pushes out another.
#[test]
fn frames_that_push_each_other_out() {
    let colliding = |range: std::ops::Range<u64>| range.map(|n| LocationCode(n << 35)).collect();
    let stacks: Vec<Vec<_>> = (0..50).map(|n| colliding(n..n + n % 7)).collect();
    check_backtraces(&stacks);
}

/// Two functions that call each other or themselves at random: half of the predictions are right.
#[test]
fn deep_random_stacks_lose_their_innermost_frames() {
    let mut state = 1_u64;
    let mut bit = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        LocationCode(1 + (state >> 62 & 1))
    };
    let stacks: Vec<Vec<_>> = (0..20).map(|_| (0..10_000).map(|_| bit()).collect()).collect();
    let mut writer = writer();
    for stack in &stacks {
        writer.allocation(START, &allocation(stack), &mut nowhere).unwrap();
    }
    let found = backtraces(&writer.finish().unwrap());
    assert_eq!(found.len(), 20);
    for (found, stack) in found.iter().zip(&stacks) {
        assert!((3500..=4000).contains(&found.len()), "{} frames", found.len());
        assert_eq!(found[..], stack[..found.len()]);
    }
}

/// What follows a truncated backtrace is coded against all of it, of which the reader has only a part.
#[test]
fn after_a_truncated_stack_the_next_may_be_unknown() {
    let deep: Vec<_> = (1..=1000).map(LocationCode).collect();
    let deeper = [&deep[..], &codes(&[7])].concat();
    let other = codes(&[1, 2, 9]);
    let mut writer = writer();
    for stack in [&deep, &deeper, &other] {
        writer.allocation(START, &allocation(stack), &mut nowhere).unwrap();
    }
    let found = backtraces(&writer.finish().unwrap());
    let known = found[0].len();
    assert!((400..420).contains(&known), "{known} frames");
    assert_eq!(found, [deep[..known].to_vec(), deep[..known].to_vec(), other]);
}

fn backtraces(trace: &[u8]) -> Vec<Vec<LocationCode>> {
    let backtrace = |(_, event)| match event {
        Owned::Allocation { backtrace, .. } => Some(backtrace),
        _ => None,
    };
    read_whole(trace).into_iter().filter_map(backtrace).collect()
}

/// Writes one allocation per backtrace and checks that these are read.
#[track_caller]
fn check_backtraces(expected: &[Vec<LocationCode>]) -> Vec<u8> {
    let mut writer = writer();
    for backtrace in expected {
        writer.allocation(START, &allocation(backtrace), &mut nowhere).unwrap();
    }
    let trace = writer.finish().unwrap();
    assert_eq!(backtraces(&trace), expected);
    trace
}
