//! Reads DHAT's JSON piece by piece into tables; what was read before an error stays.

use std::fmt;
use std::io::Read;

use lifetrace_trace::ids::LocationCode;
use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::super::budget::Budget;
use super::super::points::{Amount, Point};

/// What the tables may take, in bytes.
const MEMORY: usize = 1 << 30;

/// What a file tells.
#[derive(Debug)]
pub struct File {
    pub version: Option<u64>,
    pub mode: String,
    /// Whether lives are told; without them it is not about blocks of memory.
    pub has_lives: bool,
    pub time_unit: String,
    pub command: String,
    pub pid: u64,
    pub end: u64,
    pub peak: Option<u64>,
    pub points: Vec<Point>,
    /// Where each point's backtrace ends in `codes`.
    pub ends: Vec<usize>,
    /// Of all points, outermost frame first.
    pub codes: Vec<LocationCode>,
    pub frames: Vec<String>,
    budget: Budget,
}

impl File {
    /// All that can be read, and why there is not more.
    pub fn read(input: impl Read) -> (Self, Option<serde_json::Error>) {
        let mut file = Self::new();
        let mut parser = serde_json::Deserializer::from_reader(input);
        let outcome = (&mut parser).deserialize_map(Fields(&mut file));
        let error = outcome.and_then(|()| parser.end()).err();
        (file, error)
    }

    fn new() -> Self {
        Self {
            version: None,
            mode: String::new(),
            has_lives: false,
            time_unit: String::new(),
            command: String::new(),
            pid: 0,
            end: 0,
            peak: None,
            points: Vec::new(),
            ends: Vec::new(),
            codes: Vec::new(),
            frames: Vec::new(),
            budget: Budget::new(MEMORY),
        }
    }

    fn add(&mut self, read: ProgramPoint) -> Result<(), String> {
        self.budget.take(size_of::<(Point, usize)>() + size_of_val(&read.fs[..]) * 2)?;
        let amount = |bytes: u64, blocks: u64| Amount { bytes, blocks };
        self.points.push(Point {
            total: amount(read.tb, read.tbk),
            peak: amount(read.gb, read.gbk),
            end: amount(read.eb, read.ebk),
            lifetimes: read.tl,
            size: None,
        });
        self.codes.extend(read.fs.iter().rev().map(|frame| LocationCode((*frame).into())));
        self.ends.push(self.codes.len());
        Ok(())
    }
}

/// A point, as it is in the file. Innermost frame first.
#[derive(Deserialize)]
struct ProgramPoint {
    tb: u64,
    tbk: u64,
    tl: Option<u64>,
    #[serde(default)]
    gb: u64,
    #[serde(default)]
    gbk: u64,
    #[serde(default)]
    eb: u64,
    #[serde(default)]
    ebk: u64,
    fs: Vec<u32>,
}

struct Fields<'a>(&'a mut File);

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object as DHAT writes it")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let file = self.0;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "dhatFileVersion" => file.version = Some(map.next_value()?),
                "mode" => file.mode = map.next_value()?,
                "bklt" => file.has_lives = map.next_value()?,
                "tu" => file.time_unit = map.next_value()?,
                "cmd" => file.command = map.next_value()?,
                "pid" => file.pid = map.next_value()?,
                "te" => file.end = map.next_value()?,
                "tg" => file.peak = Some(map.next_value()?),
                "pps" => map.next_value_seed(Points(file))?,
                "ftbl" => map.next_value_seed(FrameTable(file))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

struct Points<'a>(&'a mut File);

impl<'de> DeserializeSeed<'de> for Points<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Points<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of program points")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut points: A) -> Result<(), A::Error> {
        while let Some(point) = points.next_element()? {
            self.0.add(point).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}

struct FrameTable<'a>(&'a mut File);

impl<'de> DeserializeSeed<'de> for FrameTable<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for FrameTable<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of frames")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut frames: A) -> Result<(), A::Error> {
        while let Some(frame) = frames.next_element::<String>()? {
            let taken = self.0.budget.take(size_of::<String>() + frame.len());
            taken.map_err(A::Error::custom)?;
            self.0.frames.push(frame);
        }
        Ok(())
    }
}
