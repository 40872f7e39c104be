//! The tree, read piece by piece and without recursion: it is as deep as the program's stack was, and
//! each level is two of JSON's.

use std::io::Read;

use lifetrace_trace::event::Location;
use lifetrace_trace::ids::LocationCode;
use rustc_hash::FxHashMap;
use struson::reader::{JsonReader, JsonStreamReader, ReaderSettings};

use super::super::budget::Budget;
use super::super::fault::Fault;
use super::frame::CallFrame;
use super::wrong::Wrong;

/// The index of the root, which is no function.
const ROOT: usize = 0;

/// What the tables may take, in bytes.
const MEMORY: usize = 512 << 20;

/// A function as it was called from its parent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// An index; the root is its own parent.
    parent: usize,
    /// The index of a frame.
    frame: usize,
    id: Option<u64>,
    /// Alive, of what it allocated itself.
    pub bytes: u64,
    /// How many of these blocks were seen.
    pub samples: u64,
}

/// What a file tells.
#[derive(Debug, Default)]
pub struct Tree {
    /// Each behind its parent.
    pub nodes: Vec<Node>,
    pub frames: Vec<Location>,
    /// Samples of nodes that are not in the tree.
    pub strays: u64,
}

/// What has begun and not ended.
#[derive(Clone, Copy, Debug)]
enum Open {
    Node(usize),
    ChildrenOf(usize),
}

struct Parser<R: Read> {
    json: JsonStreamReader<R>,
    tree: Tree,
    known: FxHashMap<CallFrame, usize>,
    /// How often nodes were sampled, by their ids.
    samples: FxHashMap<u64, u64>,
    budget: Budget,
}

impl Tree {
    /// All that can be read, and why there is not more.
    pub fn read(input: impl Read) -> (Self, Option<Fault>) {
        let mut parser = Parser::new(input);
        let outcome = parser.file();
        let place = parser.json.current_position(false);
        parser.share_samples();
        let Parser { tree, json, .. } = parser;
        let outcome = outcome.and_then(|()| Ok(json.consume_trailing_whitespace()?));
        (tree, outcome.err().map(|wrong| wrong.fault(&place)))
    }

    /// The frames of a node, innermost first. The root is one only if there are no others.
    pub fn path(&self, index: usize) -> impl Iterator<Item = LocationCode> {
        let parent = |index: &usize| Some(self.nodes[*index].parent).filter(|it| *it != ROOT);
        let indices = std::iter::successors(Some(index), parent);
        indices.map(|index| LocationCode(self.nodes[index].frame as u64))
    }
}

impl<R: Read> Parser<R> {
    fn new(input: R) -> Self {
        let settings = ReaderSettings {
            track_path: false,
            max_nesting_depth: None,
            ..ReaderSettings::default()
        };
        Self {
            json: JsonStreamReader::new_custom(input, settings),
            tree: Tree::default(),
            known: FxHashMap::default(),
            samples: FxHashMap::default(),
            budget: Budget::new(MEMORY),
        }
    }

    fn file(&mut self) -> Result<(), Wrong> {
        self.json.begin_object()?;
        while self.json.has_next()? {
            match self.json.next_name()? {
                "head" if self.tree.nodes.is_empty() => self.head()?,
                "samples" => self.take_samples()?,
                _ => self.json.skip_value()?,
            }
        }
        Ok(self.json.end_object()?)
    }

    fn head(&mut self) -> Result<(), Wrong> {
        let mut open = vec![self.begin_node(ROOT)?];
        while let Some(last) = open.last().copied() {
            let within = match last {
                Open::Node(index) => self.go_on_with(index)?,
                Open::ChildrenOf(index) => self.next_child(index)?,
            };
            match within {
                Some(within) => open.push(within),
                None => drop(open.pop()),
            }
        }
        Ok(())
    }

    fn begin_node(&mut self, parent: usize) -> Result<Open, Wrong> {
        self.json.begin_object()?;
        // It is open, and so are its children.
        self.budget.take(size_of::<Node>() + 2 * size_of::<Open>())?;
        let index = self.tree.nodes.len();
        let frame = self.frame_of(CallFrame::default())?;
        self.tree.nodes.push(Node { parent, frame, ..Node::default() });
        Ok(Open::Node(index))
    }

    /// Up to its children, if any are to come, or its end.
    fn go_on_with(&mut self, index: usize) -> Result<Option<Open>, Wrong> {
        while self.json.has_next()? {
            match self.json.next_name()? {
                "children" => {
                    self.json.begin_array()?;
                    return Ok(Some(Open::ChildrenOf(index)));
                }
                "callFrame" => self.tree.nodes[index].frame = self.call_frame()?,
                "selfSize" => self.tree.nodes[index].bytes = self.number()?,
                "id" => self.tree.nodes[index].id = Some(self.number()?),
                _ => self.json.skip_value()?,
            }
        }
        self.json.end_object()?;
        Ok(None)
    }

    fn next_child(&mut self, parent: usize) -> Result<Option<Open>, Wrong> {
        if self.json.has_next()? {
            return self.begin_node(parent).map(Some);
        }
        self.json.end_array()?;
        Ok(None)
    }

    fn call_frame(&mut self) -> Result<usize, Wrong> {
        let mut frame = CallFrame::default();
        self.json.begin_object()?;
        while self.json.has_next()? {
            match self.json.next_name()? {
                "functionName" => frame.function = self.json.next_string()?,
                "url" => frame.url = self.json.next_string()?,
                "lineNumber" => frame.line = self.integer()?,
                "columnNumber" => frame.column = self.integer()?,
                _ => self.json.skip_value()?,
            }
        }
        self.json.end_object()?;
        self.frame_of(frame)
    }

    fn frame_of(&mut self, frame: CallFrame) -> Result<usize, Wrong> {
        if let Some(index) = self.known.get(&frame) {
            return Ok(*index);
        }
        let names = 2 * (frame.function.len() + frame.url.len());
        self.budget.take(2 * size_of::<CallFrame>() + size_of::<Location>() + names)?;
        let index = self.tree.frames.len();
        self.tree.frames.push(frame.location());
        self.known.insert(frame, index);
        Ok(index)
    }

    fn take_samples(&mut self) -> Result<(), Wrong> {
        self.json.begin_array()?;
        while self.json.has_next()? {
            self.take_sample()?;
        }
        Ok(self.json.end_array()?)
    }

    fn take_sample(&mut self) -> Result<(), Wrong> {
        self.json.begin_object()?;
        while self.json.has_next()? {
            match self.json.next_name()? {
                "nodeId" => {
                    let id = self.number()?;
                    self.budget.take(2 * size_of::<(u64, u64)>())?;
                    *self.samples.entry(id).or_default() += 1;
                }
                _ => self.json.skip_value()?,
            }
        }
        Ok(self.json.end_object()?)
    }

    /// Gives each node its samples.
    fn share_samples(&mut self) {
        for node in &mut self.tree.nodes {
            let samples = node.id.and_then(|id| self.samples.remove(&id));
            node.samples = samples.unwrap_or(0);
        }
        self.tree.strays = self.samples.values().sum();
    }

    fn integer(&mut self) -> Result<i64, Wrong> {
        let text = self.json.next_number_as_str()?;
        text.parse().map_err(|_| Wrong::Here(format!("expected a whole number, found {text}")))
    }

    fn number(&mut self) -> Result<u64, Wrong> {
        let text = self.json.next_number_as_str()?;
        let expected = || Wrong::Here(format!("expected a number of bytes or an id, found {text}"));
        text.parse().map_err(|_| expected())
    }
}
