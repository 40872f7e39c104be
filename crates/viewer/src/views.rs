//! What a page can show first.

use lifetrace_human::named;

named! {
    /// A tab of the page, by its name in the page's address.
    pub enum ViewName {
        /// The answer in words, the verdict on leaks, totals
        Summary = "summary",
        /// Live bytes over time, with spans to choose
        Timeline = "timeline",
        /// A flame graph, from the outermost function or from the callsites
        Flame = "flame",
        /// Callsites, in a table
        Callsites = "callsites",
        /// What is never freed, and grows
        Leaks = "leaks",
        /// Sequences of calls that explain most
        Paths = "paths",
        /// How long blocks live, and how large they are
        Lifetimes = "lifetimes",
        /// Functions, by themselves and with all that they call
        Functions = "functions",
        /// Two traces, or two spans of one
        Diff = "diff",
        /// Callers and callees of one function
        Sandwich = "sandwich",
        /// Which classes objects are of
        Classes = "classes",
        /// Who allocates, and who frees what others allocated
        Threads = "threads",
        /// How large blocks are
        Sizes = "sizes",
        /// What is freed soon
        Temporary = "temporary",
        /// Garbage collections, and what they promote
        Collector = "collector",
        /// What a heap snapshot beside the trace holds
        Heap = "heap",
        /// Several processes: to be chosen, summed up, compared
        Processes = "processes",
    }
}
