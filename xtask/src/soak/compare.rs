//! Tests that were run bare and recorded: which came out differently.
//!
//! Some tests are unsteady on any machine: they depend on time, ports or luck. So where one run of
//! each way differs there are two more of each, and a case counts as different if no recorded outcome
//! of it was ever seen bare. The others are named, as unsteady.

use std::collections::{BTreeMap, BTreeSet};

/// What each case came to, by its name.
pub type Outcomes = BTreeMap<String, String>;

/// Adds a case; where several have the same name they are numbered.
pub fn add(outcomes: &mut Outcomes, name: &str, outcome: &str) {
    let mut key = name.to_owned();
    for number in 2.. {
        if !outcomes.contains_key(&key) {
            break;
        }
        key = format!("{name} ({number})");
    }
    outcomes.insert(key, outcome.to_owned());
}

/// What each case came to in several runs.
#[derive(Debug, Default)]
pub struct Runs {
    bare: Vec<Outcomes>,
    recorded: Vec<Outcomes>,
}

/// A case that did not come out the same every time.
#[derive(Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its name.
    pub case: String,
    /// Bare.
    pub bare: BTreeSet<String>,
    /// Recorded.
    pub recorded: BTreeSet<String>,
}

impl Runs {
    /// Adds a run of each way.
    pub fn add(&mut self, bare: Outcomes, recorded: Outcomes) {
        self.bare.push(bare);
        self.recorded.push(recorded);
    }

    /// How many cases there are.
    pub fn cases(&self) -> usize {
        self.names().len()
    }

    /// Those whose outcomes are not all the same.
    pub fn differences(&self) -> Vec<Difference> {
        let all = self.names().into_iter().map(|case| Difference {
            case: case.to_owned(),
            bare: seen(&self.bare, case),
            recorded: seen(&self.recorded, case),
        });
        all.filter(|case| case.bare.union(&case.recorded).count() > 1).collect()
    }

    fn names(&self) -> BTreeSet<&str> {
        let runs = self.bare.iter().chain(&self.recorded);
        runs.flat_map(|run| run.keys().map(String::as_str)).collect()
    }
}

impl Difference {
    /// Whether recording is to blame.
    pub fn is_ours(&self) -> bool {
        self.bare.is_disjoint(&self.recorded)
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: bare {:?}, recorded {:?}", self.case, self.bare, self.recorded)
    }
}

fn seen(runs: &[Outcomes], case: &str) -> BTreeSet<String> {
    let outcome = |run: &Outcomes| run.get(case).map_or("absent", String::as_str).to_owned();
    runs.iter().map(outcome).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(outcomes: &[(&str, &str)]) -> Outcomes {
        outcomes.iter().map(|&(case, what)| (case.to_owned(), what.to_owned())).collect()
    }

    #[test]
    fn a_case_that_only_fails_recorded_is_ours() {
        let mut runs = Runs::default();
        runs.add(run(&[("a", "ok"), ("b", "ok")]), run(&[("a", "ok"), ("b", "failed")]));
        let [b] = &runs.differences()[..] else { panic!("{runs:?}") };
        assert!(b.case == "b" && b.is_ours(), "{b}");
        assert_eq!(runs.cases(), 2);
    }

    #[test]
    fn a_case_that_fails_bare_too_is_unsteady() {
        let mut runs = Runs::default();
        runs.add(run(&[("a", "ok")]), run(&[("a", "failed")]));
        runs.add(run(&[("a", "failed")]), run(&[("a", "failed")]));
        assert!(!runs.differences()[0].is_ours());
    }

    #[test]
    fn a_case_that_is_not_there_is_a_difference() {
        let mut runs = Runs::default();
        runs.add(run(&[("a", "ok")]), run(&[]));
        assert!(runs.differences()[0].is_ours());
    }
}
