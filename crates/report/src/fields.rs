//! What documents are made of: numbers, places, lines of backtraces.

use lifetrace_analysis::statistics::Proportion;
use lifetrace_analysis::{NamedFrame, Place};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// A line of a backtrace: in documents its place, and whether it is inlined.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a>(pub NamedFrame<'a>);

/// Where something happened: in documents `function`, `file` and `line`, `null` where they are not known.
#[derive(Clone, Copy, Debug)]
pub struct PlaceFields<'a>(pub Place<'a>);

#[derive(Serialize)]
struct LineFields<'a> {
    function: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
    inlined: bool,
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (function, file, line) = PlaceFields(self.0.place).parts();
        LineFields { function, file, line, inlined: self.0.inlined }.serialize(serializer)
    }
}

impl<'a> PlaceFields<'a> {
    fn parts(&self) -> (Option<&'a str>, Option<&'a str>, Option<u32>) {
        match self.0 {
            Place::Known(location) => (
                Some(&location.defname),
                Some(&location.filename),
                (location.line > 0).then_some(location.line),
            ),
            Place::Unknown(_) | Place::NoBacktrace => (None, None, None),
        }
    }
}

impl Serialize for PlaceFields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (function, file, line) = self.parts();
        let mut fields = serializer.serialize_struct("Place", 3)?;
        fields.serialize_field("function", &function)?;
        fields.serialize_field("file", &file)?;
        fields.serialize_field("line", &line)?;
        fields.end()
    }
}

/// A share, with its interval.
#[derive(Debug, Serialize)]
pub struct Share {
    share: f64,
    #[serde(serialize_with = "number")]
    share_low95: f64,
    #[serde(serialize_with = "number")]
    share_high95: f64,
}

impl Share {
    pub fn new(share: &Proportion) -> Self {
        let (low, high) = share.interval95();
        Self { share: share.value, share_low95: low, share_high95: high }
    }
}

/// A number to three decimal places; whole ones are written as such: `64`, not `64.0`.
pub fn number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    const GREATEST_EXACT: f64 = (1u64 << 53) as f64;
    let thousandths = value * 1e3;
    let value = if thousandths < GREATEST_EXACT { thousandths.round() / 1e3 } else { *value };
    if value.fract() == 0.0 && (0.0..=GREATEST_EXACT).contains(&value) {
        serializer.serialize_u64(value as u64)
    } else {
        serializer.serialize_f64(value)
    }
}

/// A number to three decimal places, or `null`.
pub fn number_or_none<S: Serializer>(
    value: &Option<f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => number(value, serializer),
        None => serializer.serialize_none(),
    }
}
