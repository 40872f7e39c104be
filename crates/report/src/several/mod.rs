//! Several traces added up: a fork server with its workers, a build with its compilers.
//!
//! One trace is held at a time: what is kept of it is its totals, and its backtraces in the
//! [common tree](lifetrace_analysis::merged). A filter is of each trace by itself, so times in it are
//! since the start of each process.

mod json;
mod memory;
mod text;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use lifetrace_analysis::account::Balance;
use lifetrace_analysis::call_tree::{CallTree, NodeId};
use lifetrace_analysis::callsites::share;
use lifetrace_analysis::family::{Member, Relative, family};
use lifetrace_analysis::filter::View as Frames;
use lifetrace_analysis::{Estimate, Merged, Metric, Summary};
use lifetrace_study::Reading;
use lifetrace_study::Study;
use lifetrace_study::accounts::Accounts;
use lifetrace_study::choice::Choice;
use lifetrace_study::damages::Damages;
use lifetrace_study::notices;
use lifetrace_study::origin::Origin;
use lifetrace_study::question::ViewName;
use lifetrace_study::sought::Sought;
use lifetrace_study::watch::Watch;
use lifetrace_trace::fact::Exit;
use lifetrace_trace::ids::Timestamp;
use serde_json::Value;

use super::resident::Resident;
use super::text::notes;
use super::views::{Classes, Functions, Paths, Ranking, Summary as Totals, Tree, View};
use super::{Flaws, Known, Subject};
use crate::Options;
use memory::Memory;

/// What several traces amount to.
pub struct Several {
    merged: Merged,
    summary: Summary,
    processes: Vec<Process>,
    /// All of them, parents first.
    family: Vec<Relative>,
    choice: Choice,
    /// Of all of them.
    origin: Origin,
}

/// What is kept of one trace.
struct Process {
    member: Member,
    /// The command line, or the program.
    command: String,
    /// What the program was run as.
    program: String,
    /// What the process has called itself last.
    title: Option<String>,
    end: Timestamp,
    /// As in `--json`.
    subject: Value,
    notes: Vec<String>,
    origin: Origin,
    summary: Summary,
    /// What it has of the metric.
    value: Estimate,
    /// Births, those that the filter left out included.
    births: u64,
    damages: Damages,
    /// Its memory at its end, where that can be compared with what lives.
    memory: Option<Memory>,
}

/// A report of several traces, not yet in words.
pub struct Sum<'a> {
    several: &'a Several,
    options: &'a Options,
    is_per_process: bool,
    view: Box<dyn View + 'a>,
}

impl Several {
    /// Reads traces, and looks for the frames that are `sought` in them; `accept` refuses those that
    /// do not tell what is asked.
    ///
    /// # Errors
    /// That of `accept`, and if there is none, or one cannot be opened, or is given twice, or its samples mean nothing, or it
    /// does not tell what the filter needs.
    pub fn of(
        paths: &[PathBuf],
        choice: Choice,
        metric: Metric,
        accept: impl Fn(&Path, &Origin) -> anyhow::Result<()>,
        sought: &mut Sought,
        watch: Watch,
    ) -> anyhow::Result<Self> {
        refuse_twins(paths)?;
        let (mut merged, mut processes) = (Merged::default(), Vec::new());
        let mut origin = Origin::default();
        for path in paths {
            let study = Study::of(path, choice.clone(), watch)?;
            accept(path, &study.reading.origin())?;
            refuse_succession(path, &study.reading, paths)?;
            origin = origin.and(study.reading.origin());
            sought.look(&study.reading);
            let process = Process::new(&study, metric)?;
            merged.add(study.tree(), study.names(), study.balances(), &process.summary);
            processes.push(Process { damages: study.reading.damages, ..process });
        }
        let members: Vec<_> = processes.iter().map(|process| process.member.clone()).collect();
        let summary = merged.summary().context("there is no trace")?.clone();
        Ok(Self { merged, summary, processes, family: family(&members), choice, origin })
    }

    /// What was wrong with each trace.
    pub fn into_damages(self) -> Vec<Damages> {
        self.processes.into_iter().map(|process| process.damages).collect()
    }

    fn share(&self, process: &Process) -> f64 {
        share(process.value.value, self.processes.iter().map(|it| it.value.value).sum())
    }
}

/// # Errors
/// If a trace goes on where another one ends: what lives over that would be counted twice.
fn refuse_succession(path: &Path, reading: &Reading, paths: &[PathBuf]) -> anyhow::Result<()> {
    let codes = reading.facts.notices.iter().map(|code| &**code);
    let Some(name) = notices::predecessor(codes) else { return Ok(()) };
    let is_given = paths.iter().any(|other| other.file_name().is_some_and(|it| it == name));
    ensure!(
        !is_given,
        "{}: goes on where {name} ends, so they are one trace and not to be added up\n  \
         `lifetrace join {name} {} -o whole.lt` makes one of them",
        path.display(),
        path.file_name().unwrap_or_default().display(),
    );
    Ok(())
}

impl Process {
    fn new(study: &Study, metric: Metric) -> anyhow::Result<Self> {
        let reading = &study.reading;
        let subject = Subject::new(Known::of(reading));
        let summary = reading.profile.summary();
        let mut value = Estimate::default();
        reading.profile.balances().for_each(|(_, balance)| value += metric.of(&balance));
        Ok(Self {
            member: member(reading),
            command: subject.command().to_owned(),
            program: subject.program().to_owned(),
            title: subject.title().map(str::to_owned),
            end: reading.profile.replay().end(),
            origin: reading.origin(),
            notes: notes(&subject, &reading.damages),
            subject: serde_json::to_value(&subject)?,
            summary,
            value,
            births: reading.profile.replay().births(),
            damages: Damages::default(),
            memory: Resident::of(study).map(|resident| Memory {
                moment: *resident.moment(),
                causes: resident.causes(),
                growth: reading.resident.growth().map(|growth| growth.per_hour),
            }),
        })
    }

    fn file(&self) -> &str {
        &self.member.file
    }
}

fn member(reading: &Reading) -> Member {
    let (info, facts) = (reading.trace.info(), &reading.facts);
    let parent_pid = facts.process.as_ref().map(|process| process.parent_pid);
    let forked_from = facts.parent.as_ref();
    Member {
        file: file_name(&reading.trace.path),
        pid: info.pid,
        parent_pid: parent_pid.filter(|&pid| pid > 0),
        forked_from: forked_from.map(|parent| (parent.pid, parent.trace.to_string())),
        became_another: facts.exit == Some(Exit::Exec),
        start: info.start_time,
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// A trace that is given twice would count twice.
///
/// # Errors
/// If one of them is.
pub fn refuse_twins(paths: &[PathBuf]) -> anyhow::Result<()> {
    let mut seen = BTreeSet::new();
    for path in paths {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        ensure!(seen.insert(real), "{}: this trace is given twice", path.display());
    }
    Ok(())
}

impl Accounts for Several {
    type Names = Merged;

    fn tree(&self) -> &CallTree {
        self.merged.tree()
    }

    fn names(&self) -> &Merged {
        &self.merged
    }

    fn balances(&self) -> impl Iterator<Item = (NodeId, Balance)> {
        self.merged.balances()
    }

    fn summary(&self) -> Summary {
        self.summary.clone()
    }

    fn origin(&self) -> Origin {
        self.origin.clone()
    }

    fn view(&self) -> &Frames {
        &self.choice.view
    }
}

impl<'a> Sum<'a> {
    /// # Errors
    /// If the view is of one trace only.
    pub fn new(
        several: &'a Several,
        options: &'a Options,
        is_per_process: bool,
    ) -> anyhow::Result<Self> {
        let view = make_sum(several, options).context("this view is of one trace only")?;
        Ok(Self { several, options, is_per_process, view })
    }
}

/// Those of which several traces have a sum.
pub const OF_SEVERAL: [ViewName; 6] = [
    ViewName::Summary,
    ViewName::Hot,
    ViewName::Tree,
    ViewName::Paths,
    ViewName::Functions,
    ViewName::Classes,
];

/// Finds the answer for several traces, if the view is one [of those](OF_SEVERAL).
fn make_sum<'a>(several: &'a Several, options: &'a Options) -> Option<Box<dyn View + 'a>> {
    Some(match options.view {
        ViewName::Summary => Box::new(Totals::of_sum(several, options)),
        ViewName::Hot => Box::new(Ranking::new(several, options, options.metric)),
        ViewName::Tree => Box::new(Tree::new(several, options)),
        ViewName::Paths => Box::new(Paths::new(several, options)),
        ViewName::Functions => Box::new(Functions::new(several, options)),
        ViewName::Classes => Box::new(Classes::of_sum(several, options)),
        _ => return None,
    })
}
