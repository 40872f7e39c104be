//! A flame graph as one SVG file that searches and zooms in a browser, drawn by `inferno`.

use std::io::Write;

use anyhow::bail;
use inferno::flamegraph::color::BasicPalette;
use inferno::flamegraph::{Options as Drawing, Palette, from_lines};

use super::Options;
use super::collapsed::each_line;
use super::notes::{notes, program, trust};
use crate::study::Study;

pub fn write(study: &Study, options: &Options, output: &mut dyn Write) -> anyhow::Result<()> {
    let mut lines = Vec::new();
    each_line(study, options, |line| Ok(lines.push(line.to_owned())))?;
    let (path, metric) = (study.reading.trace.path.display(), options.metric.title());
    if lines.is_empty() {
        bail!("{path}: has no {metric}, so there is nothing to draw\n  choose another --metric");
    }
    let mut drawing = Drawing::default();
    drawing.title = format!("{}: {metric}", program(&study.reading));
    drawing.subtitle = Some(trust(&study.reading));
    drawing.colors = Palette::Basic(BasicPalette::Mem);
    drawing.notes = notes(&study.reading).join("\n");
    drawing.count_name = options.metric.unit().name().to_owned();
    // The same trace gives the same file.
    drawing.deterministic = true;
    Ok(from_lines(&mut drawing, lines.iter().map(String::as_str), output)?)
}
