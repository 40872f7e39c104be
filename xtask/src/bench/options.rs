//! What may stand after `bench native`, `bench ocaml` and `bench inside`.

use anyhow::{Context, Result, bail, ensure};

/// Which runs to make, and what to do with the figures.
pub struct Options {
    /// Names of workloads; none means all.
    pub workloads: Vec<String>,
    /// Names of variants; none means all.
    pub variants: Vec<String>,
    /// How often each is run.
    pub rounds: usize,
    /// Whether rows are added to the record, and the table of docs/costs.md written anew.
    pub recorded: bool,
    /// Whether all runs of a round are made at the same time.
    pub at_once: bool,
}

impl Default for Options {
    fn default() -> Options {
        let (workloads, variants) = (Vec::new(), Vec::new());
        Options { workloads, variants, rounds: 9, recorded: true, at_once: false }
    }
}

impl Options {
    /// Understands `[--workload NAME]... [--variant NAME]... [--rounds N] [--no-record] [--at-once]`.
    ///
    /// # Errors
    /// If there is anything else.
    pub fn parse(words: &[&str]) -> Result<Options> {
        let mut options = Options::default();
        let mut rest = words.iter();
        while let Some(&option) = rest.next() {
            let mut value = || rest.next().with_context(|| format!("{option} needs a value"));
            match option {
                "--workload" => options.workloads.push((*value()?).to_owned()),
                "--variant" => options.variants.push((*value()?).to_owned()),
                "--rounds" => options.rounds = value()?.parse().context("--rounds N")?,
                "--no-record" => options.recorded = false,
                "--at-once" => options.at_once = true,
                _ => bail!("this benchmark does not know {option}"),
            }
        }
        ensure!(options.rounds > 0, "--rounds 0 measures nothing");
        Ok(options)
    }

    /// Refuses to run things at the same time.
    ///
    /// # Errors
    /// If that is wanted.
    pub fn one_at_a_time(self) -> Result<Options> {
        ensure!(!self.at_once, "this benchmark does not know --at-once");
        Ok(self)
    }

    /// Whether the workload `name` is wanted.
    pub fn wants_workload(&self, name: &str) -> bool {
        wants(&self.workloads, name)
    }

    /// Whether the variant `name` is wanted.
    pub fn wants_variant(&self, name: &str) -> bool {
        wants(&self.variants, name)
    }

    /// Checks that each name that was typed is the name of something.
    ///
    /// # Errors
    /// With what there is.
    pub fn check_names<'a>(
        &self,
        workloads: impl Iterator<Item = &'a str>,
        variants: impl Iterator<Item = &'a str>,
    ) -> Result<()> {
        check_names("workload", &self.workloads, workloads.collect())?;
        check_names("variant", &self.variants, variants.collect())
    }
}

fn wants(chosen: &[String], name: &str) -> bool {
    chosen.is_empty() || chosen.iter().any(|one| one == name)
}

fn check_names(kind: &str, chosen: &[String], known: Vec<&str>) -> Result<()> {
    let strange = chosen.iter().find(|name| !known.contains(&name.as_str()));
    match strange {
        Some(name) => bail!("no {kind} {name}; there are {}", known.join(", ")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_said_means_everything() {
        let options = Options::parse(&[]).unwrap();
        assert!(options.wants_workload("perl") && options.wants_variant("64KiB"));
        assert!(options.recorded && !options.at_once);
        assert!(options.one_at_a_time().is_ok());
    }

    #[test]
    fn not_every_benchmark_runs_things_at_once() {
        let options = Options::parse(&["--at-once"]).unwrap();
        assert!(options.at_once && options.one_at_a_time().is_err());
    }

    #[test]
    fn names_choose() {
        let words = ["--workload", "perl", "--workload", "redis", "--rounds", "2", "--no-record"];
        let options = Options::parse(&words).unwrap();
        assert!(options.wants_workload("redis") && !options.wants_workload("json"));
        assert_eq!((options.rounds, options.recorded), (2, false));
        let check =
            |known: &[&'static str]| options.check_names(known.iter().copied(), std::iter::empty());
        assert!(check(&["perl", "redis"]).is_ok());
        assert!(check(&["perl"]).is_err());
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(Options::parse(&["--rounds"]).is_err());
        assert!(Options::parse(&["--rounds", "0"]).is_err());
        assert!(Options::parse(&["--fast"]).is_err());
    }
}
