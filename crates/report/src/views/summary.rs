//! One page: what was allocated and held, and who had most of it.

use lifetrace_analysis::{Amount, Metric, Sampling, Shaped, Sites, Summary as Totals};
use lifetrace_human as human;
use lifetrace_import::Lack;
use lifetrace_study::Study;
use lifetrace_study::accounts::Accounts;
use lifetrace_study::origin::Origin;
use serde::Serialize;

use super::Render;
use super::callsites::Ranking;
use crate::Options;
use crate::heap::{self, exact_totals};
use crate::lost::{self, Lost};
use crate::mapped::Mapped;
use crate::page::Page;
use crate::resident::Resident;
use crate::style::{PLAIN, STRONG};
use crate::table::{Column, Table, Tail};
use crate::young::{self, Young};

/// Totals and the first callsites: the document of the view, whose totals are those that all have.
#[derive(Serialize)]
pub struct Summary<'a> {
    #[serde(skip)]
    totals: Totals,
    /// Of which peak.
    #[serde(skip)]
    peak_note: String,
    #[serde(skip)]
    exact_totals: Option<String>,
    #[serde(skip)]
    young_heap: Young,
    #[serde(skip)]
    origin: Origin,
    #[serde(flatten)]
    ranking: Ranking<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resident: Option<Resident<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mapped: Option<Mapped>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<Lost<'a>>,
}

impl<'a> Summary<'a> {
    /// Finds the answer in a trace.
    ///
    /// # Errors
    /// If the trace cannot be read any more.
    pub fn new(study: &'a Study, options: &Options) -> anyhow::Result<Self> {
        let time = study.summary().peak.time;
        let peak_note = match study.origin().lacks(Lack::Times) {
            true => String::new(),
            false => format!("{} after the start", human::duration(time)),
        };
        let sites = Sites::new(Shaped::new(study.tree(), study.names(), study.view()));
        Ok(Self {
            exact_totals: exact_totals(study),
            young_heap: heap::young(study),
            resident: Resident::of(study),
            mapped: Mapped::of(study),
            lost: Lost::of(study, &sites, options.top)?,
            ..Self::noted(study, options, peak_note)
        })
    }

    /// Of several traces.
    pub fn of_sum(of: &'a impl Accounts, options: &Options) -> Self {
        Self::noted(of, options, "each process's own peak, added up".to_owned())
    }

    fn noted(of: &'a impl Accounts, options: &Options, peak_note: String) -> Self {
        let ranking = Ranking::new(of, options, options.metric);
        let (totals, origin) = (of.summary(), of.origin());
        let (exact_totals, young_heap) = (None, Young::default());
        let (resident, mapped, lost) = (None, None, None);
        Self {
            totals,
            peak_note,
            exact_totals,
            young_heap,
            origin,
            resident,
            mapped,
            lost,
            ranking,
        }
    }
}

impl Render for Summary<'_> {
    fn render(&self, page: &mut Page) {
        self.totals(page);
        let young = young::of_both(&self.totals, self.young_heap);
        young.iter().for_each(|text| page.prose("", PLAIN, text));
        if let Some(exact) = &self.exact_totals {
            page.prose("", PLAIN, exact);
            self.outside(page);
        }
        if let Some(resident) = &self.resident {
            page.prose("", PLAIN, &resident.explained());
            resident.growing().iter().for_each(|text| page.prose("", STRONG, text));
        }
        self.mapped.iter().for_each(|it| page.prose("", PLAIN, &it.sentences()));
        let lost = self.lost.as_ref().and_then(|it| lost::of_summary(it, &self.totals.sampling));
        lost.iter().for_each(|text| page.prose("", STRONG, text));
        page.line("");
        self.ranking.render(page);
    }
}

impl Summary<'_> {
    /// Names the part of what was allocated that a managed runtime does not count.
    fn outside(&self, page: &mut Page) {
        let outside = &self.totals.outside;
        if outside.samples > 0 {
            let amount = bytes(outside, &self.totals.sampling);
            let text =
                format!("Outside the heap that is counted there: {amount} of what was allocated");
            page.prose("", PLAIN, &text);
        }
    }

    /// What was allocated, what lived at the peak, and what lives, as far as it is known.
    fn totals(&self, page: &mut Page) {
        let (totals, origin) = (&self.totals, &self.origin);
        let promoted = (totals.promotions > 0).then_some(("promoted", &totals.promoted, ""));
        let told = |metric, row| origin.tells(metric).then_some(row);
        let rows = [
            told(Metric::Allocated, ("allocated", &totals.allocated, "")),
            promoted,
            told(Metric::Peak, ("peak", &totals.peak.amount, &*self.peak_note)),
            told(Metric::Live, ("live at end", &totals.live, "")),
        ];
        let tells_objects = !origin.lacks(Lack::Objects);
        let columns = [Column::left(""), Column::left("bytes")].into_iter();
        let of_objects = tells_objects.then(|| Column::left("objects").goes(1));
        let mut table = Table::new(columns.chain(of_objects));
        for (name, amount, note) in rows.into_iter().flatten() {
            let objects = tells_objects.then(|| objects(amount, &totals.sampling).into());
            let cells = [name.to_owned().into(), bytes(amount, &totals.sampling).into()];
            let note = if amount.samples > 0 { note } else { "" };
            table.row(cells.into_iter().chain(objects), Tail::Note(note.to_owned()));
        }
        page.table(&table);
    }
}

/// All digits of what is exact.
fn bytes(amount: &Amount, sampling: &Sampling) -> String {
    if sampling.is_exact() {
        let (all_digits, short) =
            (human::exact_bytes(amount.bytes.value), human::bytes(amount.bytes.value));
        return if all_digits == short { short } else { format!("{all_digits} ({short})") };
    }
    human::amount(amount, sampling)
}

fn objects(amount: &Amount, sampling: &Sampling) -> String {
    if amount.samples == 0 && !sampling.is_exact() {
        return String::new();
    }
    // What `realloc` added is of no object.
    match amount.samples > 0 && amount.objects.value == 0.0 {
        true => "none new".to_owned(),
        false => human::number_of_all(amount, sampling),
    }
}
