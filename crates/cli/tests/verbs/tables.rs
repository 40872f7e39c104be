//! Events and callsites as tables.

use crate::exports::{export, small, total};
use crate::*;

#[test]
fn tables() {
    let trace = small();
    for (format, golden) in [
        ("events-csv", "events.csv"),
        ("events-json", "events.jsonl"),
        ("callsites-csv", "callsites.csv"),
        ("callsites-json", "callsites.json"),
    ] {
        check_golden(golden, &text(&export(format, argument(&trace.path()), &[])));
    }
}

/// Rows as a foreign reader sees them, by their columns' names.
fn rows(csv: &[u8]) -> Vec<Value> {
    let file = Scratch::new(csv);
    let script = "import csv, json, sys
for row in csv.DictReader(open(sys.argv[1], newline='', encoding='utf-8'), strict=True):
    print(json.dumps(row))";
    let mut python = Command::new("/usr/bin/python3");
    let output = python.args(["-c", script]).arg(file.path()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A cell of a CSV file, where everything is text.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[test]
fn csv_and_json_say_the_same_of_events() {
    let rows = rows(&export("events-csv", SAMPLE, &[]));
    let json = text(&export("events-json", SAMPLE, &[]));
    let objects: Vec<Value> = json.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert_eq!(rows.len(), objects.len());
    for (row, object) in rows.iter().zip(&objects) {
        for (name, value) in row.as_object().unwrap() {
            let lines = object.get("backtrace").and_then(Value::as_array);
            let functions = lines.into_iter().flatten().map(|line| cell(&line["function"]));
            let expected = match name.as_str() {
                "backtrace" => functions.collect::<Vec<_>>().join(";"),
                name => cell(&object[name]),
            };
            assert_eq!(cell(value), expected, "{name}");
        }
    }
}

#[test]
fn weights_add_up_to_the_totals() {
    for trace in [SMALL, SAMPLE, "native-python.lt"] {
        let rows = rows(&export("events-csv", trace, &[]));
        let number = |row: &Value, name: &str| cell(&row[name]).parse::<f64>().unwrap();
        let births: Vec<_> = rows.iter().filter(|row| row["event"] == "allocation").collect();
        let bytes: f64 =
            births.iter().map(|row| number(row, "bytes") * number(row, "weight")).sum();
        let expected = total(trace, "allocated", "bytes");
        assert!((bytes / expected - 1.0).abs() < 1e-9, "{trace}: {bytes} for {expected}");
        assert_eq!(births.len() as f64, total(trace, "allocated", "samples"));
    }
}

#[test]
fn callsites_add_up_to_the_totals() {
    for trace in [SMALL, SAMPLE] {
        let csv = rows(&export("callsites-csv", trace, &[]));
        let json: Value = serde_json::from_slice(&export("callsites-json", trace, &[])).unwrap();
        for (row, object) in csv.iter().zip(json.as_array().unwrap()) {
            for (name, value) in row.as_object().unwrap() {
                assert_eq!(cell(value), cell(&object[name]), "{name}");
            }
        }
        let sum: f64 =
            csv.iter().map(|row| cell(&row["allocated_bytes"]).parse::<f64>().unwrap()).sum();
        let expected = total(trace, "allocated", "bytes");
        assert!((sum / expected - 1.0).abs() < 1e-9, "{trace}: {sum} for {expected}");
    }
}
