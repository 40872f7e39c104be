//! Reads a page's data into tables, piece by piece: what was read before an error stays.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::super::budget::Budget;

/// Blocks that lived from one look to another: they were born before the first one, and died before
/// the second one; the node of the tree; blocks; bytes.
pub type Interval = (u64, Option<u64>, u32, u64, u64);

/// Columns for the nodes of the tree, of which the first is the root, and other tables.
#[derive(Debug)]
pub struct Tables {
    /// From a node to one that it calls.
    pub edges: Vec<(u32, u32)>,
    /// Strings.
    pub functions: Vec<u32>,
    pub files: Vec<u32>,
    pub lines: Vec<i64>,
    /// Of each node and all that it calls.
    pub bytes: Vec<u64>,
    pub blocks: Vec<u64>,
    pub intervals: Option<Vec<Interval>>,
    /// The most bytes from one look to the next, where intervals are about that.
    pub peaks: Vec<u64>,
    pub strings: Vec<Box<str>>,
    /// Whether all columns were read to their ends.
    has_nodes: bool,
}

impl Tables {
    /// Of JSON, whatever comes behind it.
    pub fn read(json: &[u8], budget: &mut Budget) -> (Self, Option<serde_json::Error>) {
        let mut tables = Self {
            edges: Vec::new(),
            functions: Vec::new(),
            files: Vec::new(),
            lines: Vec::new(),
            bytes: Vec::new(),
            blocks: Vec::new(),
            intervals: None,
            peaks: Vec::new(),
            strings: Vec::new(),
            has_nodes: false,
        };
        let mut parser = serde_json::Deserializer::from_slice(json);
        let error = (&mut parser).deserialize_map(Fields(&mut tables, budget)).err();
        (tables, error)
    }

    /// Whether there is all that amounts are made of.
    pub fn is_whole(&self) -> bool {
        self.has_nodes && !self.functions.is_empty()
    }

    pub fn is_temporal(&self) -> bool {
        self.intervals.is_some()
    }
}

struct Fields<'a>(&'a mut Tables, &'a mut Budget);

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object as memray writes it")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(tables, budget) = self;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "nodes" => {
                    map.next_value_seed(Nodes(tables, budget))?;
                    tables.has_nodes = true;
                }
                "intervals" => {
                    let mut intervals = Vec::new();
                    map.next_value_seed(column(&mut intervals, budget))?;
                    tables.intervals = Some(intervals);
                }
                "high_water_mark_by_snapshot" => {
                    tables.peaks = map.next_value::<Option<Vec<u64>>>()?.unwrap_or_default();
                }
                "strings" => {
                    let strings = &mut tables.strings;
                    map.next_value_seed(Each::new(|text: Box<str>| {
                        budget.take(size_of::<Box<str>>() + text.len())?;
                        strings.push(text);
                        Ok(())
                    }))?;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

struct Nodes<'a>(&'a mut Tables, &'a mut Budget);

impl<'de> DeserializeSeed<'de> for Nodes<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Nodes<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with columns")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(tables, budget) = self;
        let Tables { edges, functions, files, lines, bytes, blocks, .. } = tables;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "children" => {
                    let mut node = 0;
                    map.next_value_seed(Each::new(|children: Vec<u32>| {
                        budget.take(children.len() * size_of::<(u32, u32)>())?;
                        edges.extend(children.into_iter().map(|child| (node, child)));
                        node += 1;
                        Ok(())
                    }))?;
                }
                "function" => map.next_value_seed(column(functions, budget))?,
                "filename" => map.next_value_seed(column(files, budget))?,
                "lineno" => map.next_value_seed(column(lines, budget))?,
                "value" => map.next_value_seed(column(bytes, budget))?,
                "n_allocations" => map.next_value_seed(column(blocks, budget))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// Puts each element of an array into a table.
fn column<'a, 'de, T: Deserialize<'de> + 'a>(
    to: &'a mut Vec<T>,
    budget: &'a mut Budget,
) -> impl DeserializeSeed<'de, Value = ()> + 'a {
    Each::new(move |element: T| {
        budget.take(size_of::<T>())?;
        to.push(element);
        Ok(())
    })
}

/// Does something with each element of an array.
struct Each<T, F>(F, PhantomData<T>);

impl<T, F: FnMut(T) -> Result<(), String>> Each<T, F> {
    fn new(take: F) -> Self {
        Self(take, PhantomData)
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(T) -> Result<(), String>> DeserializeSeed<'de>
    for Each<T, F>
{
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(T) -> Result<(), String>> Visitor<'de> for Each<T, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<(), A::Error> {
        while let Some(element) = elements.next_element()? {
            (self.0)(element).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}
