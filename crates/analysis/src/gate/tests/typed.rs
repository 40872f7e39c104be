//! All ways to write a gate, the one in which it is written, and what is said of what is none.

use lifetrace_trace::ids::Bytes;
use proptest::prelude::*;
use proptest::sample::select;

use super::super::*;
use crate::filter::ParseError;

#[test]
fn conditions_on_a_trace() {
    let check = |text: &str, expected: &str, limit: f64| {
        let gate: Gate = text.parse().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((gate.to_string().as_str(), gate.limit()), (expected, limit), "{text}");
    };
    check("live > 100MB", "live > 100MB", 1e8);
    check("  LIVE>100000000 ", "live > 100MB", 1e8);
    check("allocated > 5GiB", "allocated > 5GiB", 5.0 * 1024f64.powi(3));
    check("peak>=1.5 KiB", "peak >= 1536B", 1536.0);
    check("leaked < 0", "leaked < 0B", 0.0);
    check("objects <= 2 million", "objects <= 2000000", 2e6);
    check("objects <= 1.5k", "objects <= 1500", 1500.0);
    check("growth > 1MB/h", "growth > 1MB/h", 1e6);
    check("growth > 24 MB / day", "growth > 24MB/d", 1e6);
    check("growth > 1KB/s", "growth > 1KB/s", 3.6e6);
    check("growth > 1 KB/min", "growth > 1KB/min", 6e4);
    check("growth > 0", "growth > 0B/h", 0.0);
}

#[test]
fn budgets_are_exceeded() {
    let check = |text: &str, number, expected| {
        assert_eq!(text.parse::<Gate>().unwrap().is_exceeded_by(number), expected, "{text}");
    };
    check("live > 100MB", 1.1e8, true);
    check("live > 100MB", 1e8, false);
    check("peak >= 100MB", 1e8, true);
    check("growth > 1KB/s", 3.7e6, true);
    check("live < 100MB", 1.0, false);
    check("live <= 100MB", 1.0, false);
}

#[test]
fn conditions_on_a_change() {
    let check = |text: &str, expected: &str, limit: f64| {
        let gate: ChangeGate = text.parse().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((gate.to_string().as_str(), gate.limit()), (expected, limit), "{text}");
        assert_eq!(gate.is_relative(), expected.ends_with('%'));
    };
    check("allocated > +5%", "allocated > +5%", 0.05);
    check("allocated>+ 0.25 %", "allocated > +0.25%", 0.0025);
    check("live > +10MB", "live > +10MB", 1e7);
    check("peak < -100%", "peak < -100%", -1.0);
    check("peak > +250%", "peak > +250%", 2.5);
    check("objects >= -1k", "objects >= -1000", -1000.0);
    check("leaked > -0", "leaked > +0B", 0.0);
    check("leaked > -0%", "leaked > +0%", 0.0);
}

/// What is said of what is no gate, as it is printed.
const MISTAKES: &str = include_str!("mistakes.txt");
const MISTAKES_OF_CHANGES: &str = include_str!("mistakes_changes.txt");

fn check_all<T: std::fmt::Debug>(golden: &str, parse: impl Fn(&str) -> Result<T, ParseError>) {
    for case in golden.trim().split("\n\n") {
        let (text, expected) = case.split_once('\n').unwrap_or((case, ""));
        let text = text.strip_prefix("> ").unwrap_or("");
        let said = parse(text).map_or_else(|error| error.to_string(), |read| format!("{read:?}"));
        assert_eq!(said, expected, "\n\n> {text}\n{said}\n");
    }
}

#[test]
fn mistakes_are_pointed_at() {
    check_all(MISTAKES, str::parse::<Gate>);
    check_all(MISTAKES_OF_CHANGES, str::parse::<ChangeGate>);
}

/// Conditions are what stands in quotes after the option, and in the tables' first columns.
#[test]
fn the_documentation_is_true() {
    let text = include_str!("../../../../../docs/reports.md");
    let options = text.split("--fail-if '").skip(1).filter_map(|rest| rest.split('\'').next());
    let is_about = |line: &&str| {
        let measures = Measure::ALL.into_iter().map(Measure::name);
        measures.map(|name| format!("| `{name} ")).any(|start| line.starts_with(&start))
    };
    let first_columns = text.lines().filter(is_about).filter_map(|line| line.split('|').nth(1));
    let rows = first_columns.flat_map(|column| column.split('`').skip(1).step_by(2));
    let conditions: Vec<_> = options.chain(rows).collect();
    assert!(conditions.len() > 12, "{conditions:?}");
    for condition in conditions {
        let errors = (condition.parse::<Gate>().err(), condition.parse::<ChangeGate>().err());
        assert!(errors.0.is_none() || errors.1.is_none(), "{condition}: {errors:?}");
    }
}

#[test]
fn terminals_are_not_driven_and_long_texts_are_cut() {
    let shown = "\u{1b}[31m".parse::<Gate>().unwrap_err().to_string();
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    let shown = "x".repeat(1_000_000).parse::<ChangeGate>().unwrap_err().to_string();
    assert!(shown.len() < 1000, "{}", shown.len());
    let nothing = "".parse::<Gate>().unwrap_err();
    assert!(nothing.to_string().starts_with("expected a metric"), "{nothing}");
    let digits = format!("live > {}", "9".repeat(1_000_000));
    assert!(digits.parse::<Gate>().is_err());
}

fn op() -> impl Strategy<Value = Op> {
    select(vec![Op::Above, Op::AtLeast, Op::Below, Op::AtMost])
}

/// Small numbers, great ones, and those that have a unit.
fn number() -> impl Strategy<Value = u64> {
    let scaled = (0u64..5000, select(vec![1, 1000, 1 << 10, 1 << 20, 1_000_000_000, 1 << 40]));
    prop_oneof![any::<u64>(), scaled.prop_map(|(number, scale)| number * scale)]
}

fn bytes() -> impl Strategy<Value = ByteSize> {
    number().prop_map(|bytes| ByteSize(Bytes(bytes)))
}

fn gate() -> impl Strategy<Value = Gate> {
    let of_bytes = select(vec![Measure::Live, Measure::Leaked, Measure::Allocated, Measure::Peak]);
    let rate = (bytes(), select(Per::ALL.to_vec()));
    let level = prop_oneof![
        (of_bytes, bytes()).prop_map(|(measure, bytes)| (measure, Limit::Bytes(bytes))),
        number().prop_map(|objects| (Measure::Objects, Limit::Objects(objects))),
        rate.prop_map(|(bytes, per)| (Measure::Growth, Limit::Rate { bytes, per })),
    ];
    (level, op()).prop_map(|((measure, limit), op)| Gate { measure, op, limit })
}

fn change() -> impl Strategy<Value = ChangeGate> {
    let margin = (select(Measure::OF_CHANGES.to_vec()), number(), any::<bool>(), any::<bool>());
    (margin, op()).prop_map(|((measure, number, is_share, is_fall), op)| {
        let margin = match measure {
            _ if is_share && is_fall => Margin::Share(number % 1_000_001),
            _ if is_share => Margin::Share(number),
            Measure::Objects => Margin::Objects(number),
            _ => Margin::Bytes(ByteSize(Bytes(number))),
        };
        let gate = ChangeGate { measure, op, is_fall, margin };
        ChangeGate { is_fall: is_fall && gate.limit() != 0.0, ..gate }
    })
}

proptest! {
    #[test]
    fn a_gate_is_written_as_it_is_read(gate in gate(), change in change()) {
        prop_assert_eq!(gate.to_string().parse::<Gate>().unwrap(), gate);
        prop_assert_eq!(change.to_string().parse::<ChangeGate>().unwrap(), change);
    }

    #[test]
    fn spaces_and_case_mean_nothing(gate in gate(), change in change()) {
        let tight = gate.to_string().replace(' ', "").to_uppercase();
        prop_assert_eq!(tight.parse::<Gate>().unwrap(), gate);
        let tight = change.to_string().replace(' ', "").to_uppercase();
        prop_assert_eq!(tight.parse::<ChangeGate>().unwrap(), change);
    }

    /// Whatever is typed, the mistake is within it.
    #[test]
    fn anything_is_a_gate_or_a_mistake(
        text in "[a-z ]{0,8}[<>=+% ]{0,4}[0-9.]{0,4}[a-zA-Z%/ ]{0,5}\\PC{0,3}",
    ) {
        for error in [text.parse::<Gate>().err(), text.parse::<ChangeGate>().err()].iter().flatten() {
            prop_assert!(error.span.start <= error.span.end && error.span.end <= text.len());
            prop_assert!(error.to_string().contains('^'));
        }
    }
}
