//! What is done to backtraces before they are shown: frames are hidden, recursion is collapsed, and
//! only what is within a path is looked at. In this order.

use std::fmt;

use lifetrace_trace::ids::LocationCode;
use rustc_hash::FxHashMap;

use super::error::{Mistake, ParseError};
use super::frames::Line;
use super::parse::Parser;
use super::term::FramePattern;
use crate::machinery::Machinery;
use crate::names::Place;

/// The step of a path that any number of frames may take.
const GAP: &str = "*";
const BESIDE_GAP: &str = "a frame on each side of `*`";

/// What is done to backtraces before they are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Frames that are left out.
    pub hide: Vec<FramePattern>,
    /// Whether a function appears once only, however it calls itself.
    pub collapse_recursion: bool,
    /// Only what is within this path, from its first frame on.
    pub focus: Option<Focus>,
    /// Whether lines at other columns are other lines.
    pub by_column: bool,
    /// Which frames are no callsites.
    pub machinery: Machinery,
}

impl View {
    /// Whether it leaves backtraces as they are.
    pub fn is_empty(&self) -> bool {
        self.hide.is_empty() && !self.collapse_recursion && self.focus.is_none()
    }

    /// Changes a backtrace, outermost line first. False if it is to be left out as a whole, since it
    /// does not have the path that is focused on.
    #[must_use]
    pub fn apply(&self, lines: &mut Vec<Line<'_>>) -> bool {
        lines.retain(|line| !self.hide.iter().any(|pattern| pattern.matches(line)));
        if self.collapse_recursion {
            collapse_recursion(lines);
        }
        match self.focus.as_ref().map(|focus| focus.find(lines)) {
            Some(Some(first)) => drop(lines.drain(..first)),
            Some(None) => return false,
            None => {}
        }
        true
    }
}

/// What makes two lines the same function.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Function<'a> {
    Named {
        function: &'a str,
        file: &'a str,
    },
    /// All that is known is the place.
    At {
        file: &'a str,
        line: u32,
    },
    Unknown(LocationCode),
    NoBacktrace,
}

impl<'a> Function<'a> {
    pub(crate) fn of(line: &Line<'a>) -> Self {
        match line.frame.place {
            Place::Known(at) if at.defname.is_empty() => {
                Self::At { file: &at.filename, line: at.line }
            }
            Place::Known(at) => Self::Named { function: &at.defname, file: &at.filename },
            Place::Unknown(code) => Self::Unknown(code),
            Place::NoBacktrace => Self::NoBacktrace,
        }
    }
}

/// Leaves one line of each function, where it calls itself, directly or through others: the loop
/// between its calls is erased. What remains next to each other did call each other.
fn collapse_recursion(lines: &mut Vec<Line<'_>>) {
    let mut places = FxHashMap::default();
    let mut kept: Vec<Line<'_>> = Vec::with_capacity(lines.len());
    for line in lines.drain(..) {
        if let Some(&place) = places.get(&Function::of(&line)) {
            for erased in kept.drain(place..) {
                places.remove(&Function::of(&erased));
            }
        }
        places.insert(Function::of(&line), kept.len());
        kept.push(line);
    }
    *lines = kept;
}

/// A path: frames that call each other, with gaps if need be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Focus {
    /// Between them may be any number of frames. None is empty, and there is one at least.
    stretches: Vec<Vec<FramePattern>>,
}

impl Focus {
    /// Reads `A;B;*;C`, outermost first: A calls B, which calls C, directly or through others. Each
    /// is `[fn|file|module|class] [=|:|~] NAME`; without an operator it is a function's exact name.
    ///
    /// # Errors
    /// If it is no path.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut parser = Parser::new(text);
        parser.path().map_err(|mistake| parser.error(text, mistake))
    }

    /// The frames of the path, outermost first.
    pub fn patterns(&self) -> impl Iterator<Item = &FramePattern> {
        self.stretches.iter().flatten()
    }

    /// The frames that call each other, outermost first; between these may be any number of others.
    pub(crate) fn stretches(&self) -> &[Vec<FramePattern>] {
        &self.stretches
    }

    /// Where the path begins for the first time.
    fn find(&self, lines: &[Line<'_>]) -> Option<usize> {
        let (mut first, mut from) = (None, 0);
        for stretch in &self.stretches {
            let is_here = |window: &[Line<'_>]| {
                window.iter().zip(stretch).all(|(line, pattern)| pattern.matches(line))
            };
            let at = from + lines.get(from..)?.windows(stretch.len()).position(is_here)?;
            first.get_or_insert(at);
            from = at + stretch.len();
        }
        first
    }
}

impl fmt::Display for Focus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, stretch) in self.stretches.iter().enumerate() {
            f.write_str(if at > 0 { ";*;" } else { "" })?;
            for (step, pattern) in stretch.iter().enumerate() {
                write!(f, "{}{pattern}", if step > 0 { ";" } else { "" })?;
            }
        }
        Ok(())
    }
}

impl FramePattern {
    /// Reads `[fn|file|module|class] [=|:|~] NAME`; without an operator it is a function's exact name.
    ///
    /// # Errors
    /// If it is something else.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut parser = Parser::new(text);
        parser.only_step().map_err(|mistake| parser.error(text, mistake))
    }
}

impl Parser<'_> {
    fn only_step(&mut self) -> Result<FramePattern, Mistake> {
        let pattern = self.step(false)?;
        if self.scanner.is_at_end() { Ok(pattern) } else { Err(Mistake::Expected("the end")) }
    }

    fn path(&mut self) -> Result<Focus, Mistake> {
        let (mut stretches, mut stretch) = (Vec::new(), Vec::new());
        loop {
            match self.gap() {
                true if stretch.is_empty() => return Err(Mistake::Expected(BESIDE_GAP)),
                true => stretches.push(std::mem::take(&mut stretch)),
                false => stretch.push(self.step(true)?),
            }
            if !self.scanner.eat(";") {
                break;
            }
        }
        if !self.scanner.is_at_end() {
            return Err(Mistake::Expected("`;` or the end"));
        }
        if stretch.is_empty() {
            return Err(Mistake::Expected(BESIDE_GAP));
        }
        stretches.push(stretch);
        Ok(Focus { stretches })
    }

    /// Goes past a step that any number of frames may take, if that comes next.
    fn gap(&mut self) -> bool {
        let mut ahead = self.scanner.clone();
        ahead.skip_space();
        let is_gap = ahead.eat(GAP);
        ahead.skip_space();
        let is_gap = is_gap && (ahead.is_at_end() || ahead.peek() == Some(';'));
        if is_gap {
            self.scanner = ahead;
        }
        is_gap
    }
}
