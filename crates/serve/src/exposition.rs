//! Prometheus' text, in its older form and as OpenMetrics.

use std::fmt::Write;

/// A metric.
pub struct Family {
    /// Without the ending of counters.
    pub name: &'static str,
    /// What it is.
    pub help: &'static str,
    /// What it does.
    pub kind: Kind,
    /// Its values.
    pub samples: Vec<Sample>,
}

/// What a metric does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It grows.
    Counter,
    /// It grows and shrinks.
    Gauge,
}

/// A value of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// What it is of.
    pub labels: Vec<(&'static str, String)>,
    /// How much.
    pub value: f64,
}

/// The media type of either form.
pub fn media_type(is_open: bool) -> &'static str {
    match is_open {
        true => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        false => "text/plain; version=0.0.4; charset=utf-8",
    }
}

/// All metrics as text.
pub fn text(families: &[Family], is_open: bool) -> String {
    let mut text = String::new();
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        write(family, is_open, &mut text);
    }
    text + if is_open { "# EOF\n" } else { "" }
}

fn write(family: &Family, is_open: bool, text: &mut String) {
    let Family { name, help, kind, samples } = family;
    let (total, word) = match kind {
        Kind::Counter => ("_total", "counter"),
        Kind::Gauge => ("", "gauge"),
    };
    // The older form has the ending in the metric's name.
    let metric = if is_open { (*name).to_owned() } else { format!("{name}{total}") };
    *text += &format!("# HELP {metric} {help}\n# TYPE {metric} {word}\n");
    for Sample { labels, value } in samples {
        let labels: Vec<_> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        // Memory takes all.
        let _ = writeln!(text, "{name}{total}{labels} {}", number(*value));
    }
}

fn escaped(text: &str) -> String {
    let printable = lifetrace_human::printable(text);
    printable.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn number(value: f64) -> String {
    match value {
        value if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn families() -> [Family; 3] {
        let of = |labels, value| Sample { labels, value };
        let program = |name: &str| vec![("program", name.to_owned())];
        [
            Family {
                name: "a_bytes",
                help: "A.",
                kind: Kind::Gauge,
                samples: vec![of(Vec::new(), 1e21)],
            },
            Family {
                name: "b",
                help: "B.",
                kind: Kind::Counter,
                samples: vec![of(program("x\"y\\z\n"), 1.5), of(program("ü"), 0.0)],
            },
            Family { name: "c", help: "C.", kind: Kind::Gauge, samples: Vec::new() },
        ]
    }

    #[test]
    fn the_older_form() {
        let text = text(&families(), false);
        assert!(
            text.starts_with(
                "# HELP a_bytes A.\n# TYPE a_bytes gauge\na_bytes 1000000000000000000000\n"
            ),
            "{text}"
        );
        assert!(
            text.contains("# HELP b_total B.\n# TYPE b_total counter\nb_total{program=\"x\\\"y"),
            "{text}"
        );
        assert!(
            text.contains("b_total{program=\"ü\"} 0\n")
                && !text.contains("EOF")
                && !text.contains("HELP c")
        );
        assert!(text.lines().count() == 7, "{text}");
    }

    #[test]
    fn the_newer_form() {
        let text = text(&families(), true);
        assert!(text.contains("# TYPE b counter\nb_total{") && text.ends_with("# EOF\n"), "{text}");
    }
}
