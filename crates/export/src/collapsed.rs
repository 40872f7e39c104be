//! Collapsed stacks: `outermost;...;innermost NUMBER`, one line a stack, one metric a file.

use lifetrace_human::collapsed::name;
use lifetrace_pprof::whole::apportion;
use lifetrace_study::Study;
use std::io::{BufWriter, Write};

use super::stacks::{Sameness, Stacks};
use super::{Options, length};

pub fn write(study: &Study, options: &Options, output: &mut dyn Write) -> anyhow::Result<()> {
    let mut output = BufWriter::new(output);
    each_line(study, options, |line| Ok(writeln!(output, "{line}")?))?;
    Ok(output.flush()?)
}

/// Gives `take` each line, sorted by names.
///
/// # Errors
/// Those of `take`, and numbers that are too large.
pub fn each_line(
    study: &Study,
    options: &Options,
    mut take: impl FnMut(&str) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let reading = &study.reading;
    let stacks =
        Stacks::new(&reading.profile, &reading.trace, &study.choice.view, Sameness::Function);
    let names: Vec<String> = stacks.lines.iter().map(|line| name(&line.function)).collect();
    let values: Vec<f64> =
        stacks.stacks.iter().map(|stack| options.metric.of(&stack.balance)).collect();
    let values = apportion(options.metric.title(), &values)?;
    length::announce(bytes(&stacks, &names, &values), options.warn);
    let mut line = String::new();
    for (stack, value) in stacks.stacks.iter().zip(values).filter(|&(_, value)| value > 0) {
        line.clear();
        for id in stacks.path(stack) {
            if !line.is_empty() {
                line.push(';');
            }
            line.push_str(&names[id.index()]);
        }
        line.push_str(&format!(" {value}"));
        take(&line)?;
    }
    Ok(())
}

/// What all lines come to, about.
fn bytes(stacks: &Stacks<'_>, names: &[String], values: &[u64]) -> u64 {
    let digits = |value: u64| u64::from(value.checked_ilog10().unwrap_or(0)) + 1;
    let lengths = stacks.lengths(|line| names[line.index()].len() as u64 + 1);
    let lines = lengths.zip(values).filter(|&(_, value)| *value > 0);
    lines.fold(0, |sum: u64, (length, value)| sum.saturating_add(length + digits(*value) + 1))
}
