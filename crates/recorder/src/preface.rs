//! The first records of a trace: facts that hold from its beginning.

use std::path::Path;
use std::sync::Arc;

use lifetrace_trace::event::TraceInfo;
use lifetrace_trace::fact::{Fact, Label, Parent, Process};
use lifetrace_trace::ids::Timestamp;

use crate::process::ProcessImage;
use crate::samplers::Samplers;

/// The process, where its inherited blocks are recorded, what the user says of it, and how it is sampled.
pub(crate) fn facts(
    process: &ProcessImage,
    parent: Option<Parent>,
    labels: &[Label],
    info: &TraceInfo,
    samplers: &Samplers,
    now: Timestamp,
) -> Vec<Fact> {
    let process = Fact::Process(of_process(process, info, now));
    let labels = labels.iter().cloned().map(Fact::Label);
    let parent = parent.map(Fact::Parent);
    let samplers = samplers.facts().map(Fact::Sampler);
    [process].into_iter().chain(samplers).chain(parent).chain(labels).collect()
}

fn of_process(process: &ProcessImage, info: &TraceInfo, now: Timestamp) -> Process {
    let start = process.age.map(|age| Timestamp(now.0.saturating_sub(age.as_micros() as u64)));
    Process {
        arguments: process.called.arguments.iter().map(|word| Arc::from(&**word)).collect(),
        executable: name(&process.executable),
        pid: info.pid,
        parent_pid: process.parent.into(),
        host: Arc::from(&*info.host_name),
        container: Arc::from(&*process.container),
        runtime: "native".into(),
        runtime_version: "".into(),
        agent_version: env!("CARGO_PKG_VERSION").into(),
        start,
        name: Arc::from(&*process.called.name),
        title: "".into(),
    }
}

/// The process that this one was started by, whose trace is being written, too.
pub(crate) fn parent(pid: u32, trace: &Path) -> Parent {
    let trace = trace.file_name().map(Path::new).unwrap_or(trace);
    Parent { pid: pid.into(), trace: name(trace) }
}

fn name(path: &Path) -> Arc<str> {
    path.to_string_lossy().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samplers::tests::NATIVE;
    use lifetrace_trace::ids::DomainId;

    #[test]
    fn all_that_is_known_from_the_start() {
        let process = ProcessImage::read(rustix::process::getpid());
        let info = TraceInfo {
            sample_rate: 0.25,
            word_bits: 64,
            executable_name: String::new(),
            host_name: "host".into(),
            runtime_params: String::new(),
            pid: 17,
            start_time: Timestamp(0),
            initial_domain: DomainId(0),
            context: None,
        };
        let label = Label { key: "build".into(), value: "7".into() };
        let parent = parent(16, Path::new("/tmp/sh.16.lt"));
        let now = Timestamp(5_000_000_000);
        let samplers = Samplers::of(&NATIVE);
        let labels = std::slice::from_ref(&label);
        let facts = facts(&process, Some(parent), labels, &info, &samplers, now);
        let [Fact::Process(told), Fact::Sampler(sampler), Fact::Parent(parent), Fact::Label(last)] =
            &facts[..]
        else {
            panic!("{facts:?}")
        };
        assert_eq!((told.pid, told.parent_pid), (17, process.parent.into()));
        assert!(told.start.unwrap() < now && told.arguments[0].contains("recorder"));
        assert_eq!((&*sampler.name, sampler.rate), ("malloc", 0.5));
        assert_eq!((parent.pid, &*parent.trace, last), (16, "sh.16.lt", &label));
    }
}
