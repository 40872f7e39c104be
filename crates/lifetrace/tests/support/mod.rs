//! Traces as lists of blocks, and children of a test: the test's own program, run again with one of its
//! ignored tests.

#![allow(dead_code, reason = "each test takes what it needs")]

pub mod inside;
pub mod profile;
pub mod workload;

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lifetrace_trace::event::Event;
use lifetrace_trace::fact::Fact;
use lifetrace_trace::ids::{AllocationId, Size};
use lifetrace_trace::lt::{Item, Reader};

/// A sampled block.
#[derive(Clone, Debug)]
pub struct Block {
    pub bytes: u64,
    pub sampler: u8,
    /// At which its words were hit.
    pub rate: f64,
    /// How many of its words were hit.
    pub hits: u64,
    pub is_growth: bool,
    pub is_live: bool,
    /// Outermost first.
    pub functions: Vec<String>,
}

/// A trace, in which nothing is damaged.
pub struct Trace {
    pub rate: f64,
    pub blocks: Vec<Block>,
    pub facts: Vec<Fact>,
    pub promotions: u64,
    /// Whether the recorder has finished it.
    pub is_complete: bool,
}

/// The folder of a test, which its children find in the environment.
pub const FOLDER: &str = "LIFETRACE_TEST_FOLDER";

/// There is one session at a time: tests in one program take turns.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// This program again, to run one ignored test, in its main thread, which finds `folder` by [`FOLDER`].
pub fn child(name: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([name, "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(FOLDER, folder);
    command
}

/// For a child: where its files are.
pub fn in_folder(name: &str) -> std::path::PathBuf {
    Path::new(&std::env::var_os(FOLDER).expect("run by its parent")).join(name)
}

/// What a child said that should have succeeded.
pub fn success(output: Output) -> String {
    let said = format!(
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{}:\n{said}", output.status);
    said
}

impl Trace {
    /// # Panics
    /// If anything in it is wrong.
    pub fn read(path: &Path) -> Trace {
        let name = path.display();
        let file = File::open(path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut reader = Reader::open(file).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut trace = Trace {
            rate: reader.info().sample_rate,
            blocks: vec![],
            facts: vec![],
            promotions: 0,
            is_complete: false,
        };
        let mut rate = trace.rate;
        let mut positions: HashMap<AllocationId, usize> = HashMap::new();
        loop {
            let item = reader.next().unwrap_or_else(|error| panic!("{name}: {error}"));
            let allocation = match item {
                None => break,
                Some((_, Item::Fact(fact))) => {
                    if let Fact::Sampler(sampler) = &fact {
                        rate = sampler.rate;
                    }
                    trace.facts.push(fact);
                    continue;
                }
                Some((_, Item::Event(Event::Collection(id)))) => {
                    let position = positions.remove(&id).expect("it was alive");
                    trace.blocks[position].is_live = false;
                    continue;
                }
                Some((_, Item::Event(Event::Promotion(id)))) => {
                    assert!(positions.contains_key(&id), "{name}: it was alive");
                    trace.promotions += 1;
                    continue;
                }
                Some((_, Item::Event(Event::Allocation(allocation)))) => allocation,
            };
            let (id, hits, codes) =
                (allocation.id, allocation.samples, allocation.backtrace.to_vec());
            let details = *reader.birth().unwrap();
            let Size::Bytes(bytes) = details.size else { panic!("{name}: in words") };
            let functions = codes.iter().flat_map(|&code| reader.locations(code));
            positions.insert(id, trace.blocks.len());
            trace.blocks.push(Block {
                bytes: bytes.0,
                sampler: details.sampler.0,
                rate,
                hits,
                is_growth: details.is_growth,
                is_live: true,
                functions: functions.map(|location| location.defname.to_string()).collect(),
            });
        }
        assert_eq!(reader.damages(), [], "{name}");
        trace.is_complete = reader.is_complete();
        trace
    }

    /// Those that come by a function whose name has this in it.
    pub fn by<'a>(&'a self, function: &'a str) -> impl Iterator<Item = &'a Block> {
        self.blocks.iter().filter(move |block| block.comes_by(function))
    }

    /// What is estimated of the bytes allocated by a function, by Horvitz and Thompson, with its standard
    /// deviation.
    pub fn estimate(&self, function: &str) -> (f64, f64) {
        let (mut sum, mut variance) = (0.0, 0.0);
        for block in self.by(function) {
            let (bytes, words) = (block.bytes as f64, block.bytes.div_ceil(8) as f64);
            let caught = -(words * (-block.rate).ln_1p()).exp_m1();
            sum += bytes / caught;
            variance += (1.0 - caught) / (caught * caught) * bytes * bytes;
        }
        (sum, variance.sqrt())
    }
}

impl Block {
    pub fn comes_by(&self, function: &str) -> bool {
        self.functions.iter().any(|name| name.contains(function))
    }
}
