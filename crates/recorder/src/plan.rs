//! What the user wants of all traces of a recording, and how a trace says so.

use lifetrace_trace::event::TraceInfo;
use lifetrace_trace::fact::Label;
use lifetrace_trace::ids::Timestamp;
use rustix::process::Pid;

use crate::format::Format;
use crate::outcome::SessionReport;

/// What a program says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Introduction {
    /// Instead of its command line, unless empty.
    pub context: String,
    /// Of its runtime.
    pub runtime_params: String,
}

/// Known before the first session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    /// Nothing is sampled before.
    pub(crate) sampling_from: Option<Timestamp>,
    /// Greatest length of each trace, in bytes.
    pub(crate) max_size: Option<u64>,
    pub(crate) format: Format,
    /// Whether traces are kept that tell nothing.
    pub(crate) keeps_empty: bool,
    /// Whether an interpreter's own frames stay.
    pub(crate) native_frames: bool,
    /// Whether all are to be traced that the command starts.
    pub(crate) follows: bool,
    /// Whose trace is kept anyway.
    pub(crate) command: Option<Pid>,
    /// Said in each trace.
    pub(crate) labels: Vec<Label>,
    pub(crate) introduction: Introduction,
}

impl Plan {
    /// Whether a trace is kept, whoever needs it.
    pub(crate) fn keeps(&self, report: &SessionReport) -> bool {
        let is_file = || report.path.symlink_metadata().is_ok_and(|it| it.is_file());
        self.keeps_empty
            || self.command_number() == Some(report.pid)
            || !report.is_empty()
            || !is_file()
    }

    /// The command's process id.
    pub(crate) fn command_number(&self) -> Option<u32> {
        self.command.map(|command| command.as_raw_nonzero().get() as u32)
    }

    /// Makes a trace begin when sampling does, so that whatever is divided by its duration is right,
    /// and has it say what is special about it.
    pub(crate) fn announce(&self, info: &mut TraceInfo) {
        let Introduction { context, runtime_params } = &self.introduction;
        if !context.is_empty() {
            info.context = Some(context.clone());
        }
        let mut remarks = Vec::new();
        if !runtime_params.is_empty() {
            remarks.push(runtime_params.clone());
        }
        if let Some(from) = self.sampling_from.filter(|&from| from > info.start_time) {
            let seconds = (from.0 - info.start_time.0) as f64 / 1e6;
            remarks.push(format!("sampling began {seconds:.3} s after the program"));
            info.start_time = from;
        }
        if let Some(bytes) = self.max_size {
            remarks.push(format!("the trace ends before it is longer than {bytes} bytes"));
        }
        info.runtime_params.push_str(&remarks.join("; "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lifetrace_trace::ids::DomainId;

    fn info(start_time: u64) -> TraceInfo {
        TraceInfo {
            sample_rate: 1.0,
            word_bits: 64,
            executable_name: String::new(),
            host_name: String::new(),
            runtime_params: String::new(),
            pid: 1,
            start_time: Timestamp(start_time),
            initial_domain: DomainId(0),
            context: None,
        }
    }

    #[test]
    fn a_trace_begins_when_sampling_does() {
        let from = Some(Timestamp(5_000_000));
        let plan = Plan { sampling_from: from, max_size: Some(1000), ..Plan::default() };
        let mut early = info(3_500_000);
        plan.announce(&mut early);
        assert_eq!(early.start_time, Timestamp(5_000_000));
        assert_eq!(
            early.runtime_params,
            "sampling began 1.500 s after the program; the trace ends before it is longer than 1000 \
             bytes"
        );
        let introduction =
            Introduction { context: "release 7".into(), runtime_params: "v=0".into() };
        let mut late = info(7_000_000);
        Plan { max_size: None, introduction, ..plan }.announce(&mut late);
        assert_eq!((late.start_time, &*late.runtime_params), (Timestamp(7_000_000), "v=0"));
        assert_eq!((early.context, late.context.as_deref()), (None, Some("release 7")));
    }
}
