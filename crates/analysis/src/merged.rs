//! Several traces added up: the processes of one program, or of a whole tree of programs.
//!
//! Backtraces are laid over each other by what their frames are called, so that the parent and the
//! children of a fork server, and whoever else runs the same code, have their callsites in common.
//! Frames that have no name are addresses, which mean nothing in another process: those of one object
//! file become one.
//!
//! Estimates add up, and so do their variances, since traces are sampled independently. What each
//! process had at its own peak is added up as well; as peaks are at different times, no more than
//! that was alive at once.
//!
//! It costs O(nodes) a trace, and holds the common tree only.

use std::collections::BTreeMap;

use lifetrace_trace::event::Location;
use lifetrace_trace::frame::FrameKind;
use lifetrace_trace::ids::LocationCode;
use rustc_hash::FxHashMap;

use crate::account::Balance;
use crate::call_tree::{CallTree, NodeId};
use crate::names::Names;
use crate::sampling::Sampling;
use crate::summary::{Peak, Summary};

/// What several traces amount to.
#[derive(Clone, Debug, Default)]
pub struct Merged {
    tree: CallTree,
    /// By codes of `tree`.
    frames: Vec<MergedFrame>,
    codes: FxHashMap<MergedFrame, LocationCode>,
    balances: BTreeMap<NodeId, Balance>,
    summary: Option<Summary>,
}

/// What a frame is called.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct MergedFrame {
    /// Outermost first; one at least.
    locations: Vec<Location>,
    module: Option<Box<str>>,
    kind: FrameKind,
}

impl Merged {
    /// Adds a trace: its backtraces with what they have, and its totals.
    pub fn add(
        &mut self,
        tree: &CallTree,
        names: &impl Names,
        balances: impl Iterator<Item = (NodeId, Balance)>,
        summary: &Summary,
    ) {
        let nodes = self.lay(tree, names);
        for (node, balance) in balances {
            *self.balances.entry(nodes[node.index()]).or_default() += &balance;
        }
        match &mut self.summary {
            Some(sum) => add(sum, summary),
            sum @ None => {
                let peak = Peak { time: std::time::Duration::ZERO, ..summary.peak };
                *sum = Some(Summary { peak, ..summary.clone() });
            }
        }
    }

    /// All backtraces.
    pub fn tree(&self) -> &CallTree {
        &self.tree
    }

    /// What each has.
    pub fn balances(&self) -> impl Iterator<Item = (NodeId, Balance)> {
        self.balances.iter().map(|(&node, &balance)| (node, balance))
    }

    /// The totals; nothing if there is no trace. The duration is that of the longest, the peak is the
    /// sum of all peaks and has no time, the sampling that of the most thinly sampled.
    pub fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref()
    }

    /// The nodes that those of a trace's tree have become.
    fn lay(&mut self, tree: &CallTree, names: &impl Names) -> Vec<NodeId> {
        let mut known: FxHashMap<LocationCode, LocationCode> = FxHashMap::default();
        let mut nodes = Vec::with_capacity(1 + tree.len());
        nodes.push(NodeId::ROOT);
        for (_, parent, code) in tree.nodes() {
            let common = *known.entry(code).or_insert_with(|| self.code(code, names));
            nodes.push(self.tree.child(nodes[parent.index()], common));
        }
        nodes
    }

    fn code(&mut self, code: LocationCode, names: &impl Names) -> LocationCode {
        let module = names.module(code);
        let known = names.locations(code);
        let locations = if known.is_empty() { vec![unknown(module)] } else { known.to_vec() };
        let frame =
            MergedFrame { locations, module: module.map(Into::into), kind: names.kind(code) };
        *self.codes.entry(frame).or_insert_with_key(|frame| {
            self.frames.push(frame.clone());
            LocationCode(self.frames.len() as u64 - 1)
        })
    }

    fn frame(&self, code: LocationCode) -> Option<&MergedFrame> {
        self.frames.get(usize::try_from(code.0).ok()?)
    }
}

impl Names for Merged {
    fn locations(&self, code: LocationCode) -> &[Location] {
        self.frame(code).map_or(&[], |frame| &frame.locations)
    }

    fn kind(&self, code: LocationCode) -> FrameKind {
        self.frame(code).map_or(FrameKind::Unknown, |frame| frame.kind)
    }

    fn module(&self, code: LocationCode) -> Option<&str> {
        self.frame(code)?.module.as_deref()
    }
}

fn unknown(module: Option<&str>) -> Location {
    Location {
        filename: module.unwrap_or_default().into(),
        line: 0,
        start_char: 0,
        end_char: 0,
        defname: "(unknown frame)".into(),
    }
}

fn add(sum: &mut Summary, other: &Summary) {
    let count = |sum: &mut u64, other: u64| *sum = sum.saturating_add(other);
    count(&mut sum.samples, other.samples);
    count(&mut sum.hits, other.hits);
    count(&mut sum.promotions, other.promotions);
    count(&mut sum.collections, other.collections);
    count(&mut sum.unmatched, other.unmatched);
    sum.sampling = Sampling::coarser(&sum.sampling, &other.sampling);
    sum.duration = sum.duration.max(other.duration);
    sum.allocated += &other.allocated;
    sum.outside += &other.outside;
    sum.promoted += &other.promoted;
    sum.peak.amount += &other.peak.amount;
    sum.peak.young += &other.peak.young;
    sum.young += &other.young;
    sum.live += &other.live;
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use lifetrace_trace::event::TraceInfo;
    use lifetrace_trace::ids::{DomainId, Timestamp};

    use super::*;
    use crate::estimate::{Amount, Weight};
    use crate::filter::View;
    use crate::metric::Metric;
    use crate::shape::Shaped;
    use crate::sites::Sites;
    use crate::{Callsites, Place};

    /// A process: code `N` is the function of the Nth name; nothing if the name is empty.
    struct Process {
        names: Vec<Vec<Location>>,
        tree: CallTree,
        balances: Vec<(NodeId, Balance)>,
        summary: Summary,
    }

    impl Names for Process {
        fn locations(&self, code: LocationCode) -> &[Location] {
            &self.names[code.0 as usize]
        }

        fn module(&self, _code: LocationCode) -> Option<&str> {
            Some("a.so")
        }
    }

    fn location(name: &str) -> Location {
        Location { defname: name.into(), ..unknown(None) }
    }

    fn summary(sample_rate: f64, allocated: Amount) -> Summary {
        let info = TraceInfo {
            sample_rate,
            word_bits: 64,
            executable_name: String::new(),
            host_name: String::new(),
            runtime_params: String::new(),
            pid: 1,
            start_time: Timestamp(0),
            initial_domain: DomainId(0),
            context: None,
        };
        Summary {
            sampling: Sampling::new(&info).unwrap(),
            duration: Duration::from_secs(allocated.samples),
            samples: allocated.samples,
            hits: 0,
            promotions: 0,
            collections: 0,
            unmatched: 0,
            allocated,
            outside: Amount::default(),
            promoted: Amount::default(),
            peak: Peak {
                amount: allocated,
                young: Amount::default(),
                time: Duration::from_secs(1),
            },
            live: Amount::default(),
            young: Amount::default(),
        }
    }

    /// Backtraces of names, outermost first, with the bytes that a sampled block has there.
    fn process(rate: f64, names: &[&str], stacks: &[(&[u64], u64)]) -> Process {
        let mut tree = CallTree::default();
        let mut balances = Vec::new();
        let mut all = Balance::default();
        for (stack, bytes) in stacks {
            let codes: Vec<_> = stack.iter().copied().map(LocationCode).collect();
            let allocated = Weight::of_inclusion(rate).tally(*bytes);
            let balance = Balance { allocated, ..Balance::default() };
            all += &balance;
            balances.push((tree.follow(0, &codes), balance));
        }
        let locations = |name: &&str| match *name {
            "" => Vec::new(),
            name => vec![location(name)],
        };
        let names = names.iter().map(locations).collect();
        Process { names, tree, balances, summary: summary(rate, all.allocated.amount()) }
    }

    fn merge(processes: &[Process]) -> Merged {
        let mut merged = Merged::default();
        for process in processes {
            let balances = process.balances.iter().copied();
            merged.add(&process.tree, process, balances, &process.summary);
        }
        merged
    }

    fn callsites(merged: &Merged) -> Vec<(String, f64, f64)> {
        let view = View::default();
        let sites = Sites::new(Shaped::new(merged.tree(), merged, &view));
        let callsites = Callsites::new(sites, merged.balances(), Metric::Allocated);
        let row = |site: &crate::Callsite<'_>| {
            let Place::Known(location) = site.place else { panic!("{:?}", site.place) };
            (location.defname.to_string(), site.value.value, site.value.variance)
        };
        callsites.callsites.iter().map(row).collect()
    }

    #[test]
    fn what_is_called_the_same_is_the_same() {
        let parent = process(0.5, &["main", "f", "g"], &[(&[0, 1], 100), (&[0, 2], 10)]);
        let child = process(0.5, &["g", "", "main"], &[(&[2, 0], 30), (&[2, 1], 1)]);
        let other = process(0.25, &["", "h"], &[(&[0], 5), (&[1], 7)]);
        let merged = merge(&[parent, child, other]);
        // The weight is 2 or 4, the variance of a block of y bytes 2 y^2 or 12 y^2.
        let expected = [
            ("f", 200.0, 2e4),
            ("g", 80.0, 2.0 * (10.0 * 10.0 + 30.0 * 30.0)),
            ("h", 28.0, 12.0 * 49.0),
            ("(unknown frame)", 22.0, 2.0 + 12.0 * 25.0),
        ];
        let expected = expected.map(|(name, value, variance)| (name.to_owned(), value, variance));
        assert_eq!(callsites(&merged), expected);
        assert_eq!(merged.tree().len(), 6, "main, f, g, unknown, unknown alone, h");
    }

    #[test]
    fn totals_add_up() {
        let dense = process(1.0, &["f"], &[(&[0], 100), (&[0], 10)]);
        let thin = process(0.25, &["f"], &[(&[0], 8)]);
        let (dense_summary, thin_summary) = (dense.summary.clone(), thin.summary.clone());
        let merged = merge(&[dense, thin]);
        let sum = merged.summary().unwrap();
        assert_eq!((sum.samples, sum.allocated.samples), (3, 3));
        assert_eq!(sum.allocated.bytes.value, 110.0 + 32.0);
        assert_eq!(sum.allocated.bytes.variance, thin_summary.allocated.bytes.variance);
        assert_eq!((sum.peak.amount.bytes.value, sum.peak.time), (142.0, Duration::ZERO));
        assert_eq!(sum.duration, dense_summary.duration);
        assert!(!sum.sampling.is_exact());
        assert_eq!(sum.sampling.interval_bytes(), thin_summary.sampling.interval_bytes());
        assert!(Merged::default().summary().is_none());
    }

    /// Whatever the order, and one alone is what it was.
    #[test]
    fn the_order_does_not_matter() {
        let processes = || {
            vec![
                process(0.5, &["main", "f", "g"], &[(&[0, 1], 100), (&[0, 2], 10)]),
                process(0.25, &["g", "main"], &[(&[1, 0], 30)]),
                process(1.0, &["h", "f"], &[(&[0, 1], 3)]),
            ]
        };
        let forwards = callsites(&merge(&processes()));
        let mut backwards = processes();
        backwards.reverse();
        assert_eq!(forwards, callsites(&merge(&backwards)));
    }
}
