//! Which runs a question is about: `version = 1.4 and host != web-3`.

use std::fmt;
use std::str::FromStr;

use anyhow::{Result, bail, ensure};

/// Conditions on runs, all of which are to be so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Condition {
    key: String,
    operator: &'static str,
    value: String,
}

/// Longer ones come first: one begins as the other.
const OPERATORS: [&str; 6] = ["!=", ">=", "<=", "=", ">", "<"];

/// Keys that are columns of the table of runs. All others are labels.
const COLUMNS: [&str; 11] = [
    "service",
    "date",
    "host",
    "container",
    "executable",
    "build_id",
    "command",
    "runtime",
    "runtime_version",
    "version",
    "trace",
];

impl Selection {
    /// All runs.
    pub fn all() -> Selection {
        Selection::default()
    }

    /// Those of this one that are of the other as well.
    #[must_use]
    pub fn and(&self, other: &Selection) -> Selection {
        let conditions = self.conditions.iter().chain(&other.conditions).cloned().collect();
        Selection { conditions }
    }

    /// As a condition of SQL on a table with a column `run`.
    pub fn sql(&self) -> String {
        if self.conditions.is_empty() {
            return "TRUE".to_owned();
        }
        let each = self.conditions.iter().map(Condition::sql);
        each.collect::<Vec<_>>().join(" AND ")
    }
}

impl Selection {
    /// Whether there may be such runs among those that began on a day, and are of a service: files of others need not be
    /// opened.
    pub fn admits(&self, date: &str, service: &str) -> bool {
        self.conditions.iter().all(|condition| match &*condition.key {
            "service" => condition.is_true_of(service),
            "date" => condition.is_true_of(date),
            _ => true,
        })
    }
}

impl Condition {
    /// Days are in the order of their texts.
    fn is_true_of(&self, value: &str) -> bool {
        let order = value.cmp(&self.value);
        match self.operator {
            "=" => order.is_eq(),
            "!=" => order.is_ne(),
            ">=" => order.is_ge(),
            "<=" => order.is_le(),
            ">" => order.is_gt(),
            _ => order.is_lt(),
        }
    }

    fn sql(&self) -> String {
        let Condition { key, operator, value } = self;
        let (key, value) = (quoted(key), quoted(value));
        if key == "'date'" {
            return format!("date {operator} CAST({value} AS DATE)");
        }
        if key == "'service'" {
            // All tables have it, and files are passed over by it.
            return format!("service {operator} {value}");
        }
        if COLUMNS.contains(&&*self.key) {
            return format!("run IN (SELECT run FROM runs WHERE {} {operator} {value})", self.key);
        }
        // A run without that label is not of another value.
        format!("run IN (SELECT run FROM labels WHERE key = {key} AND value {operator} {value})")
    }
}

/// A text of SQL.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

impl FromStr for Selection {
    type Err = anyhow::Error;

    /// # Errors
    /// If a condition is none.
    fn from_str(text: &str) -> Result<Selection> {
        let parts = text.split(" and ").map(condition);
        Ok(Selection { conditions: parts.collect::<Result<_>>()? })
    }
}

fn condition(text: &str) -> Result<Condition> {
    let found = text.char_indices().find_map(|(at, _)| {
        let operator = OPERATORS.into_iter().find(|operator| text[at..].starts_with(operator))?;
        Some((at, operator))
    });
    let Some((at, operator)) = found else {
        bail!(
            "'{text}' is no condition: write 'version = 1.4', with one of {}",
            OPERATORS.join(" ")
        );
    };
    let (key, value) = (text[..at].trim(), text[at + operator.len()..].trim());
    let is_whole = !key.is_empty() && !value.is_empty() && !value.ends_with(" and");
    ensure!(is_whole, "'{text}' lacks a key or a value");
    let inner = value.strip_prefix('\'').and_then(|it| it.strip_suffix('\'')).unwrap_or(value);
    Ok(Condition { key: key.to_owned(), operator, value: inner.to_owned() })
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.conditions.is_empty() {
            return f.write_str("all runs");
        }
        for (at, Condition { key, operator, value }) in self.conditions.iter().enumerate() {
            let and = if at > 0 { " and " } else { "" };
            write!(f, "{and}{key} {operator} {value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sql(text: &str) -> String {
        text.parse::<Selection>().unwrap().sql()
    }

    #[test]
    fn conditions_are_sql() {
        assert_eq!(Selection::all().sql(), "TRUE");
        assert_eq!(sql("service = web"), "service = 'web'");
        assert_eq!(sql("date>=2026-11-01"), "date >= CAST('2026-11-01' AS DATE)");
        let version = "run IN (SELECT run FROM runs WHERE version = '1.4')";
        assert_eq!(sql("version = 1.4"), version);
        assert_eq!(
            sql("service != web and version = '1.4'"),
            format!("service != 'web' AND {version}")
        );
        let label = "run IN (SELECT run FROM labels WHERE key = 'o''k' AND value = 'x''; DROP')";
        assert_eq!(sql("o'k = x'; DROP"), label);
        assert_eq!("a = b and c<d".parse::<Selection>().unwrap().to_string(), "a = b and c < d");
    }

    #[test]
    fn files_of_other_days_and_services_are_passed_over() {
        let admits =
            |text: &str, date, service| text.parse::<Selection>().unwrap().admits(date, service);
        assert!(Selection::all().admits("2026-11-28", "web"));
        let text = "service = web and date >= 2026-11-01 and version = 1.4";
        assert!(admits(text, "2026-11-01", "web"));
        assert!(!admits(text, "2026-10-31", "web") && !admits(text, "2026-11-01", "db"));
        assert!(admits("service != web", "2026-11-01", "db"));
    }

    #[test]
    fn what_is_no_condition_is_told() {
        for text in ["version", "= 1", "version =", "a = b and", ""] {
            assert!(text.parse::<Selection>().is_err(), "{text}");
        }
    }
}
