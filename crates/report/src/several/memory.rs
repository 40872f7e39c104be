//! What several processes had in memory, beside what lives in them.

use lifetrace_analysis::resident::Moment;
use lifetrace_human as human;

use super::Process;
use crate::resident::{is_much, share};

/// What is kept of a process's memory.
pub(super) struct Memory {
    /// Its end.
    pub(super) moment: Moment,
    /// What the memory may be that does not live.
    pub(super) causes: String,
    /// Bytes in an hour, if there is more and more beside what lives.
    pub(super) growth: Option<f64>,
}

/// Where there is more and more memory beside what lives, or little of all is explained.
pub(super) fn unexplained(processes: &[Process]) -> Option<String> {
    let told: Vec<_> = told(processes).collect();
    growing(&told).or_else(|| explained(&told, &total(processes)))
}

/// The memory of all of them.
pub(super) fn total(processes: &[Process]) -> Moment {
    told(processes).fold(Moment::default(), |mut all, (_, memory)| {
        all.resident = all.resident.saturating_add(memory.moment.resident);
        all.live += memory.moment.live;
        all
    })
}

fn told(processes: &[Process]) -> impl Iterator<Item = (&Process, &Memory)> {
    processes.iter().filter_map(|it| Some((it, it.memory.as_ref()?)))
}

fn growing(told: &[(&Process, &Memory)]) -> Option<String> {
    let growing =
        told.iter().filter_map(|(process, memory)| Some((process, memory.growth?, memory)));
    let growing: Vec<_> = growing.collect();
    let (process, rate, memory) = growing.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let who = match growing.len() {
        1 => "1 process grows".to_owned(),
        count => format!("{count} processes grow"),
    };
    Some(format!(
        "{who} beside what was sampled, {} by {}/h. It may be {}.",
        process.file(),
        human::bytes(*rate),
        memory.causes,
    ))
}

fn explained(told: &[(&Process, &Memory)], all: &Moment) -> Option<String> {
    let rest = |(_, memory): &&(&Process, &Memory)| memory.moment.rest();
    let (process, memory) = told.iter().max_by(|a, b| rest(a).total_cmp(&rest(b)))?;
    let whose = match told.len() {
        1 => String::new(),
        _ => format!(" of {}, which has most of it,", process.file()),
    };
    is_much(all).then(|| {
        format!(
            "Resident at the ends of processes, added up (what they share counts in each): {}, of \
             which {} ({}) lives. The rest{whose} may be {}.",
            human::bytes(all.resident as f64),
            human::estimate(&all.live),
            human::percent(share(all)),
            memory.causes,
        )
    })
}
