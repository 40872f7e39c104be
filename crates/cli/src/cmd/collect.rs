//! `lifetrace collect`

mod answering;
mod notify;
pub mod place;
mod telling;
mod users;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use anyhow::bail;
use lifetrace_recorder::{
    Admits, Collector, CollectorOptions, Folder, Format, Introduction, Output, Rate, Retention,
    Rotation, SNAPSHOT_MEMORY, Schedule, SnapshotPlan, SourceChoice, Standing, StandingSocket,
    raise_file_limit, return_large_blocks,
};
use lifetrace_serve::http::Address;
use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, iterator};

use super::record::options::{self, Counters};
use super::record::sampling::{self, Density, Probability};
use super::record::{format, quantity};
use crate::terminal;
use answering::Answering;
use notify::notify;
use telling::Teller;

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The folder for traces; it is made if it is not there. One collector at a time has it
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Where processes find the collector [default: /run/lifetrace/socket for root, else
    /// $XDG_RUNTIME_DIR/lifetrace/socket]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Whose processes are recorded, beside those of the collector's own user and what they start: own, all, or users by name
    /// or number: www-data,1000
    #[arg(long, value_name = "USERS", default_value = "own", value_parser = users::admits)]
    allow: Admits,
    /// Go on in another file after this time
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = quantity::span)]
    rotate_every: Duration,
    /// Go on in another file when one has so many bytes
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = quantity::size)]
    rotate_size: u64,
    /// Remove traces that were finished longer ago than this: 7d, 12h
    #[arg(long, value_name = "TIME", value_parser = quantity::span)]
    keep: Option<Duration>,
    /// Remove the oldest traces when there is more than this in the folder: 10GiB
    #[arg(long, value_name = "SIZE", value_parser = quantity::size)]
    keep_size: Option<u64>,
    /// What to sample; see `lifetrace record --help`
    #[arg(long, value_name = "WHICH", default_value = "auto", value_parser = sampling::sources)]
    sources: SourceChoice,
    /// Sample once in so many bytes on average [default: 512KiB of malloc's]
    #[arg(long, value_name = "SIZE", value_parser = sampling::interval)]
    interval: Option<Rate>,
    /// Sample with this probability each byte of malloc's, each word of OCaml's heap, each object of Ruby's
    #[arg(long, value_name = "R", value_parser = sampling::rate)]
    rate: Option<Probability>,
    /// Most frames of an OCaml or a Ruby backtrace
    #[arg(long, value_name = "N", default_value_t = 8192, value_parser = options::stack_limit())]
    stack_limit: u32,
    /// Do not sample Python's objects of up to 512 bytes
    #[arg(long)]
    no_small_objects: bool,
    /// Have each trace say this; may be given several times
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = format::label)]
    labels: Vec<(String, String)>,
    /// How often to note each process's memory and page faults, or off
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = options::counters)]
    counters: Counters,
    /// Stop processes that end, and look through their memory for blocks to which nothing points any more
    #[arg(long)]
    leak_check: bool,
    /// Keep the traces of processes in which nothing was sampled, too
    #[arg(long)]
    keep_empty: bool,
    /// Answer over HTTP there, to this user's processes alone: `127.0.0.1:PORT`, `[::1]:PORT` or `unix:PATH` (see
    /// docs/collector.md)
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<Address>,
    /// The file with the word by which one may ask; it is made if it is not there [default: http.token in the folder for
    /// traces]
    #[arg(long, value_name = "FILE", requires = "listen")]
    token_file: Option<PathBuf>,
    /// Say nothing but errors and losses
    #[arg(short, long)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  lifetrace collect --dir /var/lib/lifetrace --allow all --keep 7d --keep-size 10GiB
  env $(lifetrace env) ./server

SIGTERM, SIGINT and SIGHUP end it: all traces are finished. Exit code: 0 then, 1 if it could not start.";

/// Events that wait to be told; of more nothing is said.
const EVENTS: usize = 1024;

/// So often the folder is tidied, and told what has happened.
const ROUND: Duration = Duration::from_secs(5);

/// A fork's traces would be as many as its processes; each is of interest.
const FOLLOWS_CHILDREN: bool = true;

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    return_large_blocks();
    let quiet = args.quiet;
    let place = place::socket(args.socket.as_deref())?;
    let (events, inbox) = sync_channel(EVENTS);
    let standing = Standing { admits: args.allow.clone(), events };
    let (standing_socket, socket) = StandingSocket::bind(&place, &args.allow)?;
    let rotation = Rotation { every: Some(args.rotate_every), bytes: Some(args.rotate_size) };
    let retention = Retention { age: args.keep, bytes: args.keep_size };
    let folder = Folder::open(&args.dir, rotation, retention)?;
    let listening = args.listen.as_ref().map(|address| {
        let token = args.token_file.clone().unwrap_or_else(|| folder.path().join(answering::TOKEN));
        answering::listen(address, &token)
    });
    let listening = listening.transpose()?;
    let options = args.into_options(folder.clone(), standing)?;
    raise_file_limit();
    let signals = catch()?;
    let collector = Arc::new(Collector::start(socket, &options, None)?);
    end_by(signals, Arc::clone(&collector))?;
    if !quiet {
        terminal::complain(format_args!(
            "collecting into {}; `lifetrace env --socket {}` prints how programs find it",
            folder.path().display(),
            place.display()
        ));
    }
    let answering = listening
        .map(|listening| Answering::start(listening, &collector, &folder, quiet))
        .transpose()?;
    notify("READY=1");
    let mut teller = Teller::new(inbox);
    while !collector.wait_for_stop(ROUND) {
        folder.tidy();
        teller.tell(folder.figures(), folder.path());
    }
    notify("STOPPING=1");
    drop(answering);
    collector.finish();
    folder.tidy();
    teller.tell(folder.figures(), folder.path());
    if !quiet {
        telling::sum_up(folder.figures(), folder.path());
    }
    drop(standing_socket);
    Ok(ExitCode::SUCCESS)
}

/// A trace that exceeds the limit of files' sizes is an error like a full disk, not a death.
fn catch() -> io::Result<iterator::Signals> {
    flag::register(Signal::XFSZ.as_raw(), Arc::default())?;
    iterator::Signals::new([SIGTERM, SIGINT, SIGHUP])
}

fn end_by(mut signals: iterator::Signals, collector: Arc<Collector>) -> io::Result<()> {
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        signals.forever().for_each(|_| collector.stop());
    })?;
    Ok(())
}

impl Args {
    /// # Errors
    /// If they contradict each other.
    fn into_options(self, folder: Folder, standing: Standing) -> anyhow::Result<CollectorOptions> {
        if self.rotate_every < Duration::from_secs(1) {
            bail!("--rotate-every: a second is the shortest time");
        }
        let density = Density { interval: self.interval, rate: self.rate };
        Ok(CollectorOptions {
            output: Output::Folder(folder),
            format: Format::Lt,
            overwrite: false,
            sources: self.sources,
            rates: density.rates(self.sources, options::rate_in_environment)?,
            stack_limit: self.stack_limit,
            seed: sampling::random_seed(),
            follow_children: FOLLOWS_CHILDREN,
            schedule: Schedule::default(),
            max_size: None,
            counters: self.counters.0,
            keep_empty: self.keep_empty,
            native_frames: false,
            small_objects: !self.no_small_objects,
            looks_for_lost: self.leak_check,
            labels: self.labels,
            snapshots: SnapshotPlan {
                every: None,
                at_exit: false,
                after_collections: None,
                above_resident: None,
                memory: SNAPSHOT_MEMORY,
                overwrite: false,
            },
            standing: Some(standing),
            introduction: Introduction::default(),
        })
    }
}
