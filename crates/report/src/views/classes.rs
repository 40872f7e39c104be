//! Which classes objects are of, and where most of each come from.

use lifetrace_analysis::Metric;
use lifetrace_analysis::callsites::share;
use lifetrace_analysis::classes::{Class, classes};
use lifetrace_analysis::held::Held;
use lifetrace_analysis::{Place, Sampling, Shaped, Sites};
use lifetrace_human as human;
use lifetrace_study::Study;
use lifetrace_study::accounts::Accounts;
use lifetrace_trace::event::class_of;
use serde::Serialize;

use super::{Render, measure};
use crate::Options;
use crate::amounts::{Number, Quantity, bytes_or_none, measured, objects_or_none};
use crate::fields::PlaceFields;
use crate::page::Page;
use crate::place::{brief_source, function};
use crate::style::{FAINT, STRONG};
use crate::table::{Cell, Column, Table, Tail};

const HELD: &str = "held: what all of them took when they died, or live at the end, with what they have from malloc \
    (ObjectSpace.memsize_of); all else is slots.";

/// Which classes objects are of: the document of the view.
#[derive(Debug, Serialize)]
pub struct Classes<'a> {
    classes_total: usize,
    /// The first of them, by the metric.
    classes: Vec<Entry<'a>>,
    #[serde(skip)]
    metric: Metric,
    #[serde(skip)]
    sampling: Sampling,
    #[serde(skip)]
    has_classes: bool,
}

#[derive(Debug, Serialize)]
struct Entry<'a> {
    /// None: all that is of no class.
    class: Option<&'a str>,
    value: Number,
    share: f64,
    /// Those that have the value.
    #[serde(skip)]
    counted: Quantity,
    allocated: Quantity,
    live_at_end: Quantity,
    /// What they took when they died, or in the end, with what belonged to them elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<Quantity>,
    /// The callsite that has most.
    callsite: PlaceFields<'a>,
    callsite_share: f64,
}

impl<'a> Classes<'a> {
    /// Finds the answer in one trace.
    ///
    /// # Errors
    /// If the trace cannot be read any more.
    pub fn new(study: &'a Study, options: &Options) -> anyhow::Result<Self> {
        let mut held = Held::default();
        study.replay(&mut held)?;
        Ok(Self::with(study, &held, options))
    }

    /// Finds the answer in several traces.
    pub fn of_sum(several: &'a impl Accounts, options: &Options) -> Self {
        Self::with(several, &Held::default(), options)
    }

    fn with(of: &'a impl Accounts, held: &Held, options: &Options) -> Self {
        let metric = options.metric;
        let sites = Sites::new(Shaped::new(of.tree(), of.names(), of.view()));
        let all =
            classes(of.tree(), of.names(), &sites, of.balances(), |node| held.of(node), metric);
        let total = all.iter().map(|class| class.value.value).sum();
        Self {
            classes_total: all.len(),
            classes: all.iter().take(options.top).map(|it| Entry::new(it, metric, total)).collect(),
            metric,
            sampling: of.summary().sampling,
            has_classes: all.iter().any(|class| class.name.is_some()),
        }
    }

    fn row(&self, class: &Entry<'_>) -> Vec<Cell> {
        let value = measured(self.metric, &class.value.0);
        let live = bytes_or_none(&class.live_at_end.0, &self.sampling);
        let objects = objects_or_none(&class.counted.0, &self.sampling);
        let held = class.held.as_ref().map(|held| bytes_or_none(&held.0, &self.sampling));
        let held = self.is_measured().then(|| held.unwrap_or_default());
        let cells = [human::percent(class.share), value, objects, live].into_iter().chain(held);
        cells.map(Cell::from).collect()
    }
}

impl Classes<'_> {
    fn is_measured(&self) -> bool {
        self.classes.iter().any(|class| class.held.is_some())
    }
}

impl<'a> Entry<'a> {
    fn new(class: &Class<'a>, metric: Metric, total: f64) -> Self {
        Self {
            class: class.name,
            value: Number(class.value),
            share: share(class.value.value, total),
            counted: Quantity(metric.amount(&class.balance)),
            allocated: Quantity(class.balance.allocated.amount()),
            live_at_end: Quantity(class.balance.live.amount()),
            // What is of no class is malloc's, and what objects have of it is theirs.
            held: class.held.filter(|_| class.name.is_some()).map(|held| Quantity(held.amount())),
            callsite: PlaceFields(class.callsite),
            callsite_share: share(class.of_callsite.value, class.value.value),
        }
    }

    fn tail(&self) -> Tail {
        let place = &self.callsite.0;
        let at = brief_source(place).map(|source| format!(", {source}")).unwrap_or_default();
        let share = human::percent(self.callsite_share);
        let is_class =
            |place: &Place<'_>| matches!(place, Place::Known(it) if class_of(it).is_some());
        let callsite = if is_class(place) { "no method".to_owned() } else { function(place) };
        Tail::Place {
            name: self.class.unwrap_or("(of no class)").to_owned(),
            source: format!("{share} in {callsite}{at}"),
        }
    }
}

impl Render for Classes<'_> {
    fn render(&self, page: &mut Page) {
        if !self.has_classes {
            let text =
                "Nothing that was chosen is of a class: only Ruby's objects are (source ruby).";
            page.prose("", FAINT, text);
            return;
        }
        let (shown, all) = (self.classes.len(), self.classes_total);
        let heading = format!("{shown} of {all} classes by {}", measure(self.metric));
        page.prose("", STRONG, &heading);
        page.line("");
        let columns = [
            Column::share("share"),
            Column::left(self.metric.name()).continues(),
            Column::left("objects").goes(1),
            Column::left("live at end").goes(2),
        ];
        let held = self.is_measured().then(|| Column::left("held").goes(3));
        let table = Table::new(columns.into_iter().chain(held));
        let mut table = table.with_tails("class, and where most of it is allocated");
        for class in &self.classes {
            table.row(self.row(class), class.tail());
        }
        page.table(&table);
        if self.is_measured() {
            page.line("");
            page.prose("", FAINT, HELD);
        }
    }
}
