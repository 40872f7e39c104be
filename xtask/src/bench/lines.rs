//! What a sample of OCaml's heap touches: cache lines of code and of data, by whose they are.
//!
//! They are counted from the moment at which OCaml code calls the runtime for a sample until it goes on. That needs
//! no quiet machine; but which of the lines a sample has to wait for is not seen.
//! (Simulated caches, [`caches`](super::caches), also tell what the program has to fetch again.)

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::lackey::{Line, Object};
use super::ocaml_workload::{PLANS, Plan};
use super::record::Record;
use super::spread::median;
use super::{need, program};

/// Programs of ours, and how much of their work is little enough to be printed: some 100 samples.
const WORKLOADS: &[(&str, &str)] = &[("listmap", "400"), ("server", "2500"), ("json", "5")];

const RECORDING: &[&str] =
    &["record", "-q", "-f", "--sources", "ocaml", "--rate", "1e-4", "-o", "lines.lt", "--"];
const LACKEY: &[&str] = &["valgrind", "-v", "-v", "--tool=lackey", "--trace-mem=yes"];

const LIBRARY: &str = "liblifetrace.so";

/// Where the stack of a program is under valgrind.
const STACK: u64 = 0x1f_0000_0000;

const LINE_BITS: u32 = 6;

/// Medians of the samples of blocks that OCaml code has allocated.
const COLUMNS: &str = "workload,samples,instructions,lines,code_program,code_library,code_other,\
    data_program,data_library,data_stack,data_other";

/// Whose lines are counted apart, in the order of [`COLUMNS`].
const KINDS: usize = 7;
const CODE_LIBRARY: usize = 1;

/// What is where.
struct Places {
    program: Object,
    library: Object,
    /// The runtime's function that OCaml code calls.
    entry: u64,
    /// The code of OCaml's modules.
    modules: Vec<[u64; 2]>,
}

/// What was touched between the entry and the return.
#[derive(Default)]
struct Visit {
    instructions: u64,
    lines: [HashSet<u64>; KINDS],
}

/// Counts all workloads that can be run here.
///
/// # Errors
/// If something cannot be built or run, or valgrind prints something else.
pub fn run() -> Result<()> {
    ensure!(need::is_met("counting", &[("valgrind", "valgrind")]), "valgrind is needed");
    let (folder, lifetrace) = (program::folder()?, program::lifetrace()?);
    let mut record = Record::open("lines", COLUMNS)?;
    println!("{COLUMNS}");
    for (name, amount) in WORKLOADS {
        let mut plans = PLANS.iter().filter(|plan| plan.name == *name);
        let plan = plans.next().context("there is such a workload")?;
        if need::is_met(name, plan.needs) {
            record.add(&row(name, &visits(&folder, &lifetrace, plan, amount)?)?)?;
        }
    }
    Ok(())
}

fn visits(folder: &Path, lifetrace: &Path, plan: &Plan, amount: &str) -> Result<Vec<Visit>> {
    let workload = plan.make(folder)?;
    let program = &workload.command[0];
    let mut child = Command::new(lifetrace)
        .args(RECORDING)
        .args(LACKEY)
        .arg(program)
        .arg(amount)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let trace = BufReader::new(child.stderr.take().context("its standard error is piped")?);
    let visits = read(trace, Path::new(program))?;
    ensure!(child.wait()?.success(), "{} has failed", plan.name);
    Ok(visits)
}

fn read(mut trace: impl BufRead, program: &Path) -> Result<Vec<Visit>> {
    let (mut objects, mut named) = (Vec::new(), None);
    let (mut places, mut visits) = (None, Vec::new());
    let (mut current, mut text) = (None, Vec::new());
    while trace.read_until(b'\n', &mut text)? > 0 {
        match Line::of(String::from_utf8_lossy(&text).trim_end()) {
            Line::Object(path) => named = Some(path),
            Line::Displaced(bias) => {
                if let Some(path) = named.take() {
                    objects.push(Object::of(path, bias)?);
                    places = Places::among(&mut objects, program)?.or(places);
                }
            }
            line => {
                if let Some(places) = &places {
                    visits.extend(follow(&mut current, places, &line));
                }
            }
        }
        text.clear();
    }
    ensure!(places.is_some(), "valgrind has not named {} and {LIBRARY}", program.display());
    Ok(visits)
}

/// Follows the program; a visit that has ended, and was about a sample.
fn follow(current: &mut Option<Visit>, places: &Places, line: &Line) -> Option<Visit> {
    match *line {
        Line::Instruction(at) if at == places.entry => *current = Some(Visit::default()),
        Line::Instruction(at) if current.is_some() && places.is_ocaml(at) => {
            let ended = current.take();
            return ended.filter(|visit| !visit.lines[CODE_LIBRARY].is_empty());
        }
        _ => {}
    }
    let visit = current.as_mut()?;
    match *line {
        Line::Instruction(at) => {
            visit.instructions += 1;
            visit.lines[places.kind_of_code(at)].insert(at >> LINE_BITS);
        }
        Line::Access(at) => {
            visit.lines[places.kind_of_data(at)].insert(at >> LINE_BITS);
        }
        _ => {}
    }
    None
}

impl Places {
    /// Takes what is needed from `objects`, once both are there.
    fn among(objects: &mut Vec<Object>, program: &Path) -> Result<Option<Places>> {
        let place = |is: &dyn Fn(&Object) -> bool| objects.iter().rposition(is);
        let (Some(first), Some(second)) =
            (place(&|it| it.path == program), place(&|it| it.is_called(LIBRARY)))
        else {
            return Ok(None);
        };
        let library = objects.remove(second);
        let program = objects.remove(first - usize::from(second < first));
        let symbols = program.symbols()?;
        let find = |name: &str| symbols.iter().find(|(it, _)| it == name).map(|(_, at)| *at);
        let entry = find("caml_call_gc").context("no caml_call_gc: is it an OCaml program?")?;
        // The runtime's own code in assembly looks like a module's.
        let begins = symbols.iter().filter(|(name, _)| !name.starts_with("caml_system"));
        let module = |(name, begin): &(String, u64)| {
            Some([*begin, find(&format!("{}__code_end", name.strip_suffix("__code_begin")?))?])
        };
        let modules: Vec<[u64; 2]> = begins.filter_map(module).collect();
        if modules.is_empty() {
            bail!("no modules in {}", program.path.display());
        }
        Ok(Some(Places { program, library, entry, modules }))
    }

    fn is_ocaml(&self, at: u64) -> bool {
        self.modules.iter().any(|[begin, end]| (*begin..*end).contains(&at))
    }

    /// In the order of [`COLUMNS`].
    fn kind_of_code(&self, at: u64) -> usize {
        match () {
            () if self.program.has(at) => 0,
            () if self.library.has(at) => CODE_LIBRARY,
            () => 2,
        }
    }

    /// Likewise.
    fn kind_of_data(&self, at: u64) -> usize {
        match () {
            () if self.program.has(at) => 3,
            () if self.library.has(at) => 4,
            () if at >= STACK => 5,
            () => 6,
        }
    }
}

fn row(workload: &str, visits: &[Visit]) -> Result<String> {
    let middle = |of: &dyn Fn(&Visit) -> usize| {
        median(visits.iter().map(|visit| of(visit) as f64)).context("no sample was seen")
    };
    let instructions = middle(&|visit| visit.instructions as usize)?;
    let all = middle(&|visit| visit.lines.iter().map(HashSet::len).sum())?;
    let kinds: Result<Vec<String>> = (0..KINDS)
        .map(|kind| Ok(format!("{:.0}", middle(&|visit| visit.lines[kind].len())?)))
        .collect();
    Ok(format!("{workload},{},{instructions:.0},{all:.0},{}", visits.len(), kinds?.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_column_for_each_kind() {
        assert_eq!(COLUMNS.split(',').count(), 4 + KINDS);
        let mut visit = Visit { instructions: 9, ..Visit::default() };
        visit.lines[1].extend([1, 2]);
        visit.lines[5].insert(1);
        assert_eq!(row("x", &[visit]).unwrap(), "x,1,9,3,0,2,0,0,0,1,0");
        assert!(row("x", &[]).is_err());
    }
}
