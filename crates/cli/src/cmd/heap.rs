//! `lifetrace heap`

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use lifetrace_heap::{Diff, Holding, Opened, Retainers, Summary, Which};
use lifetrace_human::{json_text, named};
use lifetrace_report::Page;
use lifetrace_report::views::Render;

use crate::terminal;
use crate::typed::one_of;

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// A snapshot (.lth), or a dump as Ruby's ObjectSpace.dump_all writes it
    #[arg(required = true)]
    dump: Option<PathBuf>,
    /// What to show
    #[arg(long, value_parser = one_of::<View>(), default_value = "summary")]
    view: View,
    /// Of --view holding: the object at this address
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    at: Option<u64>,
    /// Of --view holding: the object of this class that retains most
    #[arg(long, value_name = "NAME", conflicts_with = "at")]
    class: Option<String>,
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
    /// Show what has become more and what less between two dumps of one process
    Diff(DiffArgs),
}

/// What may be typed after `diff`.
#[derive(clap::Args)]
struct DiffArgs {
    /// The dump that was made first
    before: PathBuf,
    /// The dump that was made later
    after: PathBuf,
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
    }
}

const EXAMPLES: &str = "\
  ruby -robjspace -e '...; ObjectSpace.dump_all(output: File.open(\"heap.json\", \"w\"))'
  lifetrace heap heap.json                                 which classes are there?
  lifetrace heap heap.json --view retainers                what holds so much?
  lifetrace heap heap.json --view holding --class Session  why is that still there?
  lifetrace heap diff before.json after.json               what has grown?";

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
    let which = match (args.view, which) {
        (View::Holding, None) => {
            bail!("--view holding: which object?\n  --at ADDRESS, or --class NAME")
        }
        (View::Holding, which) => which,
        (_, Some(_)) => bail!("--at and --class are about --view holding"),
        (_, None) => None,
    };
    let opened = Opened::new(path)?;
    let text = match (args.view, which) {
        (View::Retainers, _) => shown(&Retainers::new(&opened, args.top), args.json)?,
        (View::Holding, Some(which)) => {
            shown(&Holding::new(&opened, &which, args.top)?, args.json)?
        }
        _ => shown(&Summary::new(&opened, args.top), args.json)?,
    };
    terminal::print(&text)?;
    Ok(conclude(&opened))
}

fn compare(args: &DiffArgs) -> anyhow::Result<ExitCode> {
    let (before, after) = (Opened::new(&args.before)?, Opened::new(&args.after)?);
    terminal::print(&shown(&Diff::new(&before, &after, args.top), args.json)?)?;
    Ok(super::worst([conclude(&before), conclude(&after)]))
}

/// Success, or complaints about what could not be read.
fn conclude(opened: &Opened) -> ExitCode {
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
