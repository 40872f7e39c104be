//! `lifetrace import`

mod files;
mod heaps;

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use files::Files;
use heaps::Heap;
use lifetrace_heap::is_heap_dump;
use lifetrace_human as human;
use lifetrace_import::{Failure, Imported, import};
use lifetrace_study::input::STDIN;

use crate::bar::{Bar, Counted};
use crate::naming::{self, Verb};
use crate::output::Output;
use crate::terminal;

/// What may be typed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What another profiler wrote; - is standard input
    input: PathBuf,
    /// The trace to write, or of a heap the snapshot; - is standard output. Else it is called as the input, with the suffix .lt or .lth, and lies here
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// Overwrite the output if it exists
    #[arg(short, long)]
    force: bool,
    /// A folder with programs and libraries, or their debug information, to name addresses by; it may be laid out as debuggers (.build-id) or debuginfod have it
    #[arg(long, value_name = "FOLDER")]
    symbols: Vec<PathBuf>,
    /// Say nothing unless something is wrong
    #[arg(short, long)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  lifetrace import heaptrack.server.1234.zst -o server.lt
  lifetrace report server.lt";

const VERB: Verb =
    Verb { name: "import", writes_memtrace: false, has_format: false, option: "-o " };

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if let Some(path) = &args.output {
        naming::refuse(VERB, path, path.extension().is_some_and(|suffix| suffix == "lth"))?;
    }
    let name = match args.input == Path::new("-") {
        true => STDIN.to_owned(),
        false => args.input.display().to_string(),
    };
    let (input, bytes) = open(&args.input, &name)?;
    let input = Counted::new(input);
    let bar = Bar::start(input.count(), bytes, args.quiet)?;
    let mut input = BufReader::with_capacity(1 << 16, input);
    let is_heap = is_heap_dump(input.fill_buf().with_context(|| name.clone())?);
    let typed = match args.output {
        Some(path) => path,
        None => default_output(&args.input, if is_heap { "lth" } else { "lt" })?,
    };
    if is_heap {
        let (path, name) = (&*args.input, &*name);
        let heap = Heap { path, name, output: typed, force: args.force, quiet: args.quiet };
        return heaps::run(&heap, input);
    }
    naming::refuse(VERB, &typed, false)?;
    let output = Output::new(&typed, &args.input, args.force)?;
    let mut resolver = Files::new(args.symbols)?;
    let imported = output.write(|file| {
        import(input, file, &mut resolver).map_err(|failure| match failure {
            Failure::Input(fault) => anyhow!("{name}: {fault}"),
            Failure::Output(error) => anyhow!(error).context(output.name().to_owned()),
        })
    })?;
    drop(bar);
    tell(&imported, &name, output.name(), args.quiet);
    Ok(if imported.fault.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Also its length in bytes, if it is a file.
fn open(path: &Path, name: &str) -> anyhow::Result<(Box<dyn Read>, Option<u64>)> {
    if path == Path::new("-") {
        return Ok((Box::new(std::io::stdin().lock()), None));
    }
    let file = std::fs::File::open(path).with_context(|| format!("{name}: cannot be opened"))?;
    let metadata = file.metadata().with_context(|| format!("{name}: cannot be read"))?;
    if metadata.is_dir() {
        bail!("{name}: is a directory\n  name one of the files in it");
    }
    Ok((Box::new(file), metadata.is_file().then_some(metadata.len())))
}

/// `heaptrack.perl.12.zst` becomes `heaptrack.perl.12.lt`, in the working directory.
fn default_output(input: &Path, suffix: &str) -> anyhow::Result<PathBuf> {
    let name = input.file_name().filter(|_| input != Path::new("-"));
    let Some(name) = name.and_then(|name| name.to_str()) else {
        bail!("{}: what shall the output be called?\n  name it with -o", input.display());
    };
    let mut stem = name;
    for ending in [".gz", ".zst", ".json", ".pb", ".pprof", ".heap", ".heapprofile", ".html"] {
        stem = stem.strip_suffix(ending).filter(|stem| !stem.is_empty()).unwrap_or(stem);
    }
    Ok(PathBuf::from(format!("{stem}.{suffix}")))
}

fn tell(imported: &Imported, input: &str, output: &str, quiet: bool) {
    let count = |number: u64| human::count(number as f64);
    if let Some(fault) = &imported.fault {
        terminal::complain(format_args!(
            "{input}: {fault}\n  all that comes before is in {output}"
        ));
    }
    if quiet {
        return;
    }
    let (births, deaths) = (count(imported.births), count(imported.deaths));
    let profiler = human::printable(&imported.profiler);
    terminal::complain(format_args!("{output}: {births} blocks, {deaths} freed, from {profiler}"));
    for remark in &imported.remarks {
        terminal::complain(format_args!("note: {}", remark));
    }
    if output != "<stdout>" {
        terminal::complain(format_args!("next: lifetrace report {output}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_called_as_its_origin() {
        let named = |input: &str| default_output(Path::new(input), "lt").unwrap();
        assert_eq!(named("/tmp/heaptrack.perl.12.zst"), Path::new("heaptrack.perl.12.lt"));
        assert_eq!(named("dhat.out.9"), Path::new("dhat.out.9.lt"));
        assert_eq!(named("dhat-heap.json"), Path::new("dhat-heap.lt"));
        assert_eq!(named("heap.pb.gz"), Path::new("heap.lt"));
        assert_eq!(named("page.html"), Path::new("page.lt"));
        assert_eq!(named(".json"), Path::new(".json.lt"));
        assert!(default_output(Path::new("-"), "lt").is_err());
    }
}
