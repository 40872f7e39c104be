//! `lifetrace view`

mod browser;
mod folder;
mod server;

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use lifetrace_analysis::Metric;
use lifetrace_human as human;
use lifetrace_human::named::Named;
use lifetrace_viewer::{MOST_SAMPLES, Page, ViewName};

use super::report::MetricName;
use crate::typed::one_of;
use crate::viewing::Wanted;
use crate::{choosing, terminal};

use folder::Folder;
use server::Server;

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The trace; - is standard input. Several are in one page, to be summed up or compared
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// Print where the page is, and open no browser
    #[arg(long)]
    no_open: bool,
    /// Serve the page to browsers on this machine, until Ctrl-C, and open none
    #[arg(long, conflicts_with = "no_open")]
    serve: bool,
    /// Of --serve: the port; any that is free if nothing is said
    #[arg(long, value_name = "N", requires = "serve")]
    port: Option<u16>,
    #[command(flatten)]
    question: Question,
    #[command(flatten)]
    choice: choosing::Args,
}

const EXAMPLES: &str = "\
Examples:
  lifetrace view lifetrace.server.1234.lt
  lifetrace view before.lt after.lt       both summed up, or compared
  lifetrace view --serve lifetrace.server.1234.lt     where there is no browser: forward the port that it tells";

/// What a page shows first.
#[derive(clap::Args, Clone, Debug)]
pub struct Question {
    /// What the page shows first
    #[arg(long, value_parser = one_of::<ViewName>())]
    view: Option<ViewName>,
    /// What it is about, where the view does not say
    #[arg(long, value_enum)]
    metric: Option<MetricName>,
    /// Of a trace with more samples so many are in the page, and stand for all of them
    #[arg(long, value_name = "N", default_value_t = MOST_SAMPLES, value_parser = clap::value_parser!(u64).range(1..=MOST_THAT_FIT))]
    most_samples: u64,
}

/// What arrays of browsers have room for, with all that belongs to a sample.
const MOST_THAT_FIT: u64 = 20_000_000;

impl Question {
    /// Of these traces.
    ///
    /// # Errors
    /// If what was typed means nothing.
    pub fn about(&self, traces: Vec<PathBuf>, choice: &choosing::Args) -> anyhow::Result<Wanted> {
        Ok(Wanted {
            traces,
            choice: choice.choice()?,
            view: self.view.map(|view| view.name().to_owned()),
            metric: self.metric.map(Metric::from),
            most_samples: self.most_samples,
        })
    }
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { traces, no_open, serve, port, question, choice } = args;
    let made = question.about(traces, &choice)?.read()?;
    if serve {
        let server = Server::new(&made.page, port.unwrap_or(0))?;
        let code = super::conclude_page(&made);
        terminal::print(&format!("{}\n", server.address()))?;
        terminal::complain("this page is for whoever knows its address; Ctrl-C ends it");
        server.serve()?;
        return Ok(code);
    }
    let path = save(&made.page)?;
    terminal::print(&format!("{}\n", path.display()))?;
    if !no_open {
        open(&path);
    }
    Ok(super::conclude_page(&made))
}

fn save(page: &Page<'_>) -> anyhow::Result<PathBuf> {
    let folder = Folder::private()?;
    let mut file = folder.new_page(&page.title)?;
    page.write(file.as_file_mut()).with_context(|| file.path().display().to_string())?;
    let (_, path) = file.keep()?;
    Ok(path)
}

/// That the page cannot be shown is no failure: it is there.
fn open(path: &Path) {
    if let Err(error) = browser::open(path) {
        let error: &dyn Display = &human::printable(&format!("{error:#}")).into_owned();
        terminal::complain(format_args!(
            "{error}\n  open it in a browser, or let one on this machine have it: lifetrace view --serve"
        ));
    }
}
