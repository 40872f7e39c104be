//! What may have been meant by a command line that makes no sense, where more is known of that than how words are spelt.

use clap::Error;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use lifetrace_human::named::Named;
use lifetrace_study::question::ViewName;

use crate::cmd::export;

/// Words that are no verbs of this command, but might be, and what does that here.
const VERBS: [(&str, &str); 17] = [
    ("stop", "detach"),
    ("end", "detach"),
    ("kill", "detach"),
    ("start", "record"),
    ("exec", "record"),
    ("trace", "record"),
    ("profile", "record"),
    ("show", "report"),
    ("print", "report"),
    ("analyze", "report"),
    ("leaks", "report"),
    ("open", "view"),
    ("gui", "view"),
    ("top", "live"),
    ("list", "ps"),
    ("status", "ps"),
    ("compare", "diff"),
];

/// For a third trace, which is of no side.
const SIDES: &str =
    "several runs of a side are compared by 'lifetrace diff --before A B C --after D E F'";

/// Adds to an error what may have been meant.
pub fn add(error: &mut Error, words: &[String]) {
    let verb = words.first().map_or("", String::as_str);
    let tip = match error.kind() {
        ErrorKind::InvalidSubcommand => verb_instead(error),
        ErrorKind::TooManyValues if verb == "diff" => Some(SIDES.to_owned()),
        ErrorKind::UnknownArgument => view_instead(error, verb),
        ErrorKind::MissingRequiredArgument if verb == "export" => format_missing(words),
        _ => None,
    };
    let Some(tip) = tip else { return };
    for guess in [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg] {
        error.remove(guess);
    }
    let tip = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
    error.insert(ContextKind::Suggested, tip);
}

fn verb_instead(error: &Error) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let (_, verb) = VERBS.iter().find(|(other, _)| other == word)?;
    Some(match (word.as_str(), *verb) {
        ("leaks", _) => "lifetrace report --view leaks TRACE".to_owned(),
        (_, "detach") => "'lifetrace detach PID' ends a recording by 'lifetrace attach'; one by 'lifetrace record' ends \
             with its program"
            .to_owned(),
        (_, verb) => format!("that is 'lifetrace {verb}'"),
    })
}

/// `--leaks` for `--view leaks`.
fn view_instead(error: &Error, verb: &str) -> Option<String> {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let view = ViewName::named(argument.strip_prefix("--")?)?;
    ["report", "view"]
        .contains(&verb)
        .then(|| format!("views are named by '--view {}'", view.name()))
}

fn format_missing(words: &[String]) -> Option<String> {
    let has_format =
        words.iter().any(|word| word.starts_with("-F") || word.starts_with("--format"));
    (!has_format).then(|| format!("-F is one of {}", export::formats().join(", ")))
}

/// What may have been meant by a file that is not there: a view, before the trace.
pub fn view_as_file(path: &std::path::Path) -> Option<String> {
    let view = ViewName::named(path.to_str()?)?;
    let name = view.name();
    (!path.exists()).then(|| {
        format!("{name}: there is no such file\n  the view of that name is shown by `lifetrace report --view {name} TRACE`")
    })
}
