use std::cell::Cell;
use std::collections::HashSet;
use std::vec::Vec;

use lifetrace_agent::chain::{Chain, Outer, State};
use lifetrace_agent::random::Random;
use lifetrace_transport::message::Run;

use super::fake::{CROSSING, Fake, numbers_of};
use super::search::STRETCH;
use super::{Layouts, Walk};

#[test]
fn a_walk_finds_what_is_there_and_looks_up_what_has_changed() {
    let mut random = Random::new(3, 9);
    let (mut fake, mut chain) = (Fake::default(), Chain::default());
    let mut before: Vec<State> = Vec::new();
    let (mut saved, mut was_whole) = (0, false);
    let mut layouts = Layouts::new();
    for round in 0..3_000 {
        let gone = (random.word() % 20).min(fake.frames.len() as u64) as usize;
        fake.frames.drain(..gone);
        for _ in 0..random.word() % 20 {
            fake.push(random.word() % 50 + 1);
        }
        if round % 4 == 0 {
            let code = random.word() % 4 + 1;
            (0..random.word() % 60).for_each(|_| fake.push(code));
        }
        if fake.frames.len() > 200 {
            fake.frames.drain(..150);
        }
        let Some(&first) = fake.frames.first() else { continue };
        if round % 40 == 0 {
            // A new session.
            layouts.clear();
            fake.told.clear();
            chain.clear();
            before.clear();
        }
        (fake.looked_up, fake.read) = (Cell::new(0), Cell::new(0));
        let most = if round % 10 == 0 { 5 } else { usize::MAX };
        let agreed = chain.agreed().frames;
        let is_whole = fake.walk(&mut chain, &mut layouts, first, most) == Walk::Whole;
        let walked = fake.frames.iter().take(most);
        let expected: Vec<u32> = walked.map(|it| fake.number(it.code)).collect();
        assert_eq!(numbers_of(chain.runs()), expected);
        assert_eq!(chain.frames(), expected.len());
        assert_eq!(is_whole, fake.frames.len() <= most);
        let callers = fake.frames.iter().rev().zip(before.iter().rev());
        let same = callers.take_while(|(one, other)| one == other).count();
        // A walk that was cut off has other outermost frames.
        let kept = if is_whole && was_whole { same } else { 0 };
        // Of those that stay the innermost may be taken for new if something was passed over to come to
        // them.
        let (found, expected) = (chain.agreed().frames, kept.min(agreed));
        assert!(found <= expected);
        let outermost_first = fake.frames.iter().rev();
        let missed = outermost_first.take(expected).skip(found);
        assert!(missed.clone().all(|it| it.code % CROSSING == 0), "{found} {expected}");
        if round % 3 == 0 {
            chain.agree(chain.whole());
        }
        was_whole = is_whole;
        if is_whole {
            let known: HashSet<(u64, u64)> = before.iter().map(|it| (it.stack, it.code)).collect();
            let new = fake.frames.iter().filter(|it| !known.contains(&(it.stack, it.code)));
            let crossings = fake.frames.iter().filter(|it| it.code % CROSSING == 0).count();
            // Of each part that stays the last frame may have to be looked up again.
            let bound = new.count() + 3 * crossings + 3;
            assert!(fake.looked_up.get() <= bound, "{} {bound}", fake.looked_up.get());
            saved += fake.frames.len().saturating_sub(fake.looked_up.get());
        }
        before = fake.frames[..chain.frames()].to_vec();
    }
    assert!(saved > 50_000, "{saved}");
}

fn walk(chain: &mut Chain, fake: &mut Fake, layouts: &mut Layouts) -> Walk {
    let first = fake.frames[0];
    fake.walk(chain, layouts, first, 100)
}

/// As deep as a function has recursed, and back, and in again by another way that is as deep.
#[test]
fn a_function_that_recurses_is_one_run_whose_depth_changes() {
    let (mut fake, mut chain) = (Fake::default(), Chain::default());
    let mut layouts = Layouts::new();
    (1..6).for_each(|code| fake.push(code));
    (0..90).for_each(|_| fake.push(9));
    let mut expect = |fake: &mut Fake, shape: &[&[usize]], agreed| {
        fake.read.set(0);
        assert_eq!(walk(&mut chain, fake, &mut layouts), Walk::Whole);
        assert_eq!(numbers_of(chain.runs()), fake.numbers());
        let frames: Vec<usize> = chain.runs().iter().map(|&run| Run(run).frames()).collect();
        assert_eq!(frames, shape.concat());
        assert_eq!(chain.agreed().frames, agreed);
        assert!(fake.read.get() < fake.frames.len() + 40, "{}", fake.read.get());
        chain.agree(chain.whole());
    };
    let single = [1; STRETCH - 1];
    expect(&mut fake, &[&single, &[90 - single.len()], &[1; 5]], 0);
    fake.frames.drain(..70);
    expect(&mut fake, &[&[20], &[1; 5]], 25);
    (0..60).for_each(|_| fake.push(9));
    expect(&mut fake, &[&single, &[60 - single.len(), 20], &[1; 5]], 25);
    // What is now in the run's midst was of the same size, and is not what it was.
    fake.frames.drain(..70);
    fake.push(12);
    (0..20).for_each(|_| fake.push(9));
    expect(&mut fake, &[&[11], &[1; 10], &[10], &[1; 5]], 15);
    // By the runs of another function, whose frames are of another size.
    fake.frames.drain(..);
    (1..6).for_each(|code| fake.push(code));
    (0..90).for_each(|_| fake.push(10));
    expect(&mut fake, &[&single, &[90 - single.len()], &[1; 5]], 5);
}

#[test]
fn a_run_that_is_too_long_is_several_and_one_that_is_too_deep_is_cut() {
    let (mut fake, mut chain) = (Fake::default(), Chain::default());
    let mut layouts = Layouts::new();
    (0..Run::MOST + 500).for_each(|_| fake.push(9));
    for most in [100, Run::MOST + 7, Run::MOST + 500, usize::MAX] {
        for push in [0, 1, 3] {
            (0..push).for_each(|_| fake.push(3));
            let first = fake.frames[0];
            let end = fake.walk(&mut chain, &mut layouts, first, most);
            assert_eq!(end == Walk::Whole, most >= fake.frames.len());
            let numbers: Vec<u32> = fake.numbers().into_iter().take(most).collect();
            assert_eq!(numbers_of(chain.runs()), numbers);
            assert_eq!(chain.frames(), numbers.len());
        }
    }
    chain.clear();
    let first = fake.frames[0];
    assert_eq!(fake.walk(&mut chain, &mut layouts, first, usize::MAX), Walk::Whole);
    assert_eq!(chain.runs().len(), 2 * STRETCH);
    // The longest run is not among these.
    assert_eq!(chain.outer(510), Outer { runs: STRETCH, frames: 500 - (STRETCH - 1 - 16) });
}

#[test]
fn what_the_recorder_could_not_be_told_of_is_no_walk() {
    let (mut fake, mut chain) = (Fake::default(), Chain::default());
    let mut layouts = Layouts::new();
    (1..6).for_each(|code| fake.push(code));
    assert_eq!(walk(&mut chain, &mut fake, &mut layouts), Walk::Whole);
    chain.agree(chain.whole());
    fake.is_deaf = true;
    fake.push(2);
    assert_eq!(walk(&mut chain, &mut fake, &mut layouts), Walk::Whole);
    let numbers = fake.numbers();
    fake.push(9);
    assert_eq!(walk(&mut chain, &mut fake, &mut layouts), Walk::Lost);
    assert_eq!(numbers_of(chain.runs()), numbers);
    fake.is_deaf = false;
    assert_eq!(walk(&mut chain, &mut fake, &mut layouts), Walk::Whole);
    assert_eq!((numbers_of(chain.runs()), chain.agreed().frames), (fake.numbers(), 5));
}

#[test]
fn walks_and_given_frames_have_nothing_in_common() {
    let (mut fake, mut chain) = (Fake::default(), Chain::default());
    let mut layouts = Layouts::new();
    (1..6).for_each(|code| fake.push(code));
    for _ in 0..3 {
        assert_eq!(walk(&mut chain, &mut fake, &mut layouts), Walk::Whole);
        assert_eq!((numbers_of(chain.runs()), chain.agreed().frames), (fake.numbers(), 0));
        chain.agree(chain.whole());
        let is_taken = chain.take(&[6, 5], |_, numbers| {
            numbers.copy_from_slice(&[6, 5]);
            true
        });
        assert!(is_taken);
        assert_eq!((chain.runs(), chain.agreed().frames), (&[6, 5][..], 0));
        chain.agree(chain.whole());
    }
}
