//! How long blocks live.

mod json;
mod spread;
mod text;

use lifetrace_analysis::lifetimes::{Collections, Found, Lifetime, Lifetimes as Observed};
use lifetrace_analysis::statistics::Quantile;
use lifetrace_analysis::{Callsite, Callsites, Estimate, Metric, Shaped, Sites};
use lifetrace_study::Study;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::Render;
use crate::Options;
use crate::amounts::Quantity;
use crate::fields::PlaceFields;
use crate::page::Page;

pub use json::LifetimeFields;
pub use text::in_collections;

/// Shares of blocks whose lifetimes are told.
const QUANTILES: [f64; 5] = [0.1, 0.5, 0.9, 0.99, 0.999];

/// How long blocks live, all together and by callsite: the document of the view.
#[derive(Debug, Serialize)]
pub struct Lifetimes<'a> {
    #[serde(serialize_with = "counts")]
    collections: Collections,
    lifetimes: LifetimeFields,
    callsites_total: usize,
    /// The first of them.
    callsites: Vec<Entry<'a>>,
    #[serde(skip)]
    metric: Metric,
}

#[derive(Debug, Serialize)]
struct Entry<'a> {
    #[serde(flatten)]
    place: PlaceFields<'a>,
    share: f64,
    allocated: Quantity,
    live_at_end: Quantity,
    lifetimes: LifetimeFields,
    /// What it has of the metric.
    #[serde(skip)]
    value: Estimate,
}

impl<'a> Lifetimes<'a> {
    /// Finds the answer in a trace.
    ///
    /// # Errors
    /// If the trace cannot be read any more.
    pub fn new(study: &'a Study, options: &Options) -> anyhow::Result<Self> {
        let profile = &study.reading.profile;
        let shaped = Shaped::new(profile.tree(), &study.reading.trace, &study.choice.view);
        let sites = Sites::new(shaped);
        let mut observed = Observed::new(&sites);
        study.replay(&mut observed)?;
        let found = observed.finish();
        let all = Callsites::new(sites, profile.balances(), options.metric).callsites;
        let entry = |callsite| Entry::new(callsite, &found);
        Ok(Self {
            collections: found.collections,
            lifetimes: LifetimeFields { lifetime: found.all(), collections: found.collections },
            callsites_total: all.len(),
            callsites: all.iter().take(options.top).filter_map(entry).collect(),
            metric: options.metric,
        })
    }
}

impl<'a> Entry<'a> {
    /// Nothing if no lifetime of its blocks is known.
    fn new(callsite: &Callsite<'a>, found: &Found) -> Option<Self> {
        let lifetime = found.sites.get(&callsite.site)?.clone();
        Some(Self {
            place: PlaceFields(callsite.place),
            share: callsite.share,
            allocated: Quantity(callsite.allocated),
            live_at_end: Quantity(callsite.live),
            lifetimes: LifetimeFields { lifetime, collections: found.collections },
            value: callsite.value,
        })
    }
}

fn counts<S: Serializer>(collections: &Collections, serializer: S) -> Result<S::Ok, S::Error> {
    let mut fields = serializer.serialize_struct("Collections", 2)?;
    fields.serialize_field("minor", &collections.minor)?;
    fields.serialize_field("major", &collections.major)?;
    fields.end()
}

/// The lifetime of a half of all blocks, unless more than that still live.
pub fn median(lifetime: &Lifetime) -> Option<Quantile> {
    lifetime.time.curve(lifetime.unit()).quantile(0.5)
}

impl Render for Lifetimes<'_> {
    fn render(&self, page: &mut Page) {
        text::write(self, page);
    }
}
