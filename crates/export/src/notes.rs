//! What every export says of where its numbers come from.

use std::borrow::Cow;

use lifetrace_analysis::{Amount, Estimate, Metric, Sampling};
use lifetrace_human as human;
use lifetrace_import::Lack;
use lifetrace_report::{Known, unit_name};
use lifetrace_study::Reading;
use lifetrace_study::Study;
use lifetrace_trace::fact::Sampler;

/// One line each, for people.
pub fn notes(study: &Study) -> Vec<String> {
    let reading = &study.reading;
    let summary = reading.profile.summary();
    let info = reading.trace.info();
    let mut notes = vec![
        format!("lifetrace {}", env!("CARGO_PKG_VERSION")),
        format!("pid {} on {}: {}", info.pid, info.host_name, command(reading)),
        trust(reading),
        "± is half of the 95 % interval".to_owned(),
    ];
    let origin = reading.origin();
    notes.extend(origin.note());
    let totals = [
        (Metric::Allocated, "allocated", &summary.allocated),
        (Metric::Live, "live at the end", &summary.live),
        (Metric::Peak, "live at the peak", &summary.peak.amount),
    ];
    let totals = totals.into_iter().filter(|(metric, ..)| origin.tells(*metric));
    let tells_objects = !origin.lacks(Lack::Objects);
    notes.extend(totals.map(|(_, what, amount)| total(what, amount, tells_objects)));
    notes.extend(study.choice.sentences());
    notes.iter().map(|note| human::printable(note).into_owned()).collect()
}

/// The command on one line, and in brackets what its numbers rest on, unless they are exact, what was
/// chosen, and the remark: for formats that have no other place for it.
pub fn annotated_command(study: &Study, remark: Option<String>) -> String {
    let reading = &study.reading;
    let is_exact = reading.profile.summary().sampling.is_exact();
    let notes = (!is_exact).then(|| trust(reading)).into_iter();
    let notes = notes.chain(reading.origin().note());
    let notes: Vec<_> = notes.chain(study.choice.sentences()).chain(remark).collect();
    let command = command(reading);
    match notes.is_empty() {
        true => command,
        false => human::printable(&format!("{command} [{}]", notes.join("; "))).into_owned(),
    }
}

fn command(reading: &Reading) -> String {
    let Known { info, facts, .. } = Known::of(reading);
    let context = info.context.clone().filter(|context| !context.is_empty());
    let command = context.or_else(|| facts?.command());
    human::printable(command.as_ref().unwrap_or(&info.executable_name)).into_owned()
}

/// The program's name.
pub fn program(reading: &Reading) -> Cow<'_, str> {
    let path = &reading.trace.info().executable_name;
    human::printable(path.rsplit('/').next().unwrap_or(path))
}

/// What the numbers rest on.
pub fn trust(reading: &Reading) -> String {
    let summary = reading.profile.summary();
    if reading.origin().lacks(Lack::Sampling) {
        return "nobody tells how it was sampled".to_owned();
    }
    if let Some(caveat) = reading.origin().caveat() {
        return human::printable(caveat).into_owned();
    }
    match summary.sampling.is_exact() {
        true => format!("exact, of all {} allocations", summary.samples),
        false => format!(
            "estimated from {} sampled allocations, one sample every {} on average ({})",
            summary.samples,
            interval(&summary.sampling),
            rates(reading, summary.sampling.rate())
        ),
    }
}

fn interval(sampling: &Sampling) -> String {
    match sampling.interval_bytes() {
        0.0 => format!("{:.0} objects", sampling.interval_objects()),
        bytes => format!("{bytes:.0} bytes"),
    }
}

/// How each source of samples was sampled.
fn rates(reading: &Reading, first: f64) -> String {
    let samplers = reading.facts.samplers.values();
    let rates: Vec<_> = samplers
        .map(|Sampler { name, rate, unit, .. }| {
            format!("{} at a rate of {rate:.3e} per {}", human::printable(name), unit_name(*unit))
        })
        .collect();
    match rates.is_empty() {
        true => format!("at a rate of {first:.3e} per word"),
        false => rates.join(", "),
    }
}

fn total(what: &str, amount: &Amount, tells_objects: bool) -> String {
    let bytes = number(&amount.bytes);
    match tells_objects {
        true => {
            let (objects, samples) = (number(&amount.objects), amount.samples);
            format!("{what}: {bytes} bytes, {objects} objects ({samples} samples)")
        }
        false => format!("{what}: {bytes} bytes"),
    }
}

/// All digits, since it is compared with sums of other numbers.
fn number(estimate: &Estimate) -> String {
    match estimate.variance > 0.0 {
        true => format!("{:.0} ± {:.0}", estimate.value, estimate.interval95()),
        false => format!("{:.0}", estimate.value),
    }
}
