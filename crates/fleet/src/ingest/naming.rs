//! Backtraces by names: the same in all runs, wherever their code was mapped.

use std::sync::Arc;

use lifetrace_analysis::call_tree::{CallTree, NodeId};
use lifetrace_analysis::filter::View;
use lifetrace_analysis::{Names, Place, Shaped, Sites};
use lifetrace_trace::event::class_of;
use rustc_hash::FxHashMap;

use super::identity::number;
use crate::tables::sites::{Frame, Site};

/// The sites of a run.
pub struct Naming<'a> {
    sites: Sites<'a>,
    /// By the numbers of shaped nodes: of which site they are.
    numbers: Vec<i64>,
    lines: Vec<Frame>,
}

impl<'a> Naming<'a> {
    /// Of the backtraces of a trace.
    pub fn new(tree: &CallTree, names: &'a impl Names) -> Naming<'a> {
        let shaped = Shaped::new(tree, names, &View::default());
        let lines: Vec<Frame> = shaped.lines().map(|line| frame(names, &line.place)).collect();
        let hashes: Vec<i64> = lines.iter().map(of_frame).collect();
        let mut numbers = vec![number(&[])];
        for (_, parent, line) in shaped.tree().nodes() {
            let parts = [numbers[parent.index()].to_le_bytes(), hashes[line.index()].to_le_bytes()];
            numbers.push(number(&[&parts[0], &parts[1]]));
        }
        Naming { sites: Sites::new(shaped), numbers, lines }
    }

    /// The callsites of these.
    pub fn sites(&self) -> &Sites<'a> {
        &self.sites
    }

    /// The site of a backtrace.
    pub fn site(&self, node: NodeId) -> i64 {
        self.numbers[self.shape(node).index()]
    }

    /// The callsite of one, and its frame.
    pub fn callsite(&self, place: &Place<'_>, names: &impl Names) -> (i64, Frame) {
        let at = frame(names, place);
        (of_place(&at), at)
    }

    /// The rows of these backtraces, each site once.
    pub fn rows(&self, nodes: impl Iterator<Item = NodeId>, names: &impl Names) -> Vec<Site> {
        let mut rows: FxHashMap<i64, Site> = FxHashMap::default();
        for node in nodes {
            let number = self.site(node);
            rows.entry(number).or_insert_with(|| self.row(number, node, names));
        }
        let mut rows: Vec<_> = rows.into_values().collect();
        rows.sort_unstable_by_key(|row| row.site);
        rows
    }

    fn row(&self, site: i64, node: NodeId, names: &impl Names) -> Site {
        let shape = self.shape(node);
        let tree = self.sites.shaped().tree();
        let mut frames: Vec<Frame> =
            tree.frames(shape).map(|line| self.lines[line.index()].clone()).collect();
        let innermost = tree.frames(shape).next().map(|line| self.sites.shaped().line(line).place);
        let class = match innermost {
            Some(Place::Known(location)) => class_of(location).map(Arc::from),
            _ => None,
        };
        frames.reverse();
        let place = self.sites.of(node).map_or(Place::NoBacktrace, |it| self.sites.place(it));
        let (callsite, at) = self.callsite(&place, names);
        Site { site, callsite, at, class, frames }
    }

    fn shape(&self, node: NodeId) -> NodeId {
        self.sites.shaped().of(node).unwrap_or(NodeId::ROOT)
    }
}

/// Addresses differ from run to run: a frame without a name is called by its object file.
fn frame(names: &impl Names, place: &Place<'_>) -> Frame {
    match place {
        Place::Known(location) => Frame {
            function: lifetrace_report::function(place).into(),
            file: lifetrace_report::file(place).map(Arc::from),
            line: i32::try_from(location.line).ok().filter(|line| *line > 0),
        },
        Place::Unknown(code) => {
            let module = names.module(*code);
            let name = module.map_or("(unknown frame)".to_owned(), |path| {
                format!("(unknown frame in {})", base_name(path))
            });
            Frame { function: name.into(), file: module.map(Arc::from), line: None }
        }
        Place::NoBacktrace => {
            Frame { function: lifetrace_report::function(place).into(), file: None, line: None }
        }
    }
}

fn of_frame(frame: &Frame) -> i64 {
    let line = frame.line.unwrap_or_default().to_le_bytes();
    number(&[frame.function.as_bytes(), file_name(frame).as_bytes(), &line])
}

/// Lines move from version to version, and folders from machine to machine.
fn of_place(frame: &Frame) -> i64 {
    number(&[frame.function.as_bytes(), file_name(frame).as_bytes()])
}

fn file_name(frame: &Frame) -> &str {
    frame.file.as_deref().map_or("", base_name)
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
