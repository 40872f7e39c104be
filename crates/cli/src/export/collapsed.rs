//! Collapsed stacks: `outermost;...;innermost NUMBER`, one line a stack, one metric a file.
//!
//! The format has neither comments nor escapes: in names, `;` becomes `:`.

use std::io::{BufWriter, Write};

use super::apportion::apportion;
use super::stacks::{Sameness, Stacks};
use super::{Options, Subject};

pub fn write(subject: &Subject, options: &Options, output: &mut dyn Write) -> anyhow::Result<()> {
    let mut output = BufWriter::new(output);
    each_line(subject, options, |line| Ok(writeln!(output, "{line}")?))?;
    Ok(output.flush()?)
}

/// Gives `take` each line, sorted by names.
///
/// # Errors
/// Those of `take`, and numbers that are too large.
pub fn each_line(
    subject: &Subject,
    options: &Options,
    mut take: impl FnMut(&str) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let reading = &subject.reading;
    let stacks = Stacks::new(&reading.profile, &reading.trace, Sameness::Function);
    let names: Vec<String> =
        stacks.lines.iter().map(|line| line.function.replace(';', ":")).collect();
    let values: Vec<f64> =
        stacks.stacks.iter().map(|stack| options.metric.of(&stack.balance)).collect();
    let values = apportion(options.metric.title(), &values)?;
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
