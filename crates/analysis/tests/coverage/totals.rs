//! The whole program.

use super::RUNS;
use super::programs::{Course, Program};
use super::random::Random;
use super::score::Score;

#[test]
fn totals_of_random_programs() {
    let (mut bytes, mut objects, mut live) = <(Score, Score, Score)>::default();
    for run in 0..RUNS {
        let mut random = Random::of_run(run);
        let program = Program::new(&mut random, Course::Ramp);
        let summary = program.watch(random.next()).profile.summary();
        bytes.add(&summary.allocated.bytes, program.truth.bytes);
        objects.add(&summary.allocated.objects, program.truth.objects);
        live.add(&summary.live.bytes, program.truth.live);
    }
    for (score, what) in [(bytes, "bytes"), (objects, "objects"), (live, "live")] {
        score.check(&format!("total {what}"));
        score.check_unbiased(what);
    }
}
