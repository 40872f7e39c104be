//! Where an imported trace comes from, and what it cannot answer: blocks that were made of another
//! profiler's sums look like any others, but not all that can be computed of them is known.

mod needs;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::bail;
use lifetrace_analysis::Metric;
use lifetrace_analysis::gate::Gate;
use lifetrace_human as human;
use lifetrace_human::named::Named;
use lifetrace_import::{CLOCK, Lack, lacks};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::facts::Facts;
use crate::question::ViewName;

pub use needs::{of_filter, of_measure, of_metric};

/// Where a trace comes from. One of our own tells all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The profiler; nothing if the trace was recorded as such.
    from: Option<String>,
    lacks: BTreeSet<Lack>,
    /// What a microsecond of the trace stands for, if for no microsecond.
    clock: Option<String>,
    /// How exactly times are known.
    times: Option<String>,
    /// Which peak it is that is told.
    peak: Option<String>,
    /// How many frames have no names, if some have none.
    nameless: Option<String>,
}

/// An [`Origin`] as fields of a document.
#[derive(Serialize)]
pub struct Fields {
    from: String,
    lacks: Vec<&'static str>,
    clock: Option<String>,
    peak: Option<String>,
}

impl Origin {
    /// As a trace's facts have it.
    pub fn of(facts: &Facts) -> Self {
        Self::of_labels(facts.labels.iter().map(|(key, value)| (&**key, &**value)))
    }

    /// As a trace's labels have it.
    pub fn of_labels<'a>(labels: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let (mut origin, mut is_made) = (Self::default(), false);
        for (key, value) in labels {
            match key {
                lacks::FROM => origin.from = Some(value.to_owned()),
                lacks::MADE => is_made = true,
                lacks::TIMES => origin.times = Some(value.to_owned()),
                lacks::PEAK => origin.peak = Some(value.to_owned()),
                lacks::NAMELESS => origin.nameless = Some(value.to_owned()),
                CLOCK => origin.clock = Some(value.to_owned()),
                _ => origin.lacks.extend(Lack::ALL.into_iter().find(|lack| lack.key() == key)),
            }
        }
        if origin.from.is_none() {
            return Self::default();
        }
        if is_made && origin.lacks.is_empty() {
            origin.add_what_earlier_imports_lack();
        }
        origin
    }

    /// Versions before 0.2 said in prose only what the trace does not tell.
    fn add_what_earlier_imports_lack(&mut self) {
        self.lacks.extend([Lack::Times, Lack::Lifetimes, Lack::Sizes, Lack::Threads]);
        let is_dhat = self.from.as_ref().is_some_and(|from| from.starts_with("DHAT"));
        self.lacks.extend((!is_dhat).then_some(Lack::Peak));
    }

    /// Of this and another trace, added up.
    pub fn and(self, other: Self) -> Self {
        let from = [self.from, other.from].into_iter().flatten().collect::<BTreeSet<_>>();
        let from: Vec<_> = from.into_iter().collect();
        Self {
            from: (!from.is_empty()).then(|| from.join(", ")),
            lacks: &self.lacks | &other.lacks,
            clock: self.clock.or(other.clock),
            times: self.times.or(other.times),
            peak: self.peak.or(other.peak),
            nameless: self.nameless.or(other.nameless),
        }
    }

    /// The metric that is meant if nobody says.
    pub fn usual_metric(&self) -> Metric {
        let usual = [Metric::Allocated, Metric::Live, Metric::Peak];
        usual.into_iter().find(|metric| self.tells(*metric)).unwrap_or(Metric::Allocated)
    }

    /// Refuses a report that cannot be made.
    ///
    /// # Errors
    /// If the trace lacks something of that.
    pub fn refuse_report(&self, path: &Path, view: ViewName, metric: Metric) -> anyhow::Result<()> {
        self.refuse(path, &format!("the view {}", view.name()), view.needs())?;
        let Some(metric) = view.metric(metric) else { return Ok(()) };
        self.refuse(path, &format!("the metric {}", metric.name()), of_metric(metric))
    }

    /// Refuses conditions that cannot be judged.
    ///
    /// # Errors
    /// If the trace lacks something of that.
    pub fn refuse_gates(&self, path: &Path, gates: &[Gate]) -> anyhow::Result<()> {
        gates.iter().try_for_each(|gate| {
            self.refuse(path, &format!("the condition '{gate}'"), of_measure(gate.measure()))
        })
    }

    /// Whether something is not known.
    pub fn lacks(&self, lack: Lack) -> bool {
        self.lacks.contains(&lack)
    }

    /// Whether a metric means anything.
    pub fn tells(&self, metric: Metric) -> bool {
        self.has(of_metric(metric))
    }

    /// Why amounts are not called exact that the trace has in full.
    pub fn caveat(&self) -> Option<&str> {
        match self.lacks(Lack::Sampling) {
            true => Some("it does not tell how it was sampled"),
            false => self.peak.as_deref(),
        }
    }

    /// What a microsecond of the trace stands for, if for no microsecond.
    pub fn clock(&self) -> Option<&str> {
        self.clock.as_deref()
    }

    /// For every page.
    pub fn note(&self) -> Option<String> {
        let mut note = format!("imported from {}", human::printable(self.from.as_ref()?));
        if !self.lacks.is_empty() {
            note += &format!(", whose file does not tell {}", listed(&self.lacks));
        }
        for remark in [&self.clock, &self.times].into_iter().flatten() {
            note += &format!("; times: {}", human::printable(remark));
        }
        if let Some(remark) = &self.peak {
            note += &format!("; what is told: {}", human::printable(remark));
        }
        if let Some(remark) = &self.nameless {
            note += &format!("; {}", human::printable(remark));
        }
        Some(note)
    }

    /// Its fields in documents; nothing of a trace that was recorded as such.
    pub fn fields(&self) -> Option<Fields> {
        let from = self.from.clone()?;
        let lacks = self.lacks.iter().map(|lack| lack.name()).collect();
        let (clock, peak) = (self.clock.clone(), self.peak.clone());
        Some(Fields { from, lacks, clock, peak })
    }

    /// Refuses what cannot be answered: `what` is asked of the trace at `path`.
    ///
    /// # Errors
    /// If the trace lacks something of that.
    pub fn refuse(&self, path: &Path, what: &str, needs: &[Lack]) -> anyhow::Result<()> {
        let missing: BTreeSet<_> = needs.iter().filter(|it| self.lacks(**it)).copied().collect();
        let Some(from) = self.from.as_ref().filter(|_| !missing.is_empty()) else { return Ok(()) };
        bail!(
            "{}: {what} cannot be answered: it rests on {}, which this import from {} does not tell\n  {}",
            path.display(),
            listed(&missing),
            human::printable(from),
            self.what_can_be_asked(),
        )
    }

    fn what_can_be_asked(&self) -> String {
        let views = ViewName::ALL.iter().filter(|view| self.has(view.needs()));
        let metrics = Metric::ALL.into_iter().filter(|metric| self.tells(*metric));
        let views: Vec<_> = views.map(|view| view.name()).collect();
        let metrics: Vec<_> = metrics.map(Metric::name).collect();
        format!(
            "what it does tell: the views {}; the metrics {} (see docs/import.md)",
            views.join(", "),
            metrics.join(", ")
        )
    }

    fn has(&self, needs: &[Lack]) -> bool {
        !needs.iter().any(|lack| self.lacks(*lack))
    }

    /// Takes numbers out of a document that are not known: they become `null`.
    pub fn silence(&self, document: &mut Value) {
        match document {
            Value::Object(fields) if !self.lacks.is_empty() => self.silence_fields(fields),
            Value::Array(items) => items.iter_mut().for_each(|item| self.silence(item)),
            _ => {}
        }
    }

    /// Takes numbers out of an object's fields that are not known: they become `null`.
    pub fn silence_fields(&self, fields: &mut Map<String, Value>) {
        for (key, value) in fields {
            match needs::of_field(key).is_some_and(|lack| self.lacks(lack)) {
                true => *value = Value::Null,
                false => self.silence(value),
            }
        }
    }
}

fn listed(lacks: &BTreeSet<Lack>) -> String {
    lacks.iter().map(|lack| lack.words()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(labels: &[(&str, &str)]) -> Origin {
        Origin::of_labels(labels.iter().copied())
    }

    #[test]
    fn a_trace_of_our_own_lacks_nothing() {
        let own = origin(&[("commit", "abc"), ("import.lacks.times", "")]);
        assert_eq!((own.note(), own.lacks(Lack::Times)), (None, false));
        assert!(own.refuse(Path::new("t"), "x", &Lack::ALL).is_ok());
    }

    #[test]
    fn an_import_says_what_it_lacks() {
        let import = origin(&[(lacks::FROM, "x 1"), ("import.lacks.peak", "")]);
        assert_eq!(import.note().unwrap(), "imported from x 1, whose file does not tell the peak");
        let said = import.refuse(Path::new("t"), "the view peak", &[Lack::Peak]).unwrap_err();
        assert!(said.to_string().starts_with("t: the view peak cannot be answered"), "{said}");
        let mut document = serde_json::json!({"peak": {"bytes": 1}, "a": [{"peak": 2, "b": 3}]});
        import.silence(&mut document);
        assert_eq!(document, serde_json::json!({"peak": null, "a": [{"peak": null, "b": 3}]}));
    }

    #[test]
    fn the_usual_metric_is_one_that_is_told() {
        let lacking = |lacks: &[Lack]| {
            let labels: Vec<_> = lacks.iter().map(|lack| (lack.key(), "")).collect();
            origin(&[&[(lacks::FROM, "x")][..], &labels].concat()).usual_metric()
        };
        assert_eq!(lacking(&[]), Metric::Allocated);
        assert_eq!(lacking(&[Lack::Allocated]), Metric::Live);
        assert_eq!(lacking(&[Lack::Allocated, Lack::Live]), Metric::Peak);
        assert_eq!(lacking(&[Lack::Allocated, Lack::Live, Lack::Peak]), Metric::Allocated);
    }

    #[test]
    fn what_makes_amounts_inexact_is_told() {
        let peak = origin(&[(lacks::FROM, "x"), (lacks::PEAK, "the highest")]);
        assert_eq!(peak.caveat(), Some("the highest"));
        assert!(peak.note().unwrap().ends_with("; what is told: the highest"));
        assert_eq!(origin(&[(lacks::FROM, "x")]).caveat(), None);
    }

    #[test]
    fn earlier_imports_are_known_by_their_prose() {
        let made = |from| origin(&[(lacks::FROM, from), (lacks::MADE, "sums")]);
        assert!(made("pprof").lacks(Lack::Peak) && made("l1").lacks(Lack::Peak));
        let dhat = made("DHAT (Valgrind)");
        assert!(dhat.lacks(Lack::Times) && !dhat.lacks(Lack::Peak));
    }
}
