//! `lifetrace rate`
//!
//! Of a leak, how precisely it is to be seen, and how densely is sampled, any two give the third.

use std::process::ExitCode;

use clap::error::ErrorKind;
use lifetrace_analysis::rate::{Blocks, Confidence};
use lifetrace_human as human;
use lifetrace_human::json_text;
use lifetrace_report::style::Width;
use lifetrace_report::{Page, number};
use serde::Serialize;

use super::record::quantity;
use crate::terminal;

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The leak, or whatever amount of memory is to be seen: 10MB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    leak: Option<Size>,
    /// How far from the truth the report may be: 10%
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    within: Option<f64>,
    /// The interval of `record`: 512KiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    interval: Option<Size>,
    /// The size of the leak's blocks; without it they are small, which is the worst
    #[arg(long, value_name = "SIZE", value_parser = size)]
    block_size: Option<Size>,
    /// In how many of a hundred recordings that shall be so
    #[arg(long, value_name = "PERCENT", default_value = "95%", value_parser = confidence)]
    confidence: Confidence,
    /// Write JSON (see docs/json.md)
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
Any two of --leak, --within and --interval give the third:
  lifetrace rate --leak 10MB --within 10%        which interval shows it?
  lifetrace rate --leak 10MB --interval 512KiB   how precisely is it seen?
  lifetrace rate --within 10% --interval 512KiB  what is seen so precisely?";

/// As it was typed, and what that means.
#[derive(Clone)]
struct Size {
    bytes: u64,
    text: String,
}

fn size(text: &str) -> Result<Size, String> {
    Ok(Size { bytes: quantity::size(text)?, text: text.to_owned() })
}

fn percent(text: &str) -> Option<f64> {
    let number: f64 = text.strip_suffix('%')?.trim_end().parse().ok()?;
    Some(number / 100.0)
}

fn share(text: &str) -> Result<f64, String> {
    let share = percent(text).filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "not a share such as 10%, above 0% and at most 100%".to_owned())
}

fn confidence(text: &str) -> Result<Confidence, String> {
    let confidence = percent(text).and_then(Confidence::new);
    confidence.ok_or_else(|| "not a share such as 95%, above 0% and below 100%".to_owned())
}

/// All that there is to say. Its fields are those of `--json`.
#[derive(Serialize)]
struct Answer {
    leak_bytes: u64,
    within: f64,
    interval_bytes: u64,
    rate_per_byte: f64,
    block_bytes: Option<u64>,
    confidence: f64,
    #[serde(serialize_with = "number")]
    leak_samples: f64,
    #[serde(serialize_with = "number")]
    leak_low95: f64,
    #[serde(serialize_with = "number")]
    leak_high95: f64,
    missed_probability: f64,
    #[serde(serialize_with = "number")]
    samples_per_gb: f64,
    #[serde(skip)]
    blocks: Blocks,
    #[serde(skip)]
    leak: String,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let answer = args.answer().unwrap_or_else(|misuse| misuse.exit());
    let text = if args.json { json_text::pretty(&answer)? } else { answer.text(terminal::width()) };
    terminal::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn answer(&self) -> Result<Answer, clap::Error> {
        let blocks = self.block_size.as_ref().and_then(|size| Blocks::of_bytes(size.bytes));
        let blocks = blocks.unwrap_or(Blocks::SMALLEST);
        let (leak, interval) = match (&self.leak, self.within, &self.interval) {
            (Some(leak), Some(within), None) => {
                let interval = blocks.interval(leak.bytes as f64, within, self.confidence);
                (leak.clone(), (interval as u64).max(1))
            }
            (Some(leak), None, Some(interval)) => (leak.clone(), interval.bytes),
            (None, Some(within), Some(interval)) => {
                (self.visible(blocks, within, interval.bytes as f64), interval.bytes)
            }
            _ => return Err(misuse("give two of --leak, --within and --interval")),
        };
        if let Some(block) = self.block_size.as_ref().filter(|block| block.bytes > leak.bytes) {
            let text = format!("{} are less than one block of {}", leak.text, block.text);
            return Err(misuse(&text));
        }
        Ok(Answer::new(leak, interval, blocks, self))
    }

    /// The amount that is seen so precisely; one block at least.
    fn visible(&self, blocks: Blocks, within: f64, interval: f64) -> Size {
        let block = self.block_size.as_ref().map_or(1, |size| size.bytes);
        let amount = blocks.amount(interval, within, self.confidence).ceil() as u64;
        let bytes = amount.max(block);
        Size { bytes, text: human::bytes(bytes as f64) }
    }
}

fn misuse(text: &str) -> clap::Error {
    let command = clap::Command::new("lifetrace rate");
    <Args as clap::Args>::augment_args(command).error(ErrorKind::ArgumentConflict, text)
}

impl Answer {
    fn new(leak: Size, interval_bytes: u64, blocks: Blocks, args: &Args) -> Self {
        let (amount, interval) = (leak.bytes as f64, interval_bytes as f64);
        let likely = blocks.estimate(amount, interval).interval();
        Self {
            leak_bytes: leak.bytes,
            within: blocks.within(amount, interval, args.confidence),
            interval_bytes,
            rate_per_byte: interval.recip(),
            block_bytes: args.block_size.as_ref().map(|size| size.bytes),
            confidence: args.confidence.level(),
            leak_samples: blocks.samples(amount, interval),
            leak_low95: likely.low,
            leak_high95: likely.high,
            missed_probability: blocks.missed(amount, interval),
            samples_per_gb: Blocks::SMALLEST.samples(1e9, interval),
            blocks,
            leak: leak.text,
        }
    }

    fn text(&self, width: Width) -> String {
        let facts = [
            ("record with", format!("--interval {}", self.interval_bytes)),
            ("precision", self.precision()),
            ("report", self.report()),
            ("cost", self.cost()),
        ];
        let mut page = Page::new(width);
        facts.iter().for_each(|(name, fact)| page.fact(name, fact));
        page.text
    }

    fn precision(&self) -> String {
        let blocks = match self.block_bytes {
            Some(bytes) => format!("blocks of {}", human::bytes(bytes as f64)),
            None => "small blocks".to_owned(),
        };
        if self.within == 0.0 {
            return format!("{} in {blocks} is seen exactly", self.leak);
        }
        let (within, confidence) = (short(self.within), short(self.confidence));
        format!(
            "{} in {blocks} is seen within ± {within}, in {confidence} of recordings",
            self.leak
        )
    }

    fn report(&self) -> String {
        let estimate = self.blocks.estimate(self.leak_bytes as f64, self.interval_bytes as f64);
        let (amount, samples) = (human::estimate(&estimate), human::count(self.leak_samples));
        format!("{amount}, from about {samples} samples{}", self.missed())
    }

    fn missed(&self) -> String {
        match self.missed_probability {
            0.01.. => {
                format!("; {} of recordings have none", short(self.missed_probability))
            }
            1e-9..0.01 => {
                format!(
                    "; 1 of {} recordings has none",
                    human::count(self.missed_probability.recip())
                )
            }
            _ => String::new(),
        }
    }

    fn cost(&self) -> String {
        format!("at most {} samples for each GB allocated", human::count(self.samples_per_gb))
    }
}

/// `95 %`, `99.9 %`
fn short(share: f64) -> String {
    human::percent(share).replace(".0 %", " %")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn answer(line: &str) -> Result<Answer, clap::Error> {
        let words = std::iter::once("rate").chain(line.split_whitespace());
        Line::try_parse_from(words)?.args.answer()
    }

    fn text(line: &str) -> String {
        let text = answer(line).unwrap().text(Width::ENDLESS);
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn the_interval_for_a_leak() {
        assert_eq!(
            text("--leak 10MB --within 10%"),
            "record with --interval 26032\n\
             precision   10MB in small blocks is seen within ± 10 %, in 95 % of recordings\n\
             report      9.5 ± 1.0 MiB, from about 384 samples\n\
             cost        at most 38,414 samples for each GB allocated\n"
        );
    }

    #[test]
    fn the_precision_of_an_interval() {
        assert_eq!(
            text("--leak 10MB --interval 512KiB"),
            "record with --interval 524288\n\
             precision   10MB in small blocks is seen within ± 44.9 %, in 95 % of recordings\n\
             report      10 (6–15) MiB, from about 19 samples; 1 of 192 million recordings has none\n\
             cost        at most 1,907 samples for each GB allocated\n"
        );
        let large = text("--leak 10MB --interval 512KiB --block-size 1MiB");
        assert!(large.contains("10MB in blocks of 1 MiB is seen within ± 25.1 %"), "{large}");
    }

    #[test]
    fn what_an_interval_shows() {
        let answer = answer("--within 10% --interval 512KiB").unwrap();
        assert!((answer.leak_samples - 384.1).abs() < 0.1, "{}", answer.leak_samples);
        assert!((answer.within - 0.1).abs() < 1e-6);
        assert!(text("--within 10% --interval 512KiB").contains("192 MiB in small blocks"));
    }

    #[test]
    fn everything_is_exact() {
        let text = text("--leak 10MB --interval 1");
        assert!(text.contains("10MB in small blocks is seen exactly\n"), "{text}");
        assert_eq!(answer("--leak 1B --within 1%").unwrap().interval_bytes, 1);
    }

    #[test]
    fn both_ways_agree() {
        for block in ["", "--block-size 4KiB", "--block-size 1MiB"] {
            for (leak, within) in [("10MB", 10), ("3GB", 1), ("2MiB", 80)] {
                let found = answer(&format!("--leak {leak} --within {within}% {block}")).unwrap();
                let interval = found.interval_bytes;
                let back = answer(&format!("--leak {leak} --interval {interval} {block}")).unwrap();
                let asked = f64::from(within) / 100.0;
                assert!(back.within <= asked && back.within > asked * 0.99, "{}", back.within);
            }
        }
    }

    #[test]
    fn misuse_is_explained() {
        for (line, expected) in [
            ("", "give two of --leak, --within and --interval"),
            ("--leak 10MB", "give two of"),
            ("--leak 10MB --within 10% --interval 1MB", "give two of"),
            ("--leak 10MB --within 10", "not a share such as 10%"),
            ("--leak 10MB --within 0%", "not a share such as 10%"),
            ("--leak 10MB --within 101%", "not a share such as 10%"),
            ("--leak 10MB --within 10% --confidence 100%", "not a share such as 95%"),
            ("--leak 0 --within 10%", "must be above 0"),
            ("--leak 10MB --within 10% --block-size 11MB", "less than one block of 11MB"),
        ] {
            let error = answer(line).map(|answer| answer.text(Width::ENDLESS)).unwrap_err();
            assert!(error.to_string().contains(expected), "{line}: {error}");
            assert_eq!(error.exit_code(), 2, "{line}");
        }
    }
}
