//! What lived when most lived.

use lifetrace_trace::ids::Timestamp;

use super::RUNS;
use super::programs::{Course, Program};
use super::random::Random;
use super::score::Score;

#[derive(Default)]
struct Peaks {
    /// The estimate at the moment of the true peak.
    true_moment: Score,
    /// The highest estimate, against the true peak, whenever that was.
    height: Score,
    /// The highest estimate, against what truly lived then.
    estimated_moment: Score,
    /// Callsites at the moment of the highest estimate.
    callsites: Score,
}

fn peaks(course: Course) -> Peaks {
    let mut peaks = Peaks::default();
    for run in 0..RUNS {
        let mut random = Random::of_run(run);
        let program = Program::new(&mut random, course);
        let seen = program.watch(random.next());
        let highest = seen.profile.summary().peak;
        let moment = Timestamp(highest.time.as_micros() as u64);
        peaks.true_moment.add(&seen.at_true_peak.bytes, program.truth.at_peak);
        peaks.height.add(&highest.amount.bytes, program.truth.at_peak);
        peaks.estimated_moment.add(&highest.amount.bytes, program.live_at(moment));
        for ([_, peak], truth) in seen.callsites.iter().zip(&program.callsites) {
            if peak.samples >= 10 && course == Course::Ramp {
                peaks.callsites.add(&peak.bytes, truth.at_peak);
            }
        }
    }
    peaks
}

#[test]
fn a_peak_that_stands_out() {
    let peaks = peaks(Course::Ramp);
    peaks.true_moment.check("ramp, at the true peak's moment");
    peaks.height.check("ramp, the highest estimate against the true peak");
    peaks.estimated_moment.check("ramp, the highest estimate against what lived then");
    peaks.callsites.check("ramp, callsites with 10 samples at the estimated peak");
}

/// The highest of many estimates that are nearly as high is too high more often than not: the truth is
/// seldom above the interval, and more often below it.
#[test]
fn a_peak_among_many() {
    let peaks = peaks(Course::Plateau);
    peaks.true_moment.check("plateau, at the true peak's moment");
    peaks.height.print("plateau, the highest estimate against the true peak");
    peaks.estimated_moment.print("plateau, the highest estimate against what lived then");
    assert!(peaks.height.above() <= 0.025, "{}", peaks.height.above());
    assert!(peaks.estimated_moment.above() <= 0.025, "{}", peaks.estimated_moment.above());
    assert!((0.5..0.8).contains(&peaks.height.shift()), "{}", peaks.height.shift());
    assert!((0.9..1.2).contains(&peaks.estimated_moment.shift()));
}
