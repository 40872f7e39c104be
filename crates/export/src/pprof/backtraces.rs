//! Backtraces as rows of locations: whole frames, or lines where some were to be left out.

use lifetrace_analysis::Shaped;
use lifetrace_analysis::call_tree::NodeId;
use lifetrace_pprof::tables::Strings;
use lifetrace_study::Study;

use super::frames::Frames;
use crate::lines::Codes;

/// The backtraces of a trace.
pub struct Backtraces<'a> {
    study: &'a Study,
    /// If they are to be changed.
    changed: Option<(Shaped<'a>, Codes<'a>)>,
}

impl<'a> Backtraces<'a> {
    /// As the study wants them.
    pub fn new(study: &'a Study) -> Self {
        let (reading, view) = (&study.reading, &study.choice.view);
        let change = || {
            let shaped = Shaped::new(reading.profile.tree(), &reading.trace, view);
            (shaped, Codes::new(reading))
        };
        Self { study, changed: (!view.is_empty()).then(change) }
    }

    /// Whether a backtrace is left out as a whole.
    pub fn leaves_out(&self, node: NodeId) -> bool {
        self.changed.as_ref().is_some_and(|(shaped, _)| shaped.of(node).is_none())
    }

    /// The locations of one that is not, innermost first.
    pub fn locations(
        &self,
        node: NodeId,
        frames: &mut Frames<'a>,
        strings: &mut Strings,
    ) -> Vec<u64> {
        match &self.changed {
            None => {
                let codes = self.study.reading.profile.tree().frames(node);
                codes.map(|code| frames.id(code, strings)).collect()
            }
            Some((shaped, codes)) => {
                let lines = shaped.of(node).into_iter().flat_map(|node| shaped.frames(node));
                lines.map(|line| frames.line_id(&line, codes.of(&line), strings)).collect()
            }
        }
    }
}
