//! `lifetrace man`

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::help;
use crate::output::{Content, Output};
use crate::terminal;

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The verb; without one, the page of the whole command
    #[arg(conflicts_with = "output")]
    verb: Vec<String>,
    /// Write the pages of all verbs into this folder, which is made if it is not there
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Overwrite files that exist
    #[arg(short, long, requires = "output")]
    force: bool,
}

const EXAMPLES: &str = "\
Examples:
  lifetrace man record | man -l -
  lifetrace man -o ~/.local/share/man/man1

Packages have these pages already: `man lifetrace-record`.";

pub fn run(args: &Args, mut command: Command) -> anyhow::Result<ExitCode> {
    command.build();
    match &args.output {
        Some(folder) => write_all(&command, folder, args.force)?,
        None => {
            let Some(asked) = help::verb(&command, &args.verb) else {
                return Ok(help::refuse(&args.verb, &command));
            };
            terminal::print(&String::from_utf8(page(asked)?)?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn write_all(command: &Command, folder: &Path, force: bool) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for one in all(command) {
        let path = folder.join(format!("{}.1", name(one)));
        let output = Output::of(Content::Text, &path, Path::new("-"), force)?;
        output.write(|file| Ok(file.write_all(&page(one)?)?))?;
    }
    Ok(())
}

/// A command and those beneath it.
fn all(command: &Command) -> Vec<&Command> {
    let beneath = command.get_subcommands().flat_map(all);
    std::iter::once(command).chain(beneath).collect()
}

/// As its page is called: `lifetrace-heap-diff`.
fn name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

fn page(command: &Command) -> anyhow::Result<Vec<u8>> {
    let mut page = Vec::new();
    let title = name(command).to_uppercase();
    let man = Man::new(command.clone().after_help(None::<&str>))
        .title(title)
        .section("1")
        .source(concat!("lifetrace ", env!("CARGO_PKG_VERSION")))
        .manual("Lifetrace");
    man.render(&mut page)?;
    if let Some(after) = command.get_after_help() {
        page.extend_from_slice(after_options(&after.to_string()).as_bytes());
    }
    Ok(page)
}

/// What `--help` has behind the options, under its own heading: examples as they are, sentences filled.
fn after_options(text: &str) -> String {
    let (heading, lines) = match text.strip_prefix("Examples:\n") {
        Some(examples) => ("EXAMPLES", examples),
        None => ("NOTES", text),
    };
    let mut section = Roff::new();
    section.control("SH", [heading]);
    for line in lines.lines() {
        let filling = if line.starts_with(' ') { ["nf", ""] } else { ["fi", "PP"] };
        filling.iter().filter(|it| !it.is_empty()).for_each(|it| _ = section.control(*it, []));
        section.text([roman(line)]);
    }
    section.control("fi", []).to_roff()
}
