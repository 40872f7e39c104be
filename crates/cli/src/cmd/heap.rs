//! `lifetrace heap`

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use lifetrace_heap::{
    Block, Diff, Holding, Opened, Retainers, Sites, Sources, Summary, Survivors, Types, Which,
};
use lifetrace_human::named::Named;
use lifetrace_human::{json_text, named};
use lifetrace_report::Page;
use lifetrace_report::views::Render;

use crate::terminal;
use crate::typed::one_of;

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, disable_help_subcommand = true)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// A snapshot (.lth), or a dump as Ruby's ObjectSpace.dump_all writes it
    #[arg(required = true)]
    dump: Option<PathBuf>,
    /// What to show
    #[arg(long, value_parser = one_of::<View>(), default_value = "summary")]
    view: View,
    /// Of --view holding and --view block: the object at this address
    #[arg(long, alias = "to", value_name = "ADDRESS", value_parser = address)]
    at: Option<u64>,
    /// Of --view holding and --view block: the object of this class that retains most
    #[arg(long, value_name = "NAME", conflicts_with = "at")]
    class: Option<String>,
    /// Of --view holding and --view block: the sampled object that was allocated at this site and retains most
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["at", "class"])]
    site: Option<u32>,
    /// Of an OCaml program: call blocks by the types that .cmt files in this folder, or within it, declare; may be repeated
    #[arg(long, value_name = "FOLDER")]
    types_from: Vec<PathBuf>,
    /// How many are shown of each list
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Write JSON (see docs/json.md)
    #[arg(long)]
    json: bool,
}

/// What may be done with several dumps.
#[derive(clap::Subcommand)]
enum Verb {
    /// Show what has become more and what less between two dumps of one process; of three, what came and stayed
    Diff(DiffArgs),
}

/// What may be typed after `diff`.
#[derive(clap::Args)]
struct DiffArgs {
    /// The dump that was made first
    before: PathBuf,
    /// The dump that was made later
    after: PathBuf,
    /// One that was made later still: what came between the first two, and is still there?
    later: Option<PathBuf>,
    /// How many classes are shown
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Write JSON (see docs/json.md)
    #[arg(long)]
    json: bool,
}

named! {
    /// What may be asked of a heap.
    pub enum View {
        /// Which classes of objects there are, and what each root holds
        Summary = "summary",
        /// What would go with what
        Retainers = "retainers",
        /// What holds one object, and what it holds
        Holding = "holding",
        /// One object: its fields, and who refers to it
        Block = "block",
        /// Where objects were allocated, of snapshots with samples
        Sites = "sites",
        /// What objects are, told by their shapes
        Types = "types",
    }
}

const EXAMPLES: &str = "\
Examples:
  ruby -robjspace -e '...; ObjectSpace.dump_all(output: File.open(\"heap.json\", \"w\"))'
  lifetrace heap heap.json                                 which classes are there?
  lifetrace heap heap.json --view retainers                what holds so much?
  lifetrace heap heap.json --view holding --class Session  why is that still there?
  lifetrace heap heap.lth --view sites                     where was it allocated?
  lifetrace heap diff before.json after.json               what has grown?
  lifetrace heap diff first.lth second.lth third.lth       what came and stayed?";

fn address(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).map_err(|_| "is no address as 0x7f43a8b3c0d8".to_owned())
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if let Some(Verb::Diff(args)) = args.verb {
        return compare(&args);
    }
    let Some(path) = &args.dump else { bail!("which dump?") };
    let which = args.at.map(Which::At).or(args.class.map(Which::OfClass));
    let which = which.or(args.site.map(Which::OfSite));
    let is_of_one = matches!(args.view, View::Holding | View::Block);
    if is_of_one && which.is_none() {
        let view = args.view.name();
        bail!("--view {view}: which object?\n  --at ADDRESS, --class NAME, or --site NUMBER")
    }
    if !is_of_one && which.is_some() {
        bail!("--at, --class and --site are about --view holding and --view block")
    }
    let (mut opened, top) = (Opened::new(path)?, args.top);
    if !args.types_from.is_empty() {
        opened.declare(&Sources::of(&args.types_from)?)?;
    }
    let text = match (args.view, which) {
        (View::Holding, Some(which)) => shown(&Holding::new(&opened, &which, top)?, args.json)?,
        (View::Block, Some(which)) => shown(&Block::new(&opened, &which, top)?, args.json)?,
        (View::Retainers, _) => shown(&Retainers::new(&opened, top), args.json)?,
        (View::Sites, _) => shown(&Sites::new(&opened, top)?, args.json)?,
        (View::Types, _) => shown(&Types::new(&opened, top), args.json)?,
        _ => shown(&Summary::new(&opened, top), args.json)?,
    };
    terminal::print(&text)?;
    Ok(conclude(&opened))
}

fn compare(args: &DiffArgs) -> anyhow::Result<ExitCode> {
    let (before, after) = (Opened::new(&args.before)?, Opened::new(&args.after)?);
    let Some(later) = &args.later else {
        terminal::print(&shown(&Diff::new(&before, &after, args.top), args.json)?)?;
        return Ok(super::worst([conclude(&before), conclude(&after)]));
    };
    let later = Opened::new(later)?;
    let survivors = Survivors::new(&before, &after, &later, args.top);
    terminal::print(&shown(&survivors, args.json)?)?;
    Ok(super::worst([&before, &after, &later].map(conclude)))
}

/// Success, or complaints about what could not be read.
pub(super) fn conclude(opened: &Opened) -> ExitCode {
    for complaint in &opened.complaints {
        terminal::complain(format_args!("{}: {complaint}", opened.path.display()));
    }
    if opened.complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn shown(document: &impl Render, as_json: bool) -> anyhow::Result<String> {
    if as_json {
        return Ok(json_text::pretty(document)?);
    }
    let mut page = Page::new(terminal::width());
    document.render(&mut page);
    Ok(page.text)
}
