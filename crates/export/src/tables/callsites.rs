//! A line or an object for each callsite, all of them, by what the metric says.

use std::io::{BufWriter, Write};

use anyhow::bail;
use lifetrace_analysis::callsites::Callsite;
use lifetrace_analysis::{Callsites, Estimate, Metric as Order, Place};
use lifetrace_human::json_text;
use lifetrace_report::{file, function, number};
use lifetrace_study::Study;
use serde::Serialize;
use serde_json::{Map, Value};

use super::csv::Csv;
use crate::{Metric, Options};

/// The names are those of the columns. Numbers that end in `95` are half of the 95 % interval of the one
/// before.
#[derive(Default, Serialize)]
struct Row {
    function: String,
    file: Option<String>,
    line: Option<u32>,
    backtraces: usize,
    samples: u64,
    #[serde(serialize_with = "number")]
    allocated_bytes: f64,
    #[serde(serialize_with = "number")]
    allocated_bytes_95: f64,
    #[serde(serialize_with = "number")]
    allocated_objects: f64,
    #[serde(serialize_with = "number")]
    allocated_objects_95: f64,
    #[serde(serialize_with = "number")]
    peak_bytes: f64,
    #[serde(serialize_with = "number")]
    peak_bytes_95: f64,
    #[serde(serialize_with = "number")]
    peak_objects: f64,
    #[serde(serialize_with = "number")]
    peak_objects_95: f64,
    #[serde(serialize_with = "number")]
    live_bytes: f64,
    #[serde(serialize_with = "number")]
    live_bytes_95: f64,
    #[serde(serialize_with = "number")]
    live_objects: f64,
    #[serde(serialize_with = "number")]
    live_objects_95: f64,
    #[serde(serialize_with = "number")]
    byte_seconds: f64,
    #[serde(serialize_with = "number")]
    byte_seconds_95: f64,
}

pub fn write_csv(study: &Study, options: &Options, output: &mut dyn Write) -> anyhow::Result<()> {
    let mut output = BufWriter::new(output);
    let mut csv = Csv::new(&mut output);
    csv.line(fields(&Row::default())?.keys().map(String::as_str))?;
    for row in rows(study, options)? {
        for value in row.values() {
            csv.field(&text(value))?;
        }
        csv.end_line()?;
    }
    Ok(output.flush()?)
}

pub fn write_json(study: &Study, options: &Options, output: &mut dyn Write) -> anyhow::Result<()> {
    let mut output = BufWriter::new(output);
    output.write_all(json_text::pretty(&rows(study, options)?)?.as_bytes())?;
    Ok(output.flush()?)
}

/// What is known of each callsite.
fn rows(study: &Study, options: &Options) -> anyhow::Result<Vec<Map<String, Value>>> {
    let reading = &study.reading;
    let order = order(options.metric);
    let Callsites { callsites, .. } =
        reading.profile.callsites(&reading.trace, &study.choice.view, order);
    let origin = reading.origin();
    let row = |callsite| {
        let mut row = fields(&Row::new(callsite))?;
        origin.silence_fields(&mut row);
        Ok(row)
    };
    callsites.iter().map(row).collect()
}

/// Callsites that have nothing of it are left out.
fn order(metric: Metric) -> Order {
    match metric {
        Metric::Allocated | Metric::Samples => Order::Allocated,
        Metric::AllocatedObjects => Order::Objects,
        Metric::Live | Metric::LiveObjects => Order::Live,
        Metric::Peak | Metric::PeakObjects => Order::Peak,
        Metric::ByteSeconds | Metric::ObjectSeconds => Order::ByteSeconds,
    }
}

impl Row {
    fn new(callsite: &Callsite<'_>) -> Self {
        let Callsite { place, allocated, live, peak, byte_seconds, hottest, .. } = callsite;
        let line = match place {
            Place::Known(location) => Some(location.line).filter(|line| *line > 0),
            _ => None,
        };
        let width = Estimate::interval95;
        Self {
            function: function(place),
            file: file(place),
            line,
            backtraces: hottest.of,
            samples: allocated.samples,
            allocated_bytes: allocated.bytes.value,
            allocated_bytes_95: width(&allocated.bytes),
            allocated_objects: allocated.objects.value,
            allocated_objects_95: width(&allocated.objects),
            peak_bytes: peak.bytes.value,
            peak_bytes_95: width(&peak.bytes),
            peak_objects: peak.objects.value,
            peak_objects_95: width(&peak.objects),
            live_bytes: live.bytes.value,
            live_bytes_95: width(&live.bytes),
            live_objects: live.objects.value,
            live_objects_95: width(&live.objects),
            byte_seconds: byte_seconds.value,
            byte_seconds_95: width(byte_seconds),
        }
    }
}

fn fields(row: &Row) -> anyhow::Result<Map<String, Value>> {
    match serde_json::to_value(row)? {
        Value::Object(fields) => Ok(fields),
        other => bail!("a row that is no object: {other}"),
    }
}

/// Nothing is an empty field.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
