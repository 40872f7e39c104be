//! By which sources, and at which rates, the samples of several runs were drawn.

use anyhow::{Result, ensure};
use lifetrace_trace::chance::Chance;
use lifetrace_trace::fact::{SampledUnit, Sampler};
use lifetrace_trace::ids::SamplerId;
use rustc_hash::FxHashMap;

use crate::answers::Selection;
use crate::answers::rows::{each, widened};
use crate::engine::Engine;

/// The rates that runs say they had, and those that samples had.
pub(super) struct Samplers {
    /// Of each run and source.
    stated: FxHashMap<(i64, String), Rate>,
    /// By source and rate.
    used: Vec<(String, Rate)>,
}

/// What is hit, and how probable that is.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rate {
    unit: SampledUnit,
    rate: f64,
}

/// What differs by less is the same.
const SAME: f64 = 1e-6;

/// A trace has room for these.
const MOST: usize = 256;

impl Samplers {
    pub(super) async fn of(engine: &Engine, of: &Selection) -> Result<Samplers> {
        let query = format!(
            "SELECT run, source['name'] AS name, source['unit'] AS unit, source['rate'] AS rate
            FROM (SELECT run, unnest(sources) AS source FROM runs WHERE {})",
            of.sql()
        );
        let batches = widened(engine.ask(&query).await?)?;
        let stated = each(&batches).map(|row| {
            let unit = match row.text("unit")?.as_deref() {
                Some("byte") => SampledUnit::Byte,
                Some("word") => SampledUnit::Word,
                _ => SampledUnit::Object,
            };
            let rate = Rate { unit, rate: row.number("rate")? };
            Ok(((row.whole("run")?, row.text("name")?.unwrap_or_default()), rate))
        });
        Ok(Samplers { stated: stated.collect::<Result<_>>()?, used: Vec::new() })
    }

    /// The sampler by which a block of a run weighs so much; what a trace has to be told of it, if it is a new one.
    ///
    /// # Errors
    /// If there are too many.
    pub(super) fn find(
        &mut self,
        run: i64,
        source: &str,
        bytes: u64,
        weight: f64,
    ) -> Result<(SamplerId, Option<Sampler>)> {
        let stated = self.stated.get(&(run, source.to_owned())).copied();
        let unit = stated.map_or(SampledUnit::Byte, |it| it.unit);
        let weighs = |it: Rate| (it.weight(bytes) / weight - 1.0).abs() < SAME;
        // A rate may have been changed while the process ran.
        let rate = stated.filter(|it| weighs(*it)).unwrap_or_else(|| Rate::by(unit, bytes, weight));
        let known = self.used.iter().position(|(name, it)| name == source && it.is(&rate));
        if let Some(known) = known {
            return Ok((SamplerId(known as u8), None));
        }
        ensure!(
            self.used.len() < MOST,
            "these runs were sampled at more than {MOST} different rates, and a trace has room for no more: choose \
             fewer by --where"
        );
        let id = SamplerId(self.used.len() as u8);
        self.used.push((source.to_owned(), rate));
        let Rate { unit, rate } = rate;
        Ok((id, Some(Sampler { id, name: source.into(), unit, rate })))
    }
}

impl Rate {
    /// How many blocks like it a block stands for.
    fn weight(self, bytes: u64) -> f64 {
        1.0 / Chance::per_unit(self.rate).any_of(units(self.unit, bytes))
    }

    /// That by which it weighs so much.
    fn by(unit: SampledUnit, bytes: u64, weight: f64) -> Rate {
        let miss = (-1.0 / weight).ln_1p() / units(unit, bytes);
        Rate { unit, rate: (-miss.exp_m1()).clamp(f64::MIN_POSITIVE, 1.0) }
    }

    fn is(&self, other: &Rate) -> bool {
        self.unit == other.unit && (self.rate / other.rate - 1.0).abs() < SAME
    }
}

/// As a trace counts them whose sizes are in bytes.
fn units(unit: SampledUnit, bytes: u64) -> f64 {
    match unit {
        SampledUnit::Object => 1.0,
        SampledUnit::Byte => bytes.max(1) as f64,
        SampledUnit::Word => bytes.div_ceil(8).max(1) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_found_by_what_blocks_weigh() {
        for unit in [SampledUnit::Byte, SampledUnit::Word, SampledUnit::Object] {
            for (rate, bytes) in [(1e-6, 48), (1e-3, 4096), (0.5, 8), (1.0, 16)] {
                let weight = Rate { unit, rate }.weight(bytes);
                let found = Rate::by(unit, bytes, weight);
                assert!((found.rate / rate - 1.0).abs() < 1e-9, "{unit:?} {rate} {bytes}");
            }
        }
    }

    #[test]
    fn each_rate_is_told_once() {
        let stated =
            |run, rate| ((run, "malloc".to_owned()), Rate { unit: SampledUnit::Byte, rate });
        let mut samplers = Samplers {
            stated: [stated(1, 1e-3), stated(2, 1e-4)].into_iter().collect(),
            used: Vec::new(),
        };
        let weight = |rate, bytes| Rate { unit: SampledUnit::Byte, rate }.weight(bytes);
        let mut find = |run, bytes, rate| {
            let (id, new) = samplers.find(run, "malloc", bytes, weight(rate, bytes)).unwrap();
            (id.0, new.map(|it| it.rate))
        };
        assert_eq!(find(1, 100, 1e-3), (0, Some(1e-3)));
        assert_eq!((find(1, 64, 1e-3), find(2, 64, 1e-4)), ((0, None), (1, Some(1e-4))));
        // It was changed to that of the other.
        assert_eq!(find(1, 800, 1e-4), (1, None));
        let (id, rate) = find(2, 500, 0.01);
        assert!(id == 2 && (rate.unwrap() / 0.01 - 1.0).abs() < 1e-9);
    }
}
