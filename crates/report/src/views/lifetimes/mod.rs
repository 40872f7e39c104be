//! How long blocks live.

mod json;
mod spread;
mod text;

use lifetrace_analysis::lifetimes::{Found, Lifetime, Lifetimes as Observed};
use lifetrace_analysis::statistics::Quantile;
use lifetrace_analysis::{Callsite, Callsites, Metric, Shaped, Sites};
use lifetrace_study::Study;
use serde_json::{Map, Value};

use super::{View, fields};
use crate::Options;
use crate::page::Page;

pub use json::LifetimeFields;
pub use text::in_collections;

/// Shares of blocks whose lifetimes are told.
const QUANTILES: [f64; 5] = [0.1, 0.5, 0.9, 0.99, 0.999];

/// How long blocks live, all together and by callsite.
pub struct Lifetimes<'a> {
    metric: Metric,
    callsites: Callsites<'a>,
    found: Found,
    all: Lifetime,
    top: usize,
}

impl<'a> Lifetimes<'a> {
    /// # Errors
    /// If the trace cannot be read any more.
    pub fn new(study: &'a Study, options: &Options) -> anyhow::Result<Self> {
        let profile = &study.reading.profile;
        let shaped = Shaped::new(profile.tree(), &study.reading.trace, &study.choice.view);
        let sites = Sites::new(shaped);
        let mut observed = Observed::new(&sites);
        study.replay(&mut observed)?;
        let found = observed.finish();
        Ok(Self {
            metric: options.metric,
            callsites: Callsites::new(sites, profile.balances(), options.metric),
            all: found.all(),
            found,
            top: options.top,
        })
    }

    /// The first callsites, with how long their blocks live.
    fn shown(&self) -> impl Iterator<Item = (&Callsite<'a>, &Lifetime)> {
        let first = self.callsites.callsites.iter().take(self.top);
        first.filter_map(|callsite| Some((callsite, self.found.sites.get(&callsite.site)?)))
    }
}

/// The lifetime of a half of all blocks, unless more than that still live.
pub fn median(lifetime: &Lifetime) -> Option<Quantile> {
    lifetime.time.curve(lifetime.unit()).quantile(0.5)
}

impl View for Lifetimes<'_> {
    fn text(&self, page: &mut Page) {
        text::write(self, page);
    }

    fn json(&self) -> serde_json::Result<Map<String, Value>> {
        fields(&json::Document::new(self))
    }
}
