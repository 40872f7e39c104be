//! What a name must be like: exactly so, with this in it, or as a regular expression has it.

use std::fmt;

use regex::{Regex, RegexBuilder};

use super::error::Mistake;

/// Memory that one regular expression may take when it is compiled, and again when it is used.
const REGEX_BYTES: usize = 4 << 20;

/// What a name must be like.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Text {
    /// This and nothing else.
    Exact(String),
    /// This somewhere in it.
    Contains(String),
    /// A match of this somewhere in it.
    Regex(Pattern),
}

impl Text {
    /// Whether `name` is like this.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Exact(text) => name == text,
            Self::Contains(text) => name.contains(text.as_str()),
            Self::Regex(pattern) => pattern.0.is_match(name),
        }
    }

    /// Whether the file at `path` is called like this: exactly so are also files whose path ends with
    /// this, folder by folder.
    pub(super) fn matches_path(&self, path: &str) -> bool {
        let Self::Exact(text) = self else { return self.matches(path) };
        let folders = path.strip_suffix(text.as_str());
        folders.is_some_and(|folders| folders.is_empty() || folders.ends_with(['/', '\\']))
    }

    pub(super) fn operator(&self) -> char {
        match self {
            Self::Exact(_) => '=',
            Self::Contains(_) => ':',
            Self::Regex(_) => '~',
        }
    }

    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Exact(text) | Self::Contains(text) => text,
            Self::Regex(pattern) => pattern.0.as_str(),
        }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.operator(), Quoted(self.as_str(), needs_quotes(self.as_str())))
    }
}

/// A regular expression; searching takes time linear in the text.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

impl Pattern {
    /// # Errors
    /// If it is none, or too large; with the place of the mistake in `text`, as far as it is known.
    pub fn new(text: &str) -> Result<Self, (Mistake, Option<std::ops::Range<usize>>)> {
        check_syntax(text)?;
        let mut builder = RegexBuilder::new(text);
        let compiled = builder.size_limit(REGEX_BYTES).dfa_size_limit(REGEX_BYTES).build();
        compiled.map(Self).map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => (Mistake::RegexTooLarge, None),
            other => (Mistake::Regex(other.to_string()), None),
        })
    }
}

/// The compiler's own message is a picture of several lines: we want the place alone.
fn check_syntax(text: &str) -> Result<(), (Mistake, Option<std::ops::Range<usize>>)> {
    let (kind, span) = match regex_syntax::Parser::new().parse(text) {
        Err(regex_syntax::Error::Parse(error)) => (error.kind().to_string(), *error.span()),
        Err(regex_syntax::Error::Translate(error)) => (error.kind().to_string(), *error.span()),
        Err(error) => return Err((Mistake::Regex(error.to_string()), None)),
        Ok(_) => return Ok(()),
    };
    Err((Mistake::Regex(kind), Some(span.start.offset..span.end.offset)))
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for Pattern {}

impl std::hash::Hash for Pattern {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.as_str().hash(state);
    }
}

/// Whether a name is only understood in quotes, as a term's or as a step of a path.
pub(super) fn needs_quotes(text: &str) -> bool {
    text.is_empty()
        || text.starts_with(BARE_NEVER_BEGINS)
        || text.ends_with(',')
        || text.contains(|next: char| next.is_whitespace() || next.is_control() || next == ';')
}

/// What a name without quotes cannot begin with: it would be taken for something else.
pub(super) const BARE_NEVER_BEGINS: [char; 6] = ['"', '\'', '=', ':', '~', '!'];

/// A name, in quotes if so; a quotation mark in it is doubled.
pub(super) struct Quoted<'a>(pub(super) &'a str, pub(super) bool);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(text, false) => f.write_str(text),
            Self(text, true) => write!(f, "\"{}\"", text.replace('"', "\"\"")),
        }
    }
}
