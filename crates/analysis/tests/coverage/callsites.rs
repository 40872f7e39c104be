//! Each callsite by itself.

use super::RUNS;
use super::programs::{Course, Program};
use super::random::Random;
use super::score::Score;

/// From so many samples on, docs/sampling.md promises as much for a callsite as for the whole.
const MANY: u64 = 10;

#[test]
fn callsites_of_random_programs() {
    let (mut all, mut many, mut few) = <(Score, Score, Score)>::default();
    let (mut single, mut some) = <(Score, Score)>::default();
    let (mut even_objects, mut uneven_objects) = <(Score, Score)>::default();
    for run in 0..RUNS {
        let mut random = Random::of_run(run);
        let program = Program::new(&mut random, Course::Ramp);
        let seen = program.watch(random.next());
        let callsites = seen.callsites.iter().zip(&program.callsites).zip(&program.kinds);
        for (([allocated, _], truth), kind) in callsites {
            all.add(&allocated.bytes, truth.bytes);
            match allocated.samples {
                0 => continue,
                samples @ 1..MANY => {
                    few.add(&allocated.bytes, truth.bytes);
                    let class = if samples == 1 { &mut single } else { &mut some };
                    class.add(&allocated.bytes, truth.bytes);
                }
                MANY.. => {
                    many.add(&allocated.bytes, truth.bytes);
                    let objects =
                        if kind.is_even() { &mut even_objects } else { &mut uneven_objects };
                    objects.add(&allocated.objects, truth.objects);
                }
            }
        }
    }
    all.check_unbiased("callsites");
    many.check("bytes of callsites with 10 samples and more");
    even_objects.check("objects of callsites with 10 samples and more, of similar sizes");
    uneven_objects.print("objects of callsites with 10 samples and more, of all sizes");
    few.check("bytes of callsites with 1 to 9 samples");
    some.check("bytes of callsites with 2 to 9 samples");
    single.print("bytes of callsites with one sample");
    assert!((0.93..=0.98).contains(&single.coverage()), "{}", single.coverage());
}
