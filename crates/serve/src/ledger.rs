//! What each backtrace of a process has allocated and holds, over all files of its trace.
//!
//! Each file names frames and backtraces anew. Here a backtrace is what its frames are called, so that it is the same one in
//! all files; what a file has allocated is added when the file has ended, so that sums only grow.

use std::rc::Rc;

use lifetrace_analysis::Place;
use lifetrace_analysis::account::Balance;
use lifetrace_analysis::call_tree::NodeId;
use lifetrace_analysis::names::expand;
use lifetrace_pprof::proto::{Function, Line, Location, Mapping};
use lifetrace_pprof::tables::{Code, Strings, mapping_id, mappings};
use lifetrace_report::function;
use lifetrace_study::Reading;
use lifetrace_trace::ids::LocationCode;
use rustc_hash::FxHashMap;

/// Different backtraces that are told apart; what comes then is one.
const MOST_STACKS: usize = 200_000;

/// As that one is called.
const OTHERS: &str = "(other backtraces)";

/// Objects and bytes allocated, objects and bytes that live: estimates.
pub type Values = [f64; 4];

/// The backtraces of a process.
#[derive(Default)]
pub struct Ledger {
    strings: Strings,
    code: Code,
    mappings: Vec<Mapping>,
    mapping_ids: FxHashMap<MappingKey, u64>,
    locations: FxHashMap<LocationKey, u64>,
    stacks: Vec<Rc<[u64]>>,
    numbers: FxHashMap<Rc<[u64]>, usize>,
    /// What files that have ended have allocated: objects and bytes, by backtrace.
    before: Vec<[f64; 2]>,
}

/// What tells an object file from another one: where it is, and its path and build id.
type MappingKey = (u64, u64, i64, i64);

/// What tells a frame from another one: its object file, and the function, line and column of each of its lines.
type LocationKey = (u64, Vec<(u64, i64, i64)>);

/// What has been looked up of a file's names.
#[derive(Default)]
pub struct Known {
    /// By the node's number.
    stacks: Vec<Option<usize>>,
    locations: FxHashMap<LocationCode, u64>,
    mappings: FxHashMap<u32, u64>,
}

/// Where backtraces are, for a profile.
pub struct Tables<'a> {
    /// Frames; their ids are their places, from 1.
    pub locations: &'a [Location],
    /// Functions; their ids are their places, from 1.
    pub functions: &'a [Function],
    /// Object files; their ids are their places, from 1.
    pub mappings: &'a [Mapping],
    /// What all of them are called.
    pub strings: &'a [String],
}

impl Ledger {
    /// How many different backtraces there are.
    pub fn len(&self) -> usize {
        self.stacks.len()
    }

    /// The frames of a backtrace, innermost first.
    pub fn stack(&self, number: usize) -> &[u64] {
        &self.stacks[number]
    }

    /// What stands for the frames.
    pub fn tables(&self) -> Tables<'_> {
        Tables {
            locations: &self.code.locations,
            functions: &self.code.functions,
            mappings: &self.mappings,
            strings: &self.strings.all,
        }
    }

    /// What each backtrace has allocated, in all files up to this one, and holds in this one.
    pub fn values(&mut self, reading: &Reading, known: &mut Known) -> Vec<Values> {
        let pairs = self.numbered(reading, known);
        let before = self.before.iter().map(|[objects, bytes]| [*objects, *bytes, 0.0, 0.0]);
        let mut values: Vec<Values> = before.collect();
        values.resize(self.len(), [0.0; 4]);
        for (stack, balance) in pairs {
            let (allocated, live) = (balance.allocated.amount(), balance.live.amount());
            let amounts = [&allocated.objects, &allocated.bytes, &live.objects, &live.bytes];
            values[stack].iter_mut().zip(amounts).for_each(|(sum, it)| *sum += it.value);
        }
        values
    }

    /// A file has ended: what it has allocated is kept.
    pub fn close(&mut self, reading: &Reading, known: &mut Known) {
        let pairs = self.numbered(reading, known);
        self.before.resize(self.len(), [0.0; 2]);
        for (stack, balance) in pairs {
            let allocated = balance.allocated.amount();
            self.before[stack][0] += allocated.objects.value;
            self.before[stack][1] += allocated.bytes.value;
        }
    }

    fn numbered(&mut self, reading: &Reading, known: &mut Known) -> Vec<(usize, Balance)> {
        let balances = reading.profile.balances();
        balances.map(|(node, balance)| (self.number(node, reading, known), balance)).collect()
    }

    fn number(&mut self, node: NodeId, reading: &Reading, known: &mut Known) -> usize {
        let index = node.index();
        if let Some(Some(number)) = known.stacks.get(index) {
            return *number;
        }
        let codes = reading.profile.tree().frames(node);
        let stack: Vec<_> = codes.map(|code| self.location(code, reading, known)).collect();
        let number = self.add(stack.into());
        known.stacks.resize(known.stacks.len().max(index + 1), None);
        known.stacks[index] = Some(number);
        number
    }

    fn add(&mut self, stack: Rc<[u64]>) -> usize {
        if let Some(&number) = self.numbers.get(&stack) {
            return number;
        }
        let stack = if self.stacks.len() < MOST_STACKS { stack } else { self.others() };
        let next = self.stacks.len();
        *self.numbers.entry(Rc::clone(&stack)).or_insert_with(|| {
            self.stacks.push(stack);
            next
        })
    }

    fn others(&mut self) -> Rc<[u64]> {
        let line = self.line_of(OTHERS, "", 0, 0);
        [self.add_location(0, vec![line])].into()
    }

    fn location(&mut self, code: LocationCode, reading: &Reading, known: &mut Known) -> u64 {
        if let Some(&id) = known.locations.get(&code) {
            return id;
        }
        let mapping = self.mapping(code, reading, known);
        let lines = expand(&reading.trace, code).map(|frame| self.line(&frame.place)).collect();
        let id = self.add_location(mapping, lines);
        known.locations.insert(code, id);
        id
    }

    fn add_location(&mut self, mapping: u64, lines: Vec<Line>) -> u64 {
        let told = lines.iter().map(|line| (line.function_id, line.line, line.column)).collect();
        let code = &mut self.code;
        *self.locations.entry((mapping, told)).or_insert_with(|| code.add(mapping, lines))
    }

    /// As `export` has it.
    fn line(&mut self, place: &Place<'_>) -> Line {
        match place {
            Place::Known(it) if it.line > 0 => {
                self.line_of(&function(place), &it.filename, it.line.into(), it.start_char.into())
            }
            // Numbers of frames are others in each file.
            Place::Unknown(_) => self.line_of("(unknown frame)", "", 0, 0),
            _ => self.line_of(&function(place), "", 0, 0),
        }
    }

    fn line_of(&mut self, name: &str, file: &str, line: i64, column: i64) -> Line {
        Line { function_id: self.code.function(name, file, &mut self.strings), line, column }
    }

    /// The object file that a frame is in; 0 if that is not known.
    fn mapping(&mut self, code: LocationCode, reading: &Reading, known: &mut Known) -> u64 {
        let number = reading.trace.frame(code).and_then(|frame| frame.module);
        let module = number.and_then(|number| reading.facts.modules.get(&number));
        let Some(module) = module else { return 0 };
        if let Some(&id) = known.mappings.get(&module.number) {
            return id;
        }
        let Some(mapping) = mappings([module], "", &mut self.strings).pop() else {
            return mapping_id(module);
        };
        let key = (mapping.memory_start, mapping.memory_limit, mapping.filename, mapping.build_id);
        let all = &mut self.mappings;
        let id = *self.mapping_ids.entry(key).or_insert_with(|| {
            let id = all.len() as u64 + 1;
            all.push(Mapping { id, ..mapping });
            id
        });
        known.mappings.insert(module.number, id);
        id
    }
}
