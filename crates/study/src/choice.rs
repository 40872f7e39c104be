//! What of a trace is looked at.

use lifetrace_analysis::filter::{Filter, FramePattern, View};

/// What of a trace is looked at.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Which blocks.
    pub filter: Filter,
    /// Which frames of their backtraces.
    pub view: View,
}

impl Choice {
    /// What it leaves out, in words; nothing if it leaves out nothing.
    pub fn sentences(&self) -> Vec<String> {
        let View { hide, collapse_recursion, focus, machinery, by_column: _ } = &self.view;
        let filter = (!self.filter.is_empty()).then(|| format!("Filter: {}", self.filter));
        let named = |what: &str, frames: &[FramePattern]| {
            let names: Vec<_> = frames.iter().map(ToString::to_string).collect();
            (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
        };
        let hide = named("Hidden frames", hide);
        let without =
            machinery.without_lists.then(|| "No function is taken for machinery".to_owned());
        let others = named("Allocation machinery as well", &machinery.others);
        let recursion = collapse_recursion.then(|| "Recursion is collapsed".to_owned());
        let focus = focus.as_ref().map(|focus| format!("Focus: {focus}"));
        [filter, hide, recursion, focus, without, others].into_iter().flatten().collect()
    }
}
