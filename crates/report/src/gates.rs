//! `--fail-if`: what was found of each condition, for people and for programs.

use lifetrace_analysis::gate::{ChangeGate, Finding, Gate, Measure};
use lifetrace_analysis::interval::Interval;
use lifetrace_analysis::metric::Unit;
use lifetrace_analysis::statistics::{Change, Growth, Shape};
use lifetrace_analysis::{Amount, Metric, Summary};
use lifetrace_human as human;
use serde::Serialize;

use super::shapes::shape_name;

/// A condition and what was found. Its fields are those of `--json`.
#[derive(Debug, Serialize)]
pub struct Judged {
    condition: String,
    metric: &'static str,
    /// Whether `value` and the like are shares of what was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    relative: Option<bool>,
    limit: f64,
    value: f64,
    low95: f64,
    high95: f64,
    /// What would make it true of the process's memory, where it is not true of what was sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    resident: Option<f64>,
    /// Of growth.
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<&'static str>,
    significant: bool,
    /// Whether the condition is true, as far as `--strict` or its interval decide that.
    pub failed: bool,
    #[serde(skip)]
    is_beyond: bool,
    /// Whether the program has memory that was not heard, of which anything may be true.
    #[serde(skip)]
    is_open: bool,
    /// What was found, and what it rests on.
    #[serde(skip)]
    sentence: String,
    /// What was found of the process's memory.
    #[serde(skip)]
    beside: String,
}

/// A process's memory, of which little was sampled.
pub struct Beside {
    /// Bytes, or bytes an hour.
    pub value: f64,
    /// How little that is, and what the rest may be.
    pub sentence: String,
}

/// Said of a condition that cannot be judged.
const UNHEARD: &str =
    "\n  the program has memory that was not heard, so there may be any amount beside";
const UNHEARD_UNLESS_STRICT: &str = "\n  the program has memory that was not heard, so there may be any amount beside; --strict takes it for true";

impl Judged {
    /// Of a trace, whose amounts are exact only if there is no caveat.
    pub fn of_trace(
        gate: &Gate,
        caveat: Option<&str>,
        summary: &Summary,
        growth: Option<&Growth>,
        is_strict: bool,
    ) -> Self {
        let (finding, measure) = (gate.judge(summary, growth), gate.measure());
        let is_exact = summary.sampling.is_exact();
        let blocks = samples(measure, summary);
        let rests_on = match measure {
            Measure::Growth => {
                format!("{} in {}", sampled(blocks, is_exact), human::duration(summary.duration))
            }
            _ => sampled(blocks, is_exact),
        };
        let kind = finding.shape.map(|shape| format!("; {}", told(shape))).unwrap_or_default();
        let sentence = format!(
            "{}{}, from {rests_on}{kind}",
            described(measure, finding.value),
            match caveat.filter(|_| is_exact) {
                Some(caveat) => format!(" (as the file has it; {})", human::printable(caveat)),
                None => {
                    within(&finding.interval, is_exact && measure != Measure::Growth, |number| {
                        quantity(measure, number)
                    })
                }
            },
        );
        let (condition, limit) = (gate.to_string(), gate.limit());
        let judged = Self::new((condition, limit), measure, None, &finding, is_strict, sentence);
        if summary.sampling.hears_all() { judged } else { judged.opened(is_strict) }
    }

    /// A budget that what was sampled keeps and the process does not is not simply kept.
    pub fn compared(self, gate: &Gate, beside: Option<Beside>) -> Self {
        let is_kept = !(self.failed || self.is_beyond || self.is_open);
        match beside.filter(|beside| is_kept && gate.is_exceeded_by(beside.value)) {
            None => self,
            Some(Beside { value, sentence }) => {
                Self { resident: Some(value.round()), beside: sentence, ..self }
            }
        }
    }

    /// What was heard does not tell that a condition is not true.
    fn opened(self, is_strict: bool) -> Self {
        Self { is_open: true, failed: self.failed || is_strict, ..self }
    }

    /// Of a change, with the sampled blocks of both sides.
    pub fn of_change(
        gate: &ChangeGate,
        change: &Change,
        samples: [u64; 2],
        is_strict: bool,
    ) -> Self {
        let (finding, measure) = (gate.judge(change), gate.measure());
        let is_relative = gate.is_relative();
        let shown = |number: f64| if is_relative { share(number) } else { more(measure, number) };
        let is_exact = finding.interval.low == finding.interval.high;
        let [before, after] = [change.before(), change.after()].map(|it| quantity(measure, it));
        let sentence = format!(
            "{}: {}{}, from {before} to {after}; {} sampled blocks before, {} after",
            measure.name(),
            shown(finding.value),
            within(&finding.interval, is_exact, shown),
            human::count(samples[0] as f64),
            human::count(samples[1] as f64),
        );
        let (condition, limit) = (gate.to_string(), gate.limit());
        Self::new((condition, limit), measure, Some(is_relative), &finding, is_strict, sentence)
    }

    fn new(
        (condition, limit): (String, f64),
        measure: Measure,
        relative: Option<bool>,
        finding: &Finding,
        is_strict: bool,
        sentence: String,
    ) -> Self {
        // More decimals mean nothing, and are not the same everywhere.
        let scale = if relative == Some(true) { 1e6 } else { 1e3 };
        let rounded = |number: f64| (number * scale).round() / scale;
        Self {
            condition,
            metric: measure.name(),
            relative,
            limit,
            value: rounded(finding.value),
            low95: rounded(finding.interval.low),
            high95: rounded(finding.interval.high),
            resident: None,
            shape: finding.shape.map(shape_name),
            significant: finding.is_significant,
            failed: finding.fails(is_strict),
            is_beyond: finding.is_beyond,
            is_open: false,
            sentence,
            beside: String::new(),
        }
    }

    /// Nothing if the condition is not even likely.
    pub fn message(&self) -> Option<String> {
        let Self { condition, sentence, .. } = self;
        let (head, remedy) = match (self.failed, self.significant, self.is_beyond) {
            (true, true, _) => ("condition is true", ""),
            (true, _, _) if self.is_open => {
                ("condition cannot be judged, which --strict takes for true", UNHEARD)
            }
            (false, _, _) if self.is_open => ("condition cannot be judged", UNHEARD_UNLESS_STRICT),
            (true, false, _) => ("condition may be true, which --strict takes for true", ""),
            (false, _, true) => ("condition may be true, or that is noise", self.remedy()),
            (false, _, false) if self.resident.is_some() => {
                let head = "condition is not true of what was sampled, but of the process's memory";
                return Some(format!("{head}: {condition}\n  {sentence}\n  {}", self.beside));
            }
            (false, _, false) => return None,
        };
        Some(format!("{head}: {condition}\n  {sentence}{remedy}"))
    }

    fn remedy(&self) -> &'static str {
        if self.shape.is_some() {
            "\n  a longer recording would tell; --strict takes it for true"
        } else {
            "\n  denser sampling would tell (see lifetrace rate); --strict takes it for true"
        }
    }
}

/// The metric that has a measure.
pub fn metric(measure: Measure) -> Metric {
    match measure {
        Measure::Live | Measure::Leaked | Measure::Growth => Metric::Live,
        Measure::Allocated => Metric::Allocated,
        Measure::Peak => Metric::Peak,
        Measure::Objects => Metric::Objects,
    }
}

/// The sampled blocks that a measure rests on.
pub fn samples(measure: Measure, summary: &Summary) -> u64 {
    let Amount { samples, .. } = match measure {
        Measure::Live | Measure::Leaked => summary.live,
        Measure::Allocated | Measure::Objects | Measure::Growth => summary.allocated,
        Measure::Peak => summary.peak.amount,
    };
    samples
}

fn sampled(blocks: u64, is_exact: bool) -> String {
    let count = human::count(blocks as f64);
    match (blocks, is_exact) {
        (_, true) => format!("all {count} blocks"),
        (1, false) => "1 sampled block".to_owned(),
        (_, false) => format!("{count} sampled blocks"),
    }
}

fn described(measure: Measure, value: f64) -> String {
    let amount = quantity(measure, value);
    match measure {
        Measure::Live => format!("{amount} live at the end"),
        Measure::Leaked => format!("{amount} were never freed, that is live at the end"),
        Measure::Allocated => format!("{amount} allocated"),
        Measure::Peak => format!("{amount} live at the peak"),
        Measure::Objects => format!("{amount} objects allocated"),
        Measure::Growth => format!("live bytes grow by {amount}"),
    }
}

/// The interval in brackets.
fn within(interval: &Interval, is_exact: bool, shown: impl Fn(f64) -> String) -> String {
    let Interval { low, high } = *interval;
    match (low.is_finite(), high.is_finite()) {
        _ if is_exact => " (exactly)".to_owned(),
        (true, true) => format!(" (95 % interval: {} to {})", shown(low), shown(high)),
        (true, false) => format!(" (95 % interval: {} or more)", shown(low)),
        (false, true) => format!(" (95 % interval: {} or less)", shown(high)),
        (false, false) => " (nothing lived long enough to tell)".to_owned(),
    }
}

fn quantity(measure: Measure, number: f64) -> String {
    let sign = if number < 0.0 { "-" } else { "" };
    let bytes = human::bytes(number.abs());
    match (metric(measure).unit(), measure) {
        (Unit::Objects, _) => human::count(number),
        (_, Measure::Growth) => format!("{sign}{bytes}/h"),
        _ => format!("{sign}{bytes}"),
    }
}

fn more(measure: Measure, number: f64) -> String {
    let sign = if number < 0.0 { "-" } else { "+" };
    format!("{sign}{}", quantity(measure, number.abs()))
}

fn share(share: f64) -> String {
    if share.is_infinite() { "new".to_owned() } else { format!("{:+.1} %", 100.0 * share) }
}

fn told(shape: Shape) -> &'static str {
    match shape {
        Shape::Line => "they grow steadily",
        Shape::Steps => "they grow by few large steps",
        Shape::Plateau => "they are on a plateau, which is no growth",
        Shape::StartUp => "what lives was allocated at the start, which is no growth",
        Shape::Unknown => "whether that goes on cannot be told",
    }
}
