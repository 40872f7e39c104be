//! A profile's tables, from its bytes.

use lifetrace_trace::event::Location;
use lifetrace_trace::fact::Module;
use lifetrace_trace::frame::{Frame, FrameKind};
use lifetrace_trace::ids::LocationCode;
use rustc_hash::FxHashMap;

use super::super::budget::Budget;
use super::super::naming::{self, Naming, Spot};
use super::wire::{Message, Value};

/// What the tables may take, in bytes.
const MEMORY: usize = 1 << 30;

/// More functions are never inlined into one.
const MOST_INLINED: usize = 255;

/// All that is known of memory.
#[derive(Debug)]
pub struct Profile<'a> {
    /// Numbers of strings: name and unit.
    pub types: Vec<(u64, u64)>,
    pub samples: Vec<Sample>,
    /// Of all samples, outermost frame first: numbers of locations.
    pub codes: Vec<LocationCode>,
    /// Of all samples, as many as there are types.
    pub values: Vec<u64>,
    pub period_type: Option<u64>,
    pub period: u64,
    pub time_nanos: u64,
    pub duration_nanos: u64,
    strings: Vec<&'a [u8]>,
    locations: FxHashMap<u64, PprofLocation>,
    functions: FxHashMap<u64, Function>,
    mappings: FxHashMap<u64, Mapping>,
    /// Names of places that the profile does not name.
    found: FxHashMap<u64, Vec<Location>>,
    /// In the order in which they come.
    mapping_ids: Vec<u64>,
    budget: Budget,
}

/// What was counted at one backtrace.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// From and to.
    pub codes: (usize, usize),
    /// From and to.
    pub values: (usize, usize),
    /// The last label that is a number: its key, a string, and the number.
    pub label: Option<(u64, u64)>,
}

#[derive(Debug, Default)]
struct PprofLocation {
    mapping: u64,
    address: u64,
    /// Functions and lines, the innermost first.
    lines: Vec<(u64, u64, u64)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Function {
    name: u64,
    system_name: u64,
    file: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mapping {
    start: u64,
    limit: u64,
    offset: u64,
    file: u64,
    build_id: u64,
    number: u32,
}

impl<'a> Profile<'a> {
    /// All whole fields, and where and why there are not more.
    pub fn read(bytes: &'a [u8]) -> (Self, Option<(usize, String)>) {
        let mut profile = Self::new();
        let mut message = Message::new(bytes);
        let problem = loop {
            let at = message.position();
            match message.next() {
                Ok(None) => break None,
                Err(problem) => break Some((at, problem.to_owned())),
                Ok(Some(field)) => {
                    if let Err(problem) = profile.take(field.number, field.value) {
                        break Some((at, problem));
                    }
                }
            }
        };
        (profile, problem)
    }

    fn new() -> Self {
        Self {
            types: Vec::new(),
            samples: Vec::new(),
            codes: Vec::new(),
            values: Vec::new(),
            period_type: None,
            period: 0,
            time_nanos: 0,
            duration_nanos: 0,
            strings: Vec::new(),
            locations: FxHashMap::default(),
            functions: FxHashMap::default(),
            mappings: FxHashMap::default(),
            found: FxHashMap::default(),
            mapping_ids: Vec::new(),
            budget: Budget::new(MEMORY),
        }
    }

    fn take(&mut self, number: u64, value: Value<'a>) -> Result<(), String> {
        // Each entry of a table has some bytes of its own in the file, but it may be few.
        self.budget.take(ENTRY)?;
        match (number, value) {
            (1, Value::Bytes(bytes)) => {
                let [_, name, unit, ..] = numbers(bytes)?;
                self.types.push((name, unit));
            }
            (2, Value::Bytes(bytes)) => self.take_sample(bytes)?,
            (3, Value::Bytes(bytes)) => self.take_mapping(bytes)?,
            (4, Value::Bytes(bytes)) => self.take_place(bytes)?,
            (5, Value::Bytes(bytes)) => {
                let [_, id, name, system_name, file, ..] = numbers(bytes)?;
                self.functions.insert(id, Function { name, system_name, file });
            }
            (6, Value::Bytes(bytes)) => self.strings.push(bytes),
            (9, Value::Number(nanos)) => self.time_nanos = nanos,
            (10, Value::Number(nanos)) => self.duration_nanos = nanos,
            (11, Value::Bytes(bytes)) => self.period_type = Some(numbers(bytes)?[1]),
            (12, Value::Number(period)) => self.period = period,
            _ => {}
        }
        Ok(())
    }

    fn take_sample(&mut self, bytes: &[u8]) -> Result<(), String> {
        // A number takes a byte at least, and eight in a table.
        self.budget.take(8 * bytes.len())?;
        let (first_code, first_value) = (self.codes.len(), self.values.len());
        let mut label = None;
        let mut message = Message::new(bytes);
        while let Some(field) = message.next()? {
            match field.number {
                1 => self.codes.extend(field.value.numbers().map(LocationCode)),
                2 => self.values.extend(field.value.numbers()),
                3 => label = number_label(field.value)?.or(label),
                _ => {}
            }
        }
        // In the file, the innermost frame is the first.
        self.codes[first_code..].reverse();
        let codes = (first_code, self.codes.len());
        self.samples.push(Sample { codes, values: (first_value, self.values.len()), label });
        Ok(())
    }

    fn take_mapping(&mut self, bytes: &[u8]) -> Result<(), String> {
        let [_, id, start, limit, offset, file, build_id, ..] = numbers(bytes)?;
        let number = u32::try_from(self.mapping_ids.len()).map_err(|_| "too many mappings")?;
        let mapping = Mapping { start, limit, offset, file, build_id, number };
        if self.mappings.insert(id, mapping).is_none() {
            self.mapping_ids.push(id);
        }
        Ok(())
    }

    fn take_place(&mut self, bytes: &[u8]) -> Result<(), String> {
        let [_, id, mapping, address, ..] = numbers(bytes)?;
        let mut lines = Vec::new();
        let mut message = Message::new(bytes);
        while let Some(field) = message.next()? {
            if let (4, Value::Bytes(line)) = (field.number, field.value) {
                let [_, function, line, column, ..] = numbers(line)?;
                lines.push((function, line, column));
            }
        }
        lines.truncate(MOST_INLINED);
        self.budget.take(24 * lines.len())?;
        self.locations.insert(id, PprofLocation { mapping, address, lines });
        Ok(())
    }

    /// Names and units of what was counted.
    pub fn type_names(&self) -> Vec<(String, String)> {
        self.types.iter().map(|(name, unit)| (self.string(*name), self.string(*unit))).collect()
    }

    /// Empty for none, and for one that isn't there.
    pub fn string(&self, number: u64) -> String {
        let bytes = usize::try_from(number).ok().and_then(|index| self.strings.get(index));
        bytes.map_or_else(String::new, |bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// The object files, in the order of their numbers.
    pub fn modules(&self) -> impl Iterator<Item = Module> {
        self.mapping_ids.iter().filter_map(|id| {
            let Mapping { start, limit, offset, file, build_id, number } =
                *self.mappings.get(id)?;
            Some(Module {
                number,
                start,
                end: limit.max(start),
                bias: start.wrapping_sub(offset),
                build_id: bytes_of(&self.string(build_id)),
                path: self.string(file).into(),
            })
        })
    }

    /// Gives names to places of which nothing but the address is told, where they can be found.
    pub fn name(&mut self, naming: &mut Naming<'_>) {
        let mut ids: Vec<u64> = self.locations.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            let locations = match self.locations.get(&id) {
                Some(place) if place.lines.is_empty() => self.find_name(place, naming),
                _ => {
                    naming.is_told();
                    None
                }
            };
            self.found.extend(locations.map(|locations| (id, locations)));
        }
    }

    fn find_name(&self, place: &PprofLocation, naming: &mut Naming<'_>) -> Option<Vec<Location>> {
        let Some(mapping) = self.mappings.get(&place.mapping) else { return naming.of(None) };
        let (path, build_id) =
            (self.string(mapping.file), bytes_of(&self.string(mapping.build_id)));
        let mut beginnings =
            self.mappings.values().filter(|it| it.file == mapping.file && it.offset == 0);
        naming.of(Some(Spot {
            path: &path,
            build_id: &build_id,
            offset: place.address.wrapping_sub(mapping.start).wrapping_add(mapping.offset),
            address: place.address,
            is_stated: mapping.is_of_all(),
            start: beginnings.next().map(|it| it.start),
        }))
    }

    /// What a frame stands for.
    pub fn locate(&self, code: LocationCode) -> Frame {
        let Some(place) = self.locations.get(&code.0) else { return Frame::default() };
        let mapping = self.mappings.get(&place.mapping);
        let module = mapping.map_or_else(String::new, |mapping| self.string(mapping.file));
        let mut locations: Vec<_> =
            place.lines.iter().rev().map(|line| self.location(*line, &module)).collect();
        if locations.is_empty() {
            locations.extend(self.found.get(&code.0).into_iter().flatten().cloned());
        }
        if locations.is_empty() {
            let bias = mapping.map_or(0, |mapping| mapping.start.wrapping_sub(mapping.offset));
            locations.push(naming::address(&module, place.address.wrapping_sub(bias)));
        }
        let module = mapping.map(|mapping| mapping.number);
        Frame { locations, kind: FrameKind::Unknown, module }
    }

    fn location(&self, (function, line, column): (u64, u64, u64), module: &str) -> Location {
        let function = self.functions.get(&function).copied().unwrap_or_default();
        let or = |first: String, second: &dyn Fn() -> String| {
            if first.is_empty() { second() } else { first }
        };
        let column = u32::try_from(column).unwrap_or(0);
        Location {
            filename: or(self.string(function.file), &|| module.to_owned()).into(),
            line: u32::try_from(line).unwrap_or(0),
            start_char: column,
            end_char: column,
            defname: or(self.string(function.name), &|| self.string(function.system_name)).into(),
        }
    }
}

impl Mapping {
    /// Whether it stands for no mapping: some writers state addresses as the file has them, and a
    /// mapping of all memory (the crate `pprof_util`; `go tool pprof` knows such ones, too).
    fn is_of_all(&self) -> bool {
        self.start == 0 && self.offset == 0 && matches!(self.limit, 0 | u64::MAX)
    }
}

/// About what an entry of a table takes, in bytes.
const ENTRY: usize = 96;

fn number_label(value: Value<'_>) -> Result<Option<(u64, u64)>, String> {
    let Value::Bytes(bytes) = value else { return Ok(None) };
    let [_, key, _, number, ..] = numbers(bytes)?;
    Ok((number > 0).then_some((key, number)))
}

/// A message's numbers by the numbers of their fields; 0 where there is none.
fn numbers(bytes: &[u8]) -> Result<[u64; 8], String> {
    let mut numbers = [0; 8];
    let mut message = Message::new(bytes);
    while let Some(field) = message.next()? {
        let slot = usize::try_from(field.number).ok().and_then(|number| numbers.get_mut(number));
        if let (Some(slot), Some(number)) = (slot, field.value.number()) {
            *slot = number;
        }
    }
    Ok(numbers)
}

/// Of hexadecimal digits; what is none is taken as it is.
fn bytes_of(build_id: &str) -> Vec<u8> {
    let digits: Option<Vec<u8>> = build_id
        .chars()
        .map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    match digits {
        Some(digits) if digits.len() % 2 == 0 => {
            digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
        }
        _ => build_id.as_bytes().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_of_all_memory_are_none() {
        let mapping = |start, limit, offset| Mapping { start, limit, offset, ..Mapping::default() };
        assert!(mapping(0, u64::MAX, 0).is_of_all() && mapping(0, 0, 0).is_of_all());
        for real in [mapping(0, 4096, 0), mapping(4096, u64::MAX, 0), mapping(0, u64::MAX, 4096)] {
            assert!(!real.is_of_all(), "{real:?}");
        }
    }

    #[test]
    fn build_ids() {
        assert_eq!(bytes_of("00ff7A"), [0, 0xff, 0x7a]);
        assert_eq!(bytes_of("go-1"), b"go-1");
        assert_eq!(bytes_of("abc"), b"abc");
        assert_eq!(bytes_of(""), b"");
    }
}
