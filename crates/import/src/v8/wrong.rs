//! What is wrong with a document of JSON, and where.

use struson::reader::{JsonReaderPosition, JsonSyntaxError, ReaderError, SyntaxErrorKind};

use super::super::fault::{Fault, Position};

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
            Self::Here(problem) => Fault::new(position_of(now), problem),
            Self::Json(error) => of_json(error, now),
        }
    }
}

fn of_json(error: ReaderError, now: &JsonReaderPosition) -> Fault {
    match error {
        ReaderError::SyntaxError(JsonSyntaxError {
            kind: SyntaxErrorKind::IncompleteDocument,
            location,
        }) => Fault::new(position_of(&location), "the file is cut here"),
        ReaderError::SyntaxError(JsonSyntaxError { kind, location }) => {
            Fault::new(position_of(&location), format!("expected JSON: {kind}"))
        }
        ReaderError::UnexpectedValueType { expected, actual, location } => {
            let problem = format!("expected {expected}, found {actual}");
            Fault::new(position_of(&location), problem.to_lowercase())
        }
        ReaderError::IoError { error, location } => {
            Fault::of_reading(position_of(&location), &error)
        }
        other => Fault::new(position_of(now), other.to_string()),
    }
}

/// Lines are counted from 1.
fn position_of(position: &JsonReaderPosition) -> Position {
    let line = position.line_pos.as_ref().map(|it| it.line + 1);
    Position { line, byte: position.data_pos.unwrap_or(0) }
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
