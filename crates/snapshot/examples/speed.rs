//! How long snapshots take to write and to read, and how much memory that needs.
//!
//! ```text
//! cargo run --release -p lifetrace-snapshot --example speed -- write 1000000 /tmp/heap.lth
//! cargo run --release -p lifetrace-snapshot --example speed -- read /tmp/heap.lth
//! ```
//!
//! The heap that is written is as one of OCaml's: a hash table of records with strings and short lists, whose entries are
//! anywhere in memory, and one long list. Most of its blocks have three words.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::Duration;

use lifetrace_snapshot::dominators::Dominators;
use lifetrace_snapshot::graph::BlockId;
use lifetrace_snapshot::lth;
use lifetrace_snapshot::retained::Retained;
use lifetrace_snapshot::tree::Tree;
use lifetrace_trace::lth::{
    Address, Block, Field, Form, Header, Kind, KindId, Outcome, Root, Writer,
};
use rustix::time::{ClockId, clock_gettime};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(|it| &**it).collect::<Vec<_>>()[..] {
        ["write", blocks, path] => write(&Model::new(blocks.parse()?), path),
        ["read", path] => read(path),
        _ => Err("write BLOCKS FILE, or read FILE".into()),
    }
}

fn read(path: &str) -> Result<()> {
    let mut clock = Clock::start();
    let snapshot = lth::read(File::open(path)?)?;
    let graph = &snapshot.heap.graph;
    let blocks = graph.blocks().count();
    println!(
        "{blocks} blocks, {} references, {} missing",
        graph.reference_count(),
        snapshot.missing
    );
    clock.lap("read", blocks);
    let dominators = Dominators::of(graph);
    clock.lap("dominators", blocks);
    let tree = Tree::of(graph, &dominators);
    clock.lap("tree", blocks);
    let retained = Retained::of(graph, &dominators);
    clock.lap("retained", blocks);
    let bytes = retained.bytes(BlockId::ALL_ROOTS);
    println!("{bytes} bytes held, {} at the top", tree.children(BlockId::ALL_ROOTS).len());
    clock.total(blocks);
    Ok(())
}

/// Processor time, and the most memory.
struct Clock {
    begin: Duration,
    last: Duration,
}

fn now() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|it| it.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or_default() * 1024
}

impl Clock {
    fn start() -> Self {
        Self { begin: now(), last: now() }
    }

    fn lap(&mut self, what: &str, blocks: usize) {
        let time = now();
        let each = (time - self.last).as_nanos() as f64 / blocks as f64;
        println!("{what:12} {each:7.1} ns a block, peak {:6.1} MB", peak() as f64 / 1e6);
        self.last = time;
    }

    fn total(&self, blocks: usize) {
        let time = (now() - self.begin).as_secs_f64();
        let each = peak() as f64 / blocks as f64;
        println!("together     {time:7.3} s, {each:.1} B of memory a block at most");
    }
}

/// A heap in the making.
struct Model {
    blocks: Vec<(u64, Sort)>,
    rows: Vec<u32>,
    fields: Vec<Cell>,
    at: u64,
    seed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Block,
    String,
}

#[derive(Clone, Copy)]
enum Cell {
    Int,
    To(u32),
}

impl Model {
    fn new(blocks: usize) -> Model {
        let (at, seed) = (0x7f12_3456_0000, 1);
        let mut model = Model { blocks: vec![], rows: vec![0], fields: vec![], at, seed };
        let list = model.list(blocks / 3);
        let entries = blocks / 9;
        let mut buckets = vec![Cell::Int; (entries / 2).max(1)];
        for _ in 0..entries {
            let key = model.string();
            let few = model.list(3);
            let name = model.string();
            let data = model.block(&[Cell::Int, name, few, Cell::Int]);
            let bucket = model.random(buckets.len());
            buckets[bucket] = model.block(&[key, data, buckets[bucket]]);
        }
        let array = model.block(&buckets);
        let table = model.block(&[Cell::Int, array, Cell::Int, Cell::Int]);
        model.block(&[table, list, table]);
        model
    }

    fn block(&mut self, fields: &[Cell]) -> Cell {
        self.fields.extend(fields);
        self.put(Sort::Block, fields.len() as u64)
    }

    fn string(&mut self) -> Cell {
        let words = 2 + self.random(2) as u64;
        self.put(Sort::String, words)
    }

    fn put(&mut self, sort: Sort, words: u64) -> Cell {
        self.rows.push(self.fields.len() as u32);
        // Now and then the heap goes on elsewhere.
        self.at += if self.random(1000) == 0 { 8 * self.random(1 << 12) as u64 } else { 0 };
        self.blocks.push((self.at, sort));
        self.at += 8 * (1 + words);
        Cell::To(self.blocks.len() as u32 - 1)
    }

    fn list(&mut self, length: usize) -> Cell {
        (0..length).fold(Cell::Int, |rest, _| self.block(&[Cell::Int, rest]))
    }

    fn random(&mut self, below: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.seed >> 33) as usize % below
    }

    fn fields(&self, block: u32) -> &[Cell] {
        &self.fields[self.rows[block as usize] as usize..self.rows[block as usize + 1] as usize]
    }

    fn bytes(&self, block: u32) -> u64 {
        let (address, _) = self.blocks[block as usize];
        let fields = self.fields(block).len() as u64;
        if fields > 0 { 8 + 8 * fields } else { 24 + 8 * (address / 8 % 2) }
    }
}

/// Walks over a heap as an agent does.
fn write(model: &Model, path: &str) -> Result<()> {
    let header = Header { program: "speed".into(), runtime: "OCaml".into(), ..Header::default() };
    let mut clock = Clock::start();
    let mut writer = Writer::new(BufWriter::new(File::create(path)?), &header)?;
    let kind = Kind { name: "tag 0".into(), form: Form::Fields };
    let block = writer.kind(&kind)?;
    let string = writer.kind(&Kind { name: "string".into(), form: Form::String })?;
    let mut walk = Walk { met: vec![false; model.blocks.len()], open: VecDeque::new() };
    let to = walk.field(model, Cell::To(model.blocks.len() as u32 - 1));
    let name = Some("camlSpeed slot 0".into());
    writer.root(&Root { category: "globals".into(), name, slot: Address(8), to })?;
    walk.blocks(model, &mut writer, [block, string])?;
    let blocks = writer.totals().blocks as usize;
    writer.finish(&Outcome::default())?;
    clock.lap("write", blocks);
    let bytes = std::fs::metadata(path)?.len() as f64;
    println!("{blocks} blocks, {:.2} MB of file a million", bytes / blocks as f64);
    Ok(())
}

struct Walk {
    met: Vec<bool>,
    open: VecDeque<u32>,
}

impl Walk {
    fn blocks(
        &mut self,
        model: &Model,
        writer: &mut Writer<impl Write>,
        [block, string]: [KindId; 2],
    ) -> Result<()> {
        let mut fields = Vec::new();
        while let Some(id) = self.open.pop_front() {
            let (address, sort) = model.blocks[id as usize];
            fields.clear();
            fields.extend(model.fields(id).iter().map(|&cell| self.field(model, cell)));
            let kind = if sort == Sort::Block { block } else { string };
            let (address, bytes) = (Address(address), model.bytes(id));
            let fields = &fields[..];
            writer.block(&Block { address, bytes, outside: 0, kind, fields, detail: None })?;
        }
        Ok(())
    }

    fn field(&mut self, model: &Model, cell: Cell) -> Field {
        let Cell::To(to) = cell else { return Field::Value };
        if std::mem::replace(&mut self.met[to as usize], true) {
            return Field::To(Address(model.blocks[to as usize].0));
        }
        self.open.push_back(to);
        Field::Next
    }
}
