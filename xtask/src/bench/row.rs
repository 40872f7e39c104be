//! A row of the record: a workload in a variant, compared with its baseline round by round.

use std::fmt::{self, Display};

use anyhow::{Context, Result};

use super::run::Run;
use super::spread::{Spread, median, spread};
use super::variant::{BARE, Variant};

/// What stands in a row, after the record's stamp.
pub const COLUMNS: &str = "cores,workload,variant,baseline,rounds,cpu_s,\
    cpu_ratio,cpu_ratio_low,cpu_ratio_high,cpu_ratio_to_bare,recorder_cpu_s,wall_ratio,\
    peak_bytes,peak_ratio,file_bytes,samples,events,bytes_per_event,lost";

/// What else stands in a row of an OCaml program. What is promoted depends on when the collector runs,
/// and sampling shifts that: where the ratio is not 1, processor time differs for that reason too.
pub const PROMOTED_COLUMNS: &str = "promoted_words,promoted_ratio";

/// All runs of a workload, by variant.
pub struct Rounds {
    variants: Vec<(&'static Variant, Runs)>,
}

/// With the number of the round that each was made in.
type Runs = Vec<(usize, Run)>;

/// A row of [`COLUMNS`].
pub struct Row(Vec<String>);

impl Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(","))
    }
}

impl Rounds {
    /// Nothing has been run yet.
    pub fn new(variants: &[&'static Variant]) -> Rounds {
        Rounds { variants: variants.iter().map(|&variant| (variant, Vec::new())).collect() }
    }

    /// Adds a run of `variant`.
    pub fn add(&mut self, round: usize, variant: &Variant, run: Run) {
        let runs = self.variants.iter_mut().find(|(one, _)| one.name == variant.name);
        runs.expect("the variant is among those that were announced").1.push((round, run));
    }

    /// A row for each variant.
    ///
    /// # Errors
    /// If a variant or its baseline has not been run.
    pub fn rows(&self, workload: &str) -> Result<Vec<Row>> {
        self.variants.iter().map(|(variant, runs)| self.row(workload, variant, runs)).collect()
    }

    /// A row for each variant, with [`PROMOTED_COLUMNS`].
    ///
    /// # Errors
    /// As [`rows`](Self::rows), and if a run has not said what was promoted.
    pub fn rows_with_promoted(&self, workload: &str) -> Result<Vec<Row>> {
        let row = |(variant, runs): &(&'static Variant, Runs)| {
            let mut row = self.row(workload, variant, runs)?;
            let words = middle(runs, |run| run.left.promoted_words.map(|words| words as f64));
            let words = words.context("the runtime has not said what it promoted")?;
            let promoted = |run: &Run| run.left.promoted_words.map_or(f64::NAN, |it| it as f64);
            let ratio = median(ratios(runs, self.of(variant.baseline)?, promoted));
            row.0.extend([number(Some(words), 0), number(ratio, 4)]);
            Ok(row)
        };
        self.variants.iter().map(row).collect()
    }

    /// The ratios of processor time of each variant to its baseline, round by round.
    ///
    /// # Errors
    /// If the baseline has not been run.
    pub fn ratios(&self) -> Result<Vec<(&'static str, Vec<f64>)>> {
        let ratio = |(variant, runs): &(&'static Variant, Runs)| {
            let base = self.of(variant.baseline)?;
            Ok((variant.name, ratios(runs, base, |run| run.target.cpu)))
        };
        self.variants.iter().map(ratio).collect()
    }

    /// Of each variant, round by round: the recorder's processor time as a multiple of what `allowed` says for the
    /// program's. Nothing where there is no recorder.
    pub fn recorder_shares(&self, allowed: fn(f64) -> f64) -> Vec<(&'static str, Vec<f64>)> {
        let share = |run: &Run| Some(run.recorder_cpu? / allowed(run.target.cpu));
        let shares = |runs: &Runs| runs.iter().filter_map(|(_, run)| share(run)).collect();
        self.variants.iter().map(|(variant, runs)| (variant.name, shares(runs))).collect()
    }

    fn row(&self, workload: &str, variant: &Variant, runs: &Runs) -> Result<Row> {
        let (base, bare) = (self.of(variant.baseline)?, self.of(BARE)?);
        let cpu = spread(ratios(runs, base, |run| run.target.cpu)).context("no rounds")?;
        let to_bare = median(ratios(runs, bare, |run| run.target.cpu));
        let last = &runs.last().context("no rounds")?.1.left;
        let mut cells = vec![cores(), workload.into(), variant.name.into()];
        cells.extend([variant.baseline.into(), runs.len().to_string()]);
        cells.push(number(middle(runs, |run| Some(run.target.cpu)), 3));
        cells.extend(spread_cells(cpu));
        cells.push(number(to_bare, 4));
        cells.push(number(middle(runs, |run| run.recorder_cpu), 3));
        cells.push(number(median(ratios(runs, base, |run| run.wall.unwrap_or(f64::NAN))), 3));
        cells.push(number(middle(runs, |run| Some(run.target.peak_bytes)), 0));
        cells.push(number(median(ratios(runs, base, |run| run.target.peak_bytes)), 3));
        cells.extend([whole(last.bytes), whole(last.samples), whole(last.events)]);
        cells.push(number(last.bytes.zip(last.events).and_then(per_event), 2));
        cells.push(whole(total(runs, |run| run.left.lost)));
        Ok(Row(cells))
    }

    fn of(&self, name: &str) -> Result<&Runs> {
        let found = self.variants.iter().find(|(variant, _)| variant.name == name);
        Ok(&found.with_context(|| format!("{name} was not run"))?.1)
    }
}

/// What `value` is in each run, divided by what it is in the same round of `base`.
fn ratios(runs: &Runs, base: &Runs, value: fn(&Run) -> f64) -> Vec<f64> {
    let in_round = |round| base.iter().find(|(one, _)| *one == round).map(|(_, run)| value(run));
    runs.iter().filter_map(|(round, run)| Some(value(run) / in_round(*round)?)).collect()
}

fn middle(runs: &Runs, value: fn(&Run) -> Option<f64>) -> Option<f64> {
    median(runs.iter().filter_map(|(_, run)| value(run)))
}

fn total(runs: &Runs, value: fn(&Run) -> Option<u64>) -> Option<u64> {
    runs.iter().map(|(_, run)| value(run)).sum()
}

fn per_event((bytes, events): (u64, u64)) -> Option<f64> {
    (events > 0).then(|| bytes as f64 / events as f64)
}

fn spread_cells(spread: Spread) -> [String; 3] {
    [spread.median, spread.low, spread.high].map(|value| number(Some(value), 4))
}

fn number(value: Option<f64>, decimals: usize) -> String {
    let known = value.filter(|value| value.is_finite());
    known.map_or_else(String::new, |value| format!("{value:.decimals$}"))
}

fn whole(value: Option<u64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn cores() -> String {
    std::thread::available_parallelism().map_or_else(|_| String::new(), |cores| cores.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::launch::Usage;
    use super::super::left::Left;
    use super::super::variant::lifetrace;
    use super::*;

    fn run(cpu: f64, recorder_cpu: Option<f64>, left: Left) -> Run {
        let target = Usage { cpu, wall: cpu, peak_bytes: 1000.0 * cpu };
        Run { target, wall: Some(2.0 * cpu), recorder_cpu, left }
    }

    fn left() -> Left {
        let promoted_words = Some(1000);
        Left { bytes: Some(100), samples: Some(5), events: Some(10), lost: Some(3), promoted_words }
    }

    /// The machine is twice as slow in the second round, and the ratio is the same.
    #[test]
    fn runs_are_compared_within_a_round() {
        let bare: &'static Variant =
            Box::leak(Box::new(Variant { name: BARE, ..lifetrace("", &[]) }));
        let recorded: &'static Variant = Box::leak(Box::new(lifetrace("64KiB", &[])));
        let mut rounds = Rounds::new(&[bare, recorded]);
        for (round, slowness) in [(0, 1.0), (1, 2.0)] {
            rounds.add(round, recorded, run(1.5 * slowness, Some(0.25), left()));
            rounds.add(round, bare, run(slowness, None, Left::default()));
        }
        let row = rounds.rows("perl").unwrap()[1].to_string();
        let expected = "perl,64KiB,bare,2,2.250,1.5000,1.5000,1.5000,1.5000,0.250,1.500,2250,1.500,100,5,10,10.00,6";
        assert_eq!(row.split_once(',').unwrap().1, expected);
        let shares = rounds.recorder_shares(|cpu| cpu / 6.0);
        assert_eq!(shares, [(BARE, vec![]), ("64KiB", vec![1.0, 0.5])]);
        let cells = COLUMNS.split(',').count();
        assert_eq!(row.split(',').count(), cells);
    }
}
