//! A flame graph as one SVG file that searches and zooms in a browser, drawn by `inferno`.

mod names;

use std::io::Write;

use anyhow::bail;
use inferno::flamegraph::color::BasicPalette;
use inferno::flamegraph::{Options as Drawing, Palette, from_lines};
use lifetrace_study::Study;

use super::Options;
use super::collapsed::each_line;
use super::notes::{notes, program, trust};

/// What is to be said of the part of the file that is somebody else's work.
const SCRIPT: &str = "The script in this file is inferno's (https://github.com/jonhoo/inferno), under the Common Development \
    and Distribution License 1.0 (https://spdx.org/licenses/CDDL-1.0)";

pub fn write(study: &Study, options: &Options, output: &mut dyn Write) -> anyhow::Result<()> {
    let mut lines = Vec::new();
    each_line(study, options, |line| {
        lines.push(line.to_owned());
        Ok(())
    })?;
    let (path, metric) = (study.reading.trace.path.display(), options.metric.title());
    if lines.is_empty() {
        bail!("{path}: has no {metric}, so there is nothing to draw\n  choose another --metric");
    }
    let mut drawing = Drawing::default();
    drawing.title = format!("{}: {metric}", program(&study.reading));
    drawing.subtitle = Some(trust(&study.reading));
    drawing.colors = Palette::Basic(BasicPalette::Mem);
    drawing.notes = comment(&format!("{}\n{SCRIPT}", notes(study).join("\n")));
    drawing.count_name = options.metric.unit().name().to_owned();
    // The same trace gives the same file.
    drawing.deterministic = true;
    let mut svg = Vec::new();
    from_lines(&mut drawing, lines.iter().map(String::as_str), &mut svg)?;
    let svg = names::with_ends(&String::from_utf8(svg)?);
    Ok(output.write_all(svg.as_bytes())?)
}

/// Text that may stand in an XML comment, where two hyphens are an error.
fn comment(text: &str) -> String {
    let mut safe = String::new();
    for character in text.chars() {
        if character == '-' && safe.ends_with('-') {
            safe.push(' ');
        }
        safe.push(character);
    }
    if safe.ends_with('-') {
        safe.push(' ');
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_have_no_two_hyphens() {
        for (text, expected) in [
            ("a-b", "a-b"),
            ("program --fast", "program - -fast"),
            ("---", "- - - "),
            ("x\ny", "x\ny"),
            ("", ""),
        ] {
            assert_eq!(comment(text), expected);
        }
    }
}
