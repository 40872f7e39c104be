//! The backtraces of sites, with codes for their lines as traces have them.

use anyhow::{Context, Result};
use datafusion::arrow::array::{Array, AsArray, StructArray};
use datafusion::arrow::datatypes::{Int32Type, Int64Type};
use lifetrace_trace::event::Location;
use lifetrace_trace::frame::Frame;
use lifetrace_trace::ids::LocationCode;
use rustc_hash::FxHashMap;

use crate::answers::Selection;
use crate::engine::Engine;

/// The backtraces of some runs' sites.
#[derive(Default)]
pub(crate) struct Stacks {
    sites: FxHashMap<i64, Vec<LocationCode>>,
    /// By their codes.
    places: Vec<Location>,
}

/// Codes of places begin here: 0 may mean something.
const FIRST: u64 = 1;

impl Stacks {
    pub(crate) async fn of(engine: &Engine, of: &Selection) -> Result<Stacks> {
        let query = format!(
            "SELECT site, frames FROM sites
            WHERE site IN (SELECT DISTINCT site FROM totals WHERE {})",
            of.sql()
        );
        let mut known = FxHashMap::default();
        let mut stacks = Stacks::default();
        for batch in engine.ask(&query).await? {
            let sites = batch.column(0).as_primitive_opt::<Int64Type>().context("sites")?;
            let frames = batch.column(1).as_list_opt::<i32>().context("frames")?;
            for (row, site) in sites.values().iter().enumerate() {
                if !stacks.sites.contains_key(site) {
                    let frames = frames.value(row);
                    let places = places(frames.as_struct_opt().context("frames")?)?;
                    let codes = places.into_iter().map(|place| stacks.code(place, &mut known));
                    let codes = codes.collect();
                    stacks.sites.insert(*site, codes);
                }
            }
        }
        Ok(stacks)
    }

    fn code(
        &mut self,
        place: Location,
        known: &mut FxHashMap<Location, LocationCode>,
    ) -> LocationCode {
        if let Some(code) = known.get(&place) {
            return *code;
        }
        let code = LocationCode(FIRST + self.places.len() as u64);
        known.insert(place.clone(), code);
        self.places.push(place);
        code
    }

    /// The frames of a site, the outermost first.
    pub(crate) fn backtrace(&self, site: i64) -> &[LocationCode] {
        self.sites.get(&site).map_or(&[], Vec::as_slice)
    }

    /// The lines of a site, the outermost first.
    pub(crate) fn places(&self, site: i64) -> impl Iterator<Item = &Location> {
        self.backtrace(site).iter().filter_map(|code| self.place(*code))
    }

    /// What a code stands for.
    pub(crate) fn frame(&self, code: LocationCode) -> Frame {
        Frame::from(self.place(code).cloned().into_iter().collect::<Vec<_>>())
    }

    fn place(&self, code: LocationCode) -> Option<&Location> {
        let at = usize::try_from(code.0.checked_sub(FIRST)?).ok()?;
        self.places.get(at)
    }
}

/// The lines of one backtrace.
fn places(frames: &StructArray) -> Result<Vec<Location>> {
    let column = |name: &str| frames.column_by_name(name).with_context(|| name.to_owned());
    let functions = column("function")?.as_string_opt::<i32>().context("function")?;
    let files = column("file")?.as_string_opt::<i32>().context("file")?;
    let lines = column("line")?.as_primitive_opt::<Int32Type>().context("line")?;
    let place = |at: usize| Location {
        filename: if files.is_null(at) { "".into() } else { files.value(at).into() },
        line: if lines.is_null(at) { 0 } else { lines.value(at).max(0) as u32 },
        start_char: 0,
        end_char: 0,
        defname: functions.value(at).into(),
    };
    Ok((0..frames.len()).map(place).collect())
}
