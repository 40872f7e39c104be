//! What is wrong with a document of JSON, and where.

use struson::reader::{JsonReaderPosition, JsonSyntaxError, ReaderError, SyntaxErrorKind};

use super::super::fault::{Fault, Place};

/// What is wrong.
#[derive(Debug)]
pub enum Wrong {
    Json(ReaderError),
    /// With what stands there.
    Here(String),
}

impl Wrong {
    /// The fault, as other importers tell one; `now` is how far it was read.
    pub fn fault(self, now: &JsonReaderPosition) -> Fault {
        match self {
            Self::Here(problem) => Fault::new(place(now), problem),
            Self::Json(error) => of_json(error, now),
        }
    }
}

fn of_json(error: ReaderError, now: &JsonReaderPosition) -> Fault {
    match error {
        ReaderError::SyntaxError(JsonSyntaxError {
            kind: SyntaxErrorKind::IncompleteDocument,
            location,
        }) => Fault::new(place(&location), "the file is cut here"),
        ReaderError::SyntaxError(JsonSyntaxError { kind, location }) => {
            Fault::new(place(&location), format!("expected JSON: {kind}"))
        }
        ReaderError::UnexpectedValueType { expected, actual, location } => {
            let problem = format!("expected {expected}, found {actual}");
            Fault::new(place(&location), problem.to_lowercase())
        }
        ReaderError::IoError { error, location } => Fault::of_reading(place(&location), &error),
        other => Fault::new(place(now), other.to_string()),
    }
}

/// Lines are counted from 1.
fn place(position: &JsonReaderPosition) -> Place {
    let line = position.line_pos.as_ref().map(|it| it.line + 1);
    Place { line, byte: position.data_pos.unwrap_or(0) }
}

impl From<ReaderError> for Wrong {
    fn from(error: ReaderError) -> Self {
        Self::Json(error)
    }
}

impl From<String> for Wrong {
    fn from(problem: String) -> Self {
        Self::Here(problem)
    }
}
