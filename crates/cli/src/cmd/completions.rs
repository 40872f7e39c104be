//! `lifetrace completions`

use std::process::ExitCode;

use clap_complete::Shell;

use crate::terminal;

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The shell
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  lifetrace completions bash > ~/.local/share/bash-completion/completions/lifetrace
  lifetrace completions zsh > ~/.zfunc/_lifetrace
  lifetrace completions fish > ~/.config/fish/completions/lifetrace.fish";

pub fn run(args: &Args, command: &mut clap::Command) -> anyhow::Result<ExitCode> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, command, name, &mut script);
    terminal::print(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}
