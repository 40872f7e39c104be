//! A bundle, read in the plainest way.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

/// A bundle.
pub struct Decoded {
    bytes: Vec<u8>,
    pub header: Value,
}

/// What the page knows of a sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Life {
    pub birth: i64,
    pub backtrace: Backtrace,
    pub bytes: f64,
    pub weight: f64,
    pub source: String,
    pub sampler: Option<String>,
    pub growth: bool,
    pub thread: Option<u64>,
}

/// A backtrace as a digest of its lines: whole, those of a deep recursion would fill the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Backtrace(u64);

impl Backtrace {
    /// With these lines more, the outermost first.
    pub fn with(self, lines: &[Line]) -> Self {
        lines.iter().fold(self, |Self(before), line| {
            let mut hasher = DefaultHasher::new();
            (before, line).hash(&mut hasher);
            Self(hasher.finish())
        })
    }
}

#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Line {
    Known { function: String, file: String, line: u32, columns: [u32; 2], inlined: bool },
    Unknown(u64),
}

/// What happened, by the numbers of samples.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Birth(usize),
    Promotion(usize, i64),
    Death(usize, i64, Option<u64>),
}

impl Decoded {
    pub fn new(bytes: Vec<u8>) -> Self {
        let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        let header: Value = serde_json::from_slice(&bytes[4..4 + length]).unwrap();
        for place in header["sections"].as_object().unwrap().values() {
            let offset = place["offset"].as_u64().unwrap() as usize;
            assert!(offset >= 4 + length && offset.is_multiple_of(8));
        }
        Self { bytes, header }
    }

    pub fn facts(&self) -> &Value {
        &self.header["facts"]
    }

    /// The width of an element in bytes, and all elements.
    fn section(&self, name: &str) -> (usize, Vec<f64>) {
        let place = &self.header["sections"][name];
        if place.is_null() {
            return (1, Vec::new());
        }
        let number = |field: &str| place[field].as_u64().unwrap() as usize;
        let width = match place["type"].as_str().unwrap() {
            "u8" => 1,
            "u16" => 2,
            "u32" => 4,
            "f64" => 8,
            other => panic!("{other}"),
        };
        let offset = number("offset");
        let bytes = &self.bytes[offset..offset + width * number("length")];
        let element = |it: &[u8]| match width {
            1 => it[0].into(),
            2 => u16::from_le_bytes(it.try_into().unwrap()).into(),
            4 => u32::from_le_bytes(it.try_into().unwrap()).into(),
            _ => f64::from_le_bytes(it.try_into().unwrap()),
        };
        (width, bytes.chunks(width).map(element).collect())
    }

    pub fn numbers(&self, name: &str) -> Vec<f64> {
        self.section(name).1
    }

    fn integers(&self, name: &str) -> Vec<usize> {
        self.numbers(name).into_iter().map(|it| it as usize).collect()
    }

    /// Bytes of the sections whose names begin so.
    pub fn bytes_of(&self, beginnings: &[&str]) -> usize {
        let sections = self.header["sections"].as_object().unwrap();
        let wanted =
            sections.keys().filter(|name| beginnings.iter().any(|it| name.starts_with(it)));
        wanted.map(|name| self.section(name)).map(|(width, all)| width * all.len()).sum()
    }

    fn times(&self, what: &str) -> Vec<i64> {
        let (width, low) = self.section(&format!("{what}.gap"));
        let mut gaps: Vec<i64> = low.into_iter().map(|it| it as i64).collect();
        for pair in self.integers(&format!("{what}.gap_high")).chunks(2) {
            gaps[pair[0]] += i64::from(pair[1] as u32 as i32) << (8 * width);
        }
        let mut time = 0;
        gaps.into_iter()
            .map(|gap| {
                time += gap;
                time
            })
            .collect()
    }

    fn thread(&self, row: usize) -> Option<u64> {
        self.facts()["threads"].get(row).map(|it| it["number"].as_u64().unwrap())
    }

    fn strings(&self) -> Vec<String> {
        let bytes: Vec<u8> = self.numbers("string.bytes").into_iter().map(|it| it as u8).collect();
        let mut begin = 0;
        let ends = self.integers("string.end").into_iter();
        ends.map(|end| {
            let text = String::from_utf8(bytes[std::mem::replace(&mut begin, end)..end].to_vec());
            text.unwrap()
        })
        .collect()
    }

    /// By row of the frames, outermost line first.
    pub fn frames(&self) -> Vec<Vec<Line>> {
        let strings = self.strings();
        let column = |name: &str| self.integers(&format!("line.{name}"));
        let [function, file, line, first, last, flags] =
            ["function", "file", "line", "first_column", "last_column", "flags"].map(column);
        let codes = column("code");
        let lines: Vec<_> = (0..flags.len())
            .map(|it| {
                if flags[it] & 8 != 0 {
                    let code = codes.chunks(3).find(|triple| triple[0] == it).unwrap();
                    return Line::Unknown(code[1] as u64 | (code[2] as u64) << 32);
                }
                Line::Known {
                    function: strings[function[it]].clone(),
                    file: strings[file[it]].clone(),
                    line: line[it] as u32,
                    columns: [first[it] as u32, last[it] as u32],
                    inlined: flags[it] & 1 != 0,
                }
            })
            .collect();
        let first = self.integers("frame.first");
        first.windows(2).map(|ends| lines[ends[0]..ends[1]].to_vec()).collect()
    }

    /// By number of the node.
    fn backtraces(&self) -> Vec<Backtrace> {
        let frames = self.frames();
        let mut backtraces = vec![Backtrace::default()];
        let nodes = self.integers("node.parent").into_iter().zip(self.integers("node.frame"));
        for (parent, frame) in nodes {
            backtraces.push(backtraces[parent].with(&frames[frame]));
        }
        backtraces
    }

    pub fn lives(&self) -> Vec<Life> {
        let backtraces = self.backtraces();
        let [nodes, kinds, threads] =
            ["node", "kind", "thread"].map(|it| self.integers(&format!("sample.{it}")));
        let [bytes, weights] = ["bytes", "weight"].map(|it| self.numbers(&format!("kind.{it}")));
        let [sources, flags] = ["source", "flags"].map(|it| self.integers(&format!("kind.{it}")));
        let life = |(number, birth): (usize, i64)| {
            let kind = kinds[number];
            let source = &self.facts()["sources"][sources[kind]];
            Life {
                birth,
                backtrace: backtraces[nodes[number]],
                bytes: bytes[kind],
                weight: weights[kind],
                source: source["source"].as_str().unwrap().to_owned(),
                sampler: source["name"].as_str().map(str::to_owned),
                growth: flags[kind] & 1 != 0,
                thread: threads.get(number).and_then(|&row| self.thread(row)),
            }
        };
        self.times("sample").into_iter().enumerate().map(life).collect()
    }

    /// In the order of the trace.
    pub fn events(&self) -> Vec<Event> {
        let threads = self.integers("change.thread");
        let changes =
            self.integers("change.what").into_iter().zip(self.times("change")).enumerate();
        let mut changes = changes.map(|(number, (what, time))| match what % 2 {
            1 => Event::Promotion(what / 2, time),
            _ => {
                Event::Death(what / 2, time, threads.get(number).and_then(|&row| self.thread(row)))
            }
        });
        let mut events = Vec::new();
        for (number, before) in self.integers("sample.changes").into_iter().enumerate() {
            events.extend(changes.by_ref().take(before));
            events.push(Event::Birth(number));
        }
        events.extend(changes);
        events
    }
}
