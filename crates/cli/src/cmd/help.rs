//! `lifetrace help`

use std::process::ExitCode;

use clap::Command;
use termimad::{FmtText, MadSkin};

use crate::terminal;
use crate::topics::{self, TOPICS};

/// What may be typed.
#[derive(clap::Args)]
pub struct Args {
    /// A verb or a topic; without one, a list of both
    words: Vec<String>,
}

/// Words that are less alike are not meant; clap guesses likewise.
const ALIKE: f64 = 0.7;

pub fn run(args: &Args, mut command: Command) -> anyhow::Result<ExitCode> {
    command.build();
    let words = args.words.join(" ");
    let text = if verb(&command, &args.words).is_some() {
        let topics = if args.words.is_empty() { topics::list() } else { String::new() };
        format!("{}{topics}", shown_by_option(command, &args.words))
    } else if let Some(topic) = TOPICS.iter().find(|topic| topic.name == words) {
        rendered(topic.text)
    } else {
        return Ok(refuse(&args.words, &command));
    };
    terminal::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// What `--help` shows after these words.
fn shown_by_option(command: Command, words: &[String]) -> String {
    let name = command.get_name().to_owned();
    let words = [&[name], words, &["--help".to_owned()]].concat();
    command
        .try_get_matches_from(words)
        .map_or_else(|help| help.render().ansi().to_string(), |_| String::new())
}

/// The command that these words name, one beneath the other; with no words `command` itself.
pub(super) fn verb<'a>(command: &'a Command, words: &[String]) -> Option<&'a Command> {
    words.iter().try_fold(command, |command, word| command.find_subcommand(word))
}

/// A page of the book as a terminal shows it.
fn rendered(page: &str) -> String {
    let skin = if terminal::has_colours() { MadSkin::default() } else { MadSkin::no_style() };
    FmtText::from(&skin, &topics::without_links(page), Some(terminal::width().prose)).to_string()
}

/// Says what may have been meant by words that name nothing.
pub(super) fn refuse(words: &[String], command: &Command) -> ExitCode {
    let words = words.join(" ");
    let verbs = command.get_subcommands().map(Command::get_name);
    let known = verbs.chain(TOPICS.iter().map(|topic| topic.name));
    let alike = known.map(|name| (strsim::jaro(&words, name), name));
    let nearest = alike.filter(|(alike, _)| *alike > ALIKE).max_by(|a, b| a.0.total_cmp(&b.0));
    let advice = match nearest {
        Some((_, name)) => format!("try `lifetrace help {name}`"),
        None => "`lifetrace help` has a list of both".to_owned(),
    };
    terminal::complain(format_args!("{words}: neither a verb nor a topic\n  {advice}"));
    ExitCode::from(2)
}
