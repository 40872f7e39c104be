//! Patterns of frames that match nothing: a budget for a function that was renamed would hold for ever.

use lifetrace_analysis::filter::{FramePattern, Line};
use lifetrace_analysis::{Names, names};
use lifetrace_human as human;
use rustc_hash::FxHashSet;

use crate::choice::Choice;
use crate::reading::Reading;

/// As many names are told that may have been meant.
const NEAR: usize = 3;

/// Patterns, and whether any frame matches.
#[derive(Debug, Default)]
pub struct Sought(Vec<Pattern>);

#[derive(Debug)]
struct Pattern {
    pattern: FramePattern,
    is_met: bool,
    /// Names, which all differ by as few letters.
    near: Vec<(usize, String)>,
}

impl Sought {
    /// Those that were typed.
    pub fn of(choice: &Choice) -> Self {
        let view = &choice.view;
        let focus = view.focus.iter().flat_map(|focus| focus.patterns());
        let typed = choice.filter.frame_patterns().chain(&view.hide).chain(focus);
        let typed = typed.chain(&view.machinery.others);
        let pattern =
            |it: &FramePattern| Pattern { pattern: it.clone(), is_met: false, near: Vec::new() };
        Self(typed.map(pattern).collect())
    }

    /// Looks for them in all that a trace has, whatever is left out of it.
    pub fn look(&mut self, reading: &Reading) {
        if self.0.is_empty() {
            return;
        }
        let codes = reading.profile.tree().nodes().map(|(.., code)| code);
        for code in codes.collect::<FxHashSet<_>>() {
            let module = reading.trace.module(code);
            for frame in names::expand(&reading.trace, code) {
                let line = Line { frame, module };
                self.0.iter_mut().filter(|it| !it.is_met).for_each(|it| it.meet(&line));
            }
        }
    }

    /// A sentence for each that no frame matches.
    pub fn complaints(&self) -> impl Iterator<Item = String> {
        self.0.iter().filter(|it| !it.is_met).map(Pattern::complaint)
    }
}

impl Pattern {
    fn meet(&mut self, line: &Line<'_>) {
        if self.pattern.matches(line) {
            self.is_met = true;
            self.near.clear();
        } else if let Some(near) = self.pattern.nearly(line)
            && !self.near.iter().any(|(_, name)| *name == near.1)
        {
            self.near.push(near);
            self.near.sort_unstable();
            let best = self.near[0].0;
            self.near.retain(|&(distance, _)| distance == best);
            self.near.truncate(NEAR);
        }
    }

    fn complaint(&self) -> String {
        let name = |(_, name): &(usize, String)| format!("`{}`", human::printable(name));
        let near: Vec<_> = self.near.iter().map(name).collect();
        let near = match near.is_empty() {
            true => String::new(),
            false => format!("; did you mean {}?", near.join(" or ")),
        };
        format!("no frame matches {}{near}", self.pattern)
    }
}
