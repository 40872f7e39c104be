//! A text's tables, from its lines.

use lifetrace_trace::event::Location;
use lifetrace_trace::fact::Module;
use lifetrace_trace::frame::{Frame, FrameKind};
use lifetrace_trace::ids::LocationCode;
use rustc_hash::FxHashMap;

use super::super::budget::Budget;
use super::super::fault::Fault;
use super::super::lines::{Line, Lines};
use super::super::naming::{self, Naming};
use super::super::points::{Amount, Point};
use super::go;
use super::header::{self, Header, Writer, amounts};
use super::maps::Maps;

/// What the tables may take, in bytes.
const MEMORY: usize = 1 << 30;

/// About what an entry of a table takes, in bytes.
const ENTRY: usize = 200;

/// All that is known of memory.
#[derive(Debug)]
pub struct Profile {
    pub header: Header,
    /// What lives, and what was allocated.
    pub points: Vec<Point>,
    /// Where each point's backtrace ends in `codes`.
    pub ends: Vec<usize>,
    /// Of all points, outermost frame first: addresses as they are in the file.
    pub codes: Vec<LocationCode>,
    pub maps: Maps,
    pub frames: FxHashMap<u64, Frame>,
    /// What the text itself says of addresses, innermost function first; and behind which point, since
    /// it says so each time.
    told: FxHashMap<u64, (usize, Vec<Location>)>,
    /// In the order in which they come first.
    addresses: Vec<u64>,
    budget: Budget,
}

/// Which part of the text it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Sums of all.
    Totals,
    /// Behind a line of addresses.
    Stack,
    /// Behind the sums of one.
    Sums,
    Mappings,
    /// What the run time system says of itself.
    Rest,
}

impl Profile {
    /// All whole lines, and why there are not more.
    ///
    /// # Errors
    /// If the first line is none of such a text.
    pub fn read(bytes: &[u8]) -> Result<(Self, Option<Fault>), Fault> {
        let mut lines = Lines::new(bytes);
        let Some(first) = lines.next() else { return Err(Fault::of_file("an empty file")) };
        let first = first.whole()?;
        let header = header::parse(first.words()).map_err(|expected| first.fault(&expected))?;
        let mut profile = Self::new(header);
        let fault = profile.take_all(lines).err();
        Ok((profile, fault))
    }

    fn new(header: Header) -> Self {
        Self {
            header,
            points: Vec::new(),
            ends: Vec::new(),
            codes: Vec::new(),
            maps: Maps::default(),
            frames: FxHashMap::default(),
            told: FxHashMap::default(),
            addresses: Vec::new(),
            budget: Budget::new(MEMORY),
        }
    }

    fn take_all(&mut self, lines: Lines<'_>) -> Result<(), Fault> {
        let mut part = Part::Totals;
        for line in lines {
            part = self.take(line.whole()?, part)?;
        }
        if part == Part::Stack {
            return Err(Fault::of_file("the file is cut behind a backtrace, before its sums"));
        }
        self.check_totals()
    }

    fn take(&mut self, line: Line<'_>, part: Part) -> Result<Part, Fault> {
        let words = line.words();
        if let Some(comment) = words.strip_prefix('#') {
            let (address, place) = match go::named(comment) {
                _ if part == Part::Rest => return Ok(part),
                // Statistics come behind all samples.
                None if comment.trim_ascii_start().starts_with("runtime.") => {
                    return Ok(Part::Rest);
                }
                None => return Ok(part),
                Some(named) => named,
            };
            self.budget.take(ENTRY).map_err(|problem| line.problem(problem))?;
            let now = self.points.len();
            let (behind, places) = self.told.entry(address).or_insert((now, Vec::new()));
            if *behind == now {
                places.push(place);
            }
            return Ok(part);
        }
        match part {
            _ if words == "MAPPED_LIBRARIES:" => Ok(Part::Mappings),
            _ if words.is_empty() => Ok(part),
            Part::Rest => Ok(part),
            Part::Mappings => self.take_mapping(line, words),
            _ if self.header.writer == Writer::Jemalloc => self.take_of_jemalloc(line, words, part),
            _ => self.take_sample(line, words),
        }
    }

    fn take_mapping(&mut self, line: Line<'_>, words: &str) -> Result<Part, Fault> {
        self.budget.take(ENTRY).map_err(|problem| line.problem(problem))?;
        // gperftools writes what it was built from.
        if self.maps.take(words).is_err() && !words.starts_with("build=") {
            return Err(line.fault("a mapping, as in /proc/PID/maps"));
        }
        Ok(Part::Mappings)
    }

    /// `@ 0x1 0x2`, then `t*: N: N [N: N]`, then the same of each thread.
    fn take_of_jemalloc(&mut self, line: Line<'_>, words: &str, part: Part) -> Result<Part, Fault> {
        if let (Some(addresses), true) = (words.strip_prefix('@'), part != Part::Stack) {
            self.take_addresses(line, addresses)?;
            return Ok(Part::Stack);
        }
        let sums = words.strip_prefix('t').and_then(|rest| rest.split_once(':'));
        let sums = sums.and_then(|(who, rest)| Some((who, amounts(rest)?)));
        match (part, sums) {
            (Part::Stack, Some(("*", (live, all, _)))) => {
                self.end_point(live, all);
                Ok(Part::Sums)
            }
            (Part::Stack, _) => Err(line.fault("'t*: N: N [N: N]', the sums of a backtrace")),
            (_, Some(_)) => Ok(part),
            _ => Err(line.fault("'@' and addresses, 't*: N: N [N: N]' or 'MAPPED_LIBRARIES:'")),
        }
    }

    /// `N: N [N: N] @ 0x1 0x2`
    fn take_sample(&mut self, line: Line<'_>, words: &str) -> Result<Part, Fault> {
        let sample = amounts(words);
        let sample = sample.and_then(|(live, all, rest)| {
            Some((live, all, rest.trim_ascii_start().strip_prefix('@')?))
        });
        let Some((live, all, addresses)) = sample else {
            return Err(line.fault("'N: N [N: N] @' and addresses, or 'MAPPED_LIBRARIES:'"));
        };
        self.take_addresses(line, addresses)?;
        self.end_point(live, all);
        Ok(Part::Sums)
    }

    /// In the file, the innermost frame is the first.
    fn take_addresses(&mut self, line: Line<'_>, text: &str) -> Result<(), Fault> {
        let first = self.ends.last().copied().unwrap_or(0);
        self.codes.truncate(first);
        for word in text.split_ascii_whitespace() {
            let digits = word.strip_prefix("0x").unwrap_or(word);
            let address = u64::from_str_radix(digits, 16);
            let address = address.map_err(|_| line.fault("addresses, such as 0x55cc3626e17a"))?;
            let is_new = !self.frames.contains_key(&address);
            let taken = self.budget.take(8 + if is_new { ENTRY } else { 0 });
            taken.map_err(|problem| line.problem(problem))?;
            if is_new {
                self.frames.insert(address, Frame::default());
                self.addresses.push(address);
            }
            self.codes.push(LocationCode(address));
        }
        self.codes[first..].reverse();
        self.budget.take(ENTRY).map_err(|problem| line.problem(problem))
    }

    fn end_point(&mut self, live: Amount, all: Amount) {
        self.points.push(Point { total: all, end: live, ..Point::default() });
        self.ends.push(self.codes.len());
    }

    /// jemalloc's are counted in another way.
    fn check_totals(&self) -> Result<(), Fault> {
        let Some((live, _)) = self.header.totals else { return Ok(()) };
        let bytes: u128 = self.points.iter().map(|point| u128::from(point.end.bytes)).sum();
        if bytes < live.bytes.into() {
            return Err(Fault::of_file(format!(
                "the file is cut: its first line says that {} bytes live, its backtraces have {}",
                super::super::count(live.bytes),
                super::super::count(u64::try_from(bytes).unwrap_or(u64::MAX)),
            )));
        }
        Ok(())
    }

    /// Gives each address its frame.
    pub fn name(&mut self, naming: &mut Naming<'_>) {
        for address in std::mem::take(&mut self.addresses) {
            let frame = self.frame_at(address, naming);
            self.frames.insert(address, frame);
        }
    }

    fn frame_at(&self, address: u64, naming: &mut Naming<'_>) -> Frame {
        // It is where a call returns to; the call lies before it.
        let call = address.wrapping_sub(1);
        let found = self.maps.find(call);
        let module = found.and_then(|(file, _)| u32::try_from(file).ok());
        let spot = found.map(|(_, spot)| spot);
        // Go's names are at the call.
        let locations = match self.told.get(&call).or_else(|| self.told.get(&address)) {
            Some((_, told)) => {
                naming.is_told();
                told.iter().rev().cloned().collect()
            }
            None => naming.of(spot).unwrap_or_else(|| {
                let (path, place) = spot.map_or(("", call), |spot| (spot.path, spot.offset));
                vec![naming::address(path, place)]
            }),
        };
        Frame { locations, kind: FrameKind::Native, module }
    }

    /// The files that were mapped.
    pub fn modules(&self) -> impl Iterator<Item = Module> {
        (0..).zip(&self.maps.files).map(|(number, file)| Module {
            number,
            start: file.start,
            end: file.end,
            bias: file.beginning.unwrap_or(file.start),
            build_id: Vec::new(),
            path: file.path.as_str().into(),
        })
    }

    /// Whether what was allocated in all is told, beside what lives.
    pub fn tells_allocated(&self) -> bool {
        let differs = |point: &Point| point.total != point.end && point.total != Amount::default();
        match self.header.writer {
            Writer::Gperftools => true,
            Writer::Jemalloc => self.points.iter().any(|it| it.total != Amount::default()),
            Writer::Tcmalloc | Writer::Go => self.points.iter().any(differs),
        }
    }
}
