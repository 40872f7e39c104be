//! Which frames may have been meant by a pattern that no frame matches.

use lifetrace_trace::event::class_of;

use super::frames::Line;
use super::term::FramePattern;
use super::text::Text;
use crate::plain_name::plain_name;

/// Longer texts are nobody's typing, and comparing takes time quadratic in the length.
const LONGEST: usize = 80;

impl FramePattern {
    /// How a frame is called by what the pattern is about, and how many letters that differs from the
    /// pattern at some word of it; `None` unless that is few.
    pub fn nearly(&self, line: &Line<'_>) -> Option<(usize, String)> {
        let location = line.location();
        let (text, name) = match self {
            Self::Function(text) => (text, plain_name(&location?.defname).into_owned()),
            Self::File(text, _) => (text, location?.filename.to_string()),
            Self::Module(text) => (text, line.module?.to_owned()),
            Self::Class(text) => (text, class_of(location?)?.to_owned()),
        };
        let typed = match text {
            Text::Exact(typed) | Text::Contains(typed) => typed,
            Text::Regex(_) => return None,
        };
        Some((distance(typed, &name)?, name))
    }
}

/// The least number of letters to be changed that make `typed` what stands in `name` from a word on.
fn distance(typed: &str, name: &str) -> Option<usize> {
    let typed: Vec<char> = typed.to_lowercase().chars().collect();
    let name: Vec<char> = name.to_lowercase().chars().collect();
    if typed.len() > LONGEST {
        return None;
    }
    let is_start = |&at: &usize| at == 0 || !name[at - 1].is_alphanumeric();
    let here = |at: usize| {
        let part = &name[at..name.len().min(at + typed.len())];
        strsim::generic_damerau_levenshtein(&typed, part)
    };
    let least = (0..name.len()).filter(is_start).map(here).min()?;
    (least <= (typed.len() / 3).max(1) && least < typed.len()).then_some(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_letters_are_wrong() {
        let check = |typed, name, expected| assert_eq!(distance(typed, name), expected, "{typed}");
        check("prase_", "json::parse_value", Some(1));
        check("parse", "json::parse_value", Some(0));
        check("Lwt.bnid", "Lwt.bind", Some(1));
        check("server.c", "/src/servre.c", Some(1));
        check("potato", "json::parse_value", None);
        check("", "main", None);
        check("main", "", None);
        check(&"l".repeat(1000), "main", None);
    }
}
