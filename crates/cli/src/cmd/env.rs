//! `lifetrace env`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use lifetrace_recorder::{preload, standing_address};

use super::collect::place;
use crate::{embedded, terminal};

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where `lifetrace collect` listens [default: as it has it]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// The folder with the library, as the programs will see it: where `lifetrace library --install` has put it. Without it
    /// the library is put into this user's cache
    #[arg(long, value_name = "DIR")]
    library: Option<PathBuf>,
    /// Write shell commands, for `eval`, instead of a file of variables
    #[arg(long)]
    export: bool,
}

const EXAMPLES: &str = "\
Examples:
  env $(lifetrace env) ./server
  eval \"$(lifetrace env --export)\"; ./server
  lifetrace env > server.env       EnvironmentFile= of systemd, --env-file of docker";

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let socket = place::socket(args.socket.as_deref())?;
    let library = library(args.library.as_deref())?;
    let variables = [("LD_PRELOAD", library.into_os_string()), standing_address(&socket)];
    let mut text = String::new();
    for (name, value) in variables {
        let value = value.into_string().ok().filter(|value| !value.contains(is_awkward));
        let Some(value) = value else {
            bail!("{name}: a path with spaces or control characters cannot be told to programs so")
        };
        let before = if args.export { "export " } else { "" };
        text += &format!("{before}{name}={value}\n");
    }
    terminal::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// What a file of variables, a shell and the dynamic linker would not all take as it is.
fn is_awkward(letter: char) -> bool {
    letter.is_whitespace() || letter.is_control() || "'\"\\$`;&|<>()*?[]#~".contains(letter)
}

/// Of a folder that the user names, it may be another machine's or image's.
fn library(folder: Option<&Path>) -> anyhow::Result<PathBuf> {
    match folder {
        Some(folder) => Ok(std::path::absolute(folder)?.join(preload::FILE_NAME)),
        None => preload::unpack(embedded::PRELOAD).context("cannot unpack the library"),
    }
}
