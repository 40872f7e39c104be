//! What of a trace is looked at, as one types it: the same for all verbs.

use lifetrace_analysis::filter::{Filter, Focus, FramePattern, View};
use lifetrace_analysis::machinery::Machinery;
use lifetrace_study::choice::Choice;

/// What may be typed.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Args {
    #[command(flatten)]
    blocks: Blocks,
    /// Leave out these frames: a function's name, fn:PART, file:PART, module:PART
    #[arg(long, value_name = "FRAME")]
    hide: Vec<String>,
    /// Show a function that calls itself once only
    #[arg(long)]
    collapse_recursion: bool,
    /// Only what goes through these functions, from the first on: 'A;B;*;C'
    #[arg(long, value_name = "PATH")]
    focus: Option<String>,
}

/// What may be typed where backtraces stay as they are.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Blocks {
    /// Some blocks only, as 'size > 1KiB not freed' or 'leaks' (see docs/filters.md)
    #[arg(long, value_name = "FILTER")]
    filter: Vec<String>,
    /// Take these frames for allocation machinery as well: callsites are outside of them
    #[arg(long, value_name = "FRAME")]
    machinery: Vec<String>,
    /// Take no frames for allocation machinery but those of --machinery (see docs/reports.md)
    #[arg(long)]
    no_machinery: bool,
}

impl Args {
    /// What it means.
    ///
    /// # Errors
    /// If it means nothing.
    pub fn choice(&self) -> anyhow::Result<Choice> {
        let hide = self.hide.iter().map(|text| FramePattern::parse(text));
        let focus = self.focus.as_deref().map(Focus::parse);
        Ok(Choice {
            filter: self.blocks.filter()?,
            view: View {
                hide: hide.collect::<Result<_, _>>()?,
                collapse_recursion: self.collapse_recursion,
                focus: focus.transpose()?,
                by_column: false,
                machinery: self.blocks.machinery()?,
            },
        })
    }
}

impl Blocks {
    /// Which blocks.
    ///
    /// # Errors
    /// If what was typed means nothing.
    pub fn filter(&self) -> anyhow::Result<Filter> {
        Ok(Filter::parse_all(&self.filter)?.with_machinery(self.machinery()?))
    }

    fn machinery(&self) -> anyhow::Result<Machinery> {
        let others = self.machinery.iter().map(|text| FramePattern::parse(text));
        let others = others.collect::<Result<_, _>>()?;
        Ok(Machinery { without_lists: self.no_machinery, others })
    }
}
