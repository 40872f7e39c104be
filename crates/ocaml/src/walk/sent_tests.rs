//! What is told of walks.

use std::vec::Vec;

use lifetrace_agent::managed::Managed;
use lifetrace_agent::random::Random;
use lifetrace_transport::message::{BacktraceDelta, FRAMES_LEFT_OUT, MANAGED_FRAME};

use super::Layouts;
use super::fake::Fake;

const ALL: usize = 1 << 20;
const LEFT_OUT: u32 = (FRAMES_LEFT_OUT & !MANAGED_FRAME) as u32;

/// What a recorder makes of the differences, outermost frame first.
#[derive(Default)]
struct Recorder {
    stack: Vec<u32>,
    has_one: bool,
}

impl Recorder {
    fn hear(&mut self, delta: &BacktraceDelta<'_>) -> Vec<u32> {
        assert!(self.has_one || delta.shared == 0);
        self.stack.truncate(delta.shared as usize);
        self.stack.extend(delta.fresh.iter().rev().map(|word| (word & !MANAGED_FRAME) as u32));
        self.has_one = true;
        self.stack.iter().rev().copied().collect()
    }
}

fn is_told(managed: &mut Managed, recorder: &mut Recorder) -> Vec<u32> {
    let heard = recorder.hear(&managed.delta());
    managed.mark_sent();
    heard
}

/// As a recorder is to have it.
fn at_most(limit: usize, numbers: &[u32]) -> Vec<u32> {
    if numbers.len() <= limit {
        return numbers.to_vec();
    }
    let inner = limit / 2;
    let outer = limit - inner - 1;
    let ends = [&numbers[..inner], &[LEFT_OUT], &numbers[numbers.len() - outer..]];
    ends.concat()
}

/// Walks, some of which are never told, and some are lost on the way.
#[test]
fn the_recorder_hears_what_was_walked_whatever_was_lost() {
    for limit in [3, 4, 9, 60, ALL] {
        let mut random = Random::new(4, limit as u64);
        let (mut managed, mut recorder) = (Managed::default(), Recorder::default());
        let (mut fake, mut layouts) = (Fake::default(), Layouts::new());
        let (mut saved, mut frames_in_runs) = (0, 0);
        for round in 0..2_000u64 {
            let gone = (random.word() % 12).min(fake.frames.len() as u64) as usize;
            fake.frames.drain(..gone);
            (0..random.word() % 12).for_each(|_| fake.push(random.word() % 9 + 1));
            if round % 8 == 0 {
                (0..random.word() % 60).for_each(|_| fake.push(round % 3 + 1));
            }
            if fake.frames.len() > 100 {
                fake.frames.drain(..70);
            }
            let Some(&first) = fake.frames.first() else { continue };
            fake.walk(&mut managed.chain, &mut layouts, first, ALL);
            let numbers = fake.numbers();
            if random.word().is_multiple_of(8) {
                continue;
            }
            assert!(managed.take_walk(limit, false));
            if round % 13 == 0 {
                managed.forget();
                recorder.has_one = false;
                continue;
            }
            saved += managed.delta().shared as usize;
            let fresh = managed.delta().fresh;
            frames_in_runs += fresh.len() - fresh.runs().len();
            assert_eq!(is_told(&mut managed, &mut recorder), at_most(limit, &numbers));
        }
        assert!(saved > 500 && (limit < 60 || frames_in_runs > 500), "{saved} {frames_in_runs}");
    }
}
