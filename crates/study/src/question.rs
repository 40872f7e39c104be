//! The questions that a report answers, and what a trace has to tell for that.

use lifetrace_analysis::Metric;
use lifetrace_human::named;
use lifetrace_import::Lack;

named! {
    /// A question: what `--view` names.
    #[derive(Default)]
    pub enum ViewName {
        /// One page with the totals and the first callsites
        #[default]
        Summary = "summary",
        /// Callsites that have most
        Hot = "hot",
        /// Call tree from the outermost function; with --inverted from the callsites, or from --focus
        Tree = "tree",
        /// Of the function that --focus names: where it is called, and where in it calls are made
        Calls = "calls",
        /// Sequences of calls, anywhere in backtraces, that explain most
        Paths = "paths",
        /// Functions, by themselves and with all that they call
        Functions = "functions",
        /// Which classes objects are of, where a runtime has classes: Ruby
        Classes = "classes",
        /// What moved from the young heap to the old one, and what a larger young heap would spare
        Promotion = "promotion",
        /// Garbage collections, and what became of blocks in them
        Gc = "gc",
        /// What was alive when the program had most
        Peak = "peak",
        /// Live bytes over time, and who had them
        Timeline = "timeline",
        /// Who allocates, and who frees what others allocated
        Threads = "threads",
        /// How large blocks are
        Sizes = "sizes",
        /// What is never freed, and grows
        Leaks = "leaks",
        /// What is freed soon: candidates for the stack, an arena, or reuse
        Temporary = "temporary",
        /// How long blocks live
        Lifetimes = "lifetimes",
    }
}

impl ViewName {
    /// What it is about if `asked` is what one would like; nothing if that is no metric.
    pub fn metric(self, asked: Metric) -> Option<Metric> {
        match self {
            Self::Summary
            | Self::Hot
            | Self::Tree
            | Self::Calls
            | Self::Paths
            | Self::Functions
            | Self::Classes
            | Self::Temporary
            | Self::Lifetimes => Some(asked),
            Self::Peak => Some(Metric::Peak),
            Self::Timeline | Self::Leaks => Some(Metric::Live),
            Self::Gc | Self::Threads => Some(Metric::Allocated),
            Self::Promotion | Self::Sizes => None,
        }
    }

    /// What a trace must tell, whatever the metric is.
    pub fn needs(self) -> &'static [Lack] {
        match self {
            Self::Summary
            | Self::Hot
            | Self::Tree
            | Self::Calls
            | Self::Paths
            | Self::Functions
            | Self::Classes => &[],
            // Nobody but us tells of young heaps and collections.
            Self::Promotion | Self::Gc | Self::Timeline => &[Lack::Times],
            Self::Peak => &[Lack::Peak],
            Self::Threads => &[Lack::Threads],
            Self::Sizes => &[Lack::Sizes, Lack::Objects, Lack::Allocated],
            Self::Leaks => &[Lack::Times, Lack::Live],
            Self::Temporary => &[Lack::Times, Lack::Lifetimes],
            Self::Lifetimes => &[Lack::Lifetimes],
        }
    }
}
