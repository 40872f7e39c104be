//! What is left of sessions that are over: reports, and trace files, or their number.
//!
//! A trace without events is removed as soon as its session has ended, unless all are to be kept. That
//! of a process which has started traced ones waits for theirs: it stays if one of them does, so that it is
//! known who has started whom.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::process::Pid;

use crate::notice::{Notice, Untraced};
use crate::outcome::{Others, SessionReport};
use crate::plan::Plan;
use crate::untraced::UntracedPrograms;

/// A recording of a build or a server may have millions of processes: more reports than these are not
/// kept whole, nor more refusals.
pub(crate) const MOST_REPORTS: usize = 4096;

/// What is left of sessions that are over. They are known by their numbers, which are in the order in which they
/// began.
#[derive(Debug, Default)]
pub(crate) struct Remains {
    pub(crate) reports: BTreeMap<u64, SessionReport>,
    pub(crate) others: Others,
    /// How many traces were not kept.
    pub(crate) empty: u64,
    pub(crate) untraced: UntracedPrograms,
}

impl Remains {
    /// Takes the report of a session; `has_living_child` if a live one is of a process that this one's has
    /// started. Returns the file that is to be removed, if the trace is not to be kept.
    pub(crate) fn settle(
        &mut self,
        number: u64,
        report: SessionReport,
        has_living_child: bool,
        plan: &Plan,
    ) -> Option<PathBuf> {
        if plan.keeps(&report) || has_living_child || self.has_child(number, report.pid) {
            // It says itself what the process has become.
            successors(&report).for_each(|(pid, program, _)| self.untraced.know(pid, program));
            self.keep(number, report, plan);
            return None;
        }
        Some(self.drop_empty(report))
    }

    /// Those that have waited for what they have started; their files.
    pub(crate) fn drop_all_empty(&mut self, plan: &Plan) -> Vec<PathBuf> {
        let mut dropped = Vec::new();
        let numbers: Vec<u64> = self.reports.keys().rev().copied().collect();
        for number in numbers {
            let is_empty =
                |report: &SessionReport| !plan.keeps(report) && !self.has_child(number, report.pid);
            if self.reports.get(&number).is_some_and(is_empty)
                && let Some(report) = self.reports.remove(&number)
            {
                dropped.push(self.drop_empty(report));
            }
        }
        // A file may have been removed by somebody else, and its name given to another session.
        dropped.retain(|path| self.reports.values().all(|report| report.path != *path));
        dropped
    }

    fn drop_empty(&mut self, report: SessionReport) -> PathBuf {
        self.empty += 1;
        successors(&report).for_each(|(pid, program, why)| self.untraced.note(pid, program, why));
        report.path
    }

    /// Whether a report is of a process that this one has started.
    fn has_child(&self, number: u64, pid: u32) -> bool {
        self.reports.range(number + 1..).any(|(_, report)| report.parent == pid)
    }

    /// Keeps a report; of too many, the half of which there is least to tell is only counted. The
    /// command's are kept; if nobody knows it, it is taken to be the first.
    fn keep(&mut self, number: u64, report: SessionReport, plan: &Plan) {
        self.reports.insert(number, report);
        if self.reports.len() <= MOST_REPORTS {
            return;
        }
        let rank = |report: &SessionReport| (report.is_remarkable(), report.samples);
        let mut ranks: Vec<(bool, u64)> = self.reports.values().map(rank).collect();
        let middle = ranks.len() / 2;
        let (_, &mut median, _) = ranks.select_nth_unstable(middle);
        let first = self.reports.values().next().map(|report| report.pid);
        let command = plan.command_number().or(first);
        let others = &mut self.others;
        self.reports.retain(|_, report| {
            let stays = rank(report) > median || Some(report.pid) == command;
            if !stays {
                others.count(report);
            }
            stays
        });
    }
}

/// What a process has become that is not traced.
fn successors(report: &SessionReport) -> impl Iterator<Item = (Pid, Arc<str>, Untraced)> {
    let pid = i32::try_from(report.pid).ok().and_then(Pid::from_raw);
    report.notices.iter().filter_map(move |notice| match notice {
        Notice::Became { why, program } => Some((pid?, Arc::clone(program), *why)),
        _ => None,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::outcome::SessionEnd;
    use lifetrace_trace::ids::Timestamp;
    use lifetrace_transport::segment::LostReason;

    pub(crate) fn report(samples: u64) -> SessionReport {
        SessionReport {
            path: "t".into(),
            pid: samples as u32,
            parent: 1,
            program: "t".into(),
            executable: "t".into(),
            command_line: String::new(),
            title: "".into(),
            start: Timestamp(samples),
            samples,
            allocated: samples,
            events: samples,
            bytes: 1,
            peak_resident: None,
            is_full: samples == 17,
            lost: Vec::new(),
            notices: Vec::new(),
            end: SessionEnd::Died,
            error: None,
        }
    }

    #[test]
    fn what_cannot_be_judged_by_its_samples_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        std::fs::write(&path, "").unwrap();
        let empty = || SessionReport { path: path.clone(), is_full: false, ..report(0) };
        let plan = Plan::default();
        assert!(!plan.keeps(&empty()));
        let absent = crate::runtimes::notice(b"no-ocaml").unwrap();
        assert!(!plan.keeps(&SessionReport { notices: vec![absent], ..empty() }));
        let unsampled = vec![Notice::UnexplainedMemory];
        assert!(plan.keeps(&SessionReport { notices: unsampled, ..empty() }));
        let lost = vec![(LostReason::RingFull, 1)];
        assert!(plan.keeps(&SessionReport { lost, ..empty() }));
        assert!(plan.keeps(&SessionReport { end: SessionEnd::Damaged, ..empty() }));
        assert!(plan.keeps(&SessionReport { path: "/dev/null".into(), ..empty() }));
        let command = Pid::from_raw(7);
        assert!(Plan { command, ..Plan::default() }.keeps(&SessionReport { pid: 7, ..empty() }));
        assert!(Plan { keeps_empty: true, ..Plan::default() }.keeps(&empty()));
    }
}
