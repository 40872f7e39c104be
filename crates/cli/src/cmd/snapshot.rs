//! `lifetrace snapshot`

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use lifetrace_human::{bytes, count};
use lifetrace_recorder::{Done, SavedSnapshot, SnapshotWish, ask};

use super::record::quantity;
use crate::terminal;

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The process: one that `lifetrace record` has started, or that such a process has
    #[arg(value_parser = quantity::pid)]
    pid: u32,
    /// Snapshot file [default: beside the process's trace, with a number: lifetrace.app.1234.1.lth]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite a file that exists
    #[arg(short, long)]
    force: bool,
    /// Give the snapshot up rather than take more memory than this beside the process's own
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = quantity::size)]
    snapshot_memory: u64,
    /// Wait for so long until the process has come to a place where its heap is whole
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = quantity::span)]
    wait: Duration,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  lifetrace record -- ./server &
  lifetrace snapshot $(pidof server)
  lifetrace heap lifetrace.server.1234.1.lth --view retainers";

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let path = args.output.map(std::path::absolute).transpose()?;
    let wish = SnapshotWish {
        cause: "asked for".to_owned(),
        path,
        overwrite: args.force,
        memory: args.snapshot_memory,
        patience: args.wait,
    };
    match ask(args.pid, &wish)? {
        _ if args.quiet => {}
        Done::Saved(saved) => tell(&saved),
        Done::Looked(trace) => terminal::complain(format_args!(
            "process {} has no heap of objects that is sampled, so it is looked through for lost blocks now; what is found \
             will be in {} (report --view leaks)",
            args.pid,
            trace.display()
        )),
    }
    Ok(ExitCode::SUCCESS)
}

/// What it has cost is told with what it is.
pub(super) fn tell(saved: &SavedSnapshot) {
    let SavedSnapshot { path, pause, cpu, memory, copied, file_bytes, .. } = saved;
    let copied = match copied {
        Some(copied) => format!(", and {} copied meanwhile", bytes(*copied as f64)),
        None => String::new(),
    };
    terminal::complain(format_args!(
        "{}: {} blocks, {} of heap; the program was stopped for {:.3} ms, a child took {:.2} s of processor time \
         and {} of memory{copied}; {} of file",
        path.display(),
        count(saved.blocks as f64),
        bytes(saved.bytes as f64),
        pause.as_secs_f64() * 1e3,
        cpu.as_secs_f64(),
        bytes(*memory as f64),
        bytes(*file_bytes as f64),
    ));
}
