//! Synthetic traces: as long as one likes, of a program that never was, the same for the same seed.
//!
//! ```text
//! sites   who allocates (Zipf), in which task, what sizes, how long blocks live: short, sessions,
//!         caches with a plateau, batches of a periodic load, one linear leak
//! stacks  by which way: a recursion 700 deep, 300 backtraces, or a tree of 20,000
//! program the clock, what is due, threads that take turns, a garbage collector's cycles
//! telling names, the process, resident memory
//! ```
//!
//! The trace is what `record` would leave at 512 KiB of a program that allocates 1 GB/s: about 2,000
//! births a second. What follows what is like in recordings of real programs, which do one thing for a
//! while, and have a few lengths and lifetimes at each callsite: a fifth to a third of a backtrace's
//! frames are not those of the one before (docs/sampling.md). Memory is bounded by what lives, some 40,000 samples, however long the trace.

mod program;
mod random;
mod sites;
mod stacks;
mod telling;

use std::fs::{File, OpenOptions};
use std::io::BufWriter;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

use program::Program;
use stacks::Shape;

/// What to write.
#[derive(Debug)]
pub struct Options {
    events: u64,
    seed: u64,
    shape: Shape,
    threads: usize,
    gc: bool,
    output: PathBuf,
    overwrite: bool,
}

/// Writes a trace, as `words` say.
///
/// # Errors
/// If they make no sense, or the file exists or cannot be written.
pub fn run(words: &[&str]) -> Result<()> {
    let options = Options::parse(words)?;
    let file = options.create()?;
    let name = options.output.display();
    let file = Program::new(BufWriter::new(file), &options)?.run();
    let bytes = file.and_then(|file| Ok(file.into_inner()?.metadata()?.len()));
    let bytes = bytes.with_context(|| format!("{name} cannot be written"))?;
    println!("{name}: {} events in {bytes} bytes", options.events);
    Ok(())
}

impl Options {
    fn parse(words: &[&str]) -> Result<Self> {
        let (mut events, mut output) = (None, None);
        let (mut seed, mut threads, mut shape) = (1, 8, Shape::Mixed);
        let (mut gc, mut overwrite) = (false, false);
        let mut words = words.iter();
        while let Some(&option) = words.next() {
            let mut value = || words.next().with_context(|| format!("{option} needs a value"));
            match option {
                "--events" => events = Some(number(value()?)?),
                "--seed" => seed = number(value()?)?,
                "--threads" => threads = number(value()?)?,
                "--stacks" => {
                    shape = Shape::named(value()?).context("--stacks is json, server or mixed")?;
                }
                "--gc" => gc = true,
                "-f" => overwrite = true,
                "-o" => output = Some(PathBuf::from(value()?)),
                _ => bail!("synth has no option {option}"),
            }
        }
        let events = events.context("synth needs --events, such as 10M")?;
        let output = output.context("synth needs -o, the trace to write")?;
        ensure!((1..=1000).contains(&threads), "--threads is between 1 and 1000");
        Ok(Self { events, seed, shape, threads: threads as usize, gc, output, overwrite })
    }

    fn create(&self) -> Result<File> {
        let mut how = OpenOptions::new();
        how.write(true).create(true).truncate(true).create_new(!self.overwrite);
        let hint = "it cannot be created (-f overwrites one that exists)";
        how.open(&self.output).with_context(|| format!("{}: {hint}", self.output.display()))
    }
}

/// `1234`, `10k`, `10M`.
fn number(text: &str) -> Result<u64> {
    let (digits, scale) = match text.strip_suffix(['k', 'M', 'G']) {
        Some(digits) if text.ends_with('k') => (digits, 1_000),
        Some(digits) if text.ends_with('M') => (digits, 1_000_000),
        Some(digits) => (digits, 1_000_000_000),
        None => (text, 1),
    };
    let number = digits.parse().ok().and_then(|number: u64| number.checked_mul(scale));
    number.with_context(|| format!("{text} is not a number such as 1234 or 10M"))
}

#[cfg(test)]
mod tests;
