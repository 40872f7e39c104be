//! Where objects were allocated, as far as samples tell.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use anyhow::Context;
use lifetrace_human as human;
use lifetrace_report::style::{FAINT, PLAIN, STRONG};
use lifetrace_report::views::Render;
use lifetrace_report::{Cell, Column, Page, Table, Tail};
use lifetrace_snapshot::graph::BlockId;
use lifetrace_trace::lth::{Frame, Sample, SiteId};
use serde::Serialize;

use crate::object::Object;
use crate::opened::Opened;
use crate::origin::Origin;

/// Of a normal distribution, 95 % is within so many standard deviations.
const DEVIATIONS: f64 = 1.96;

/// Where objects were allocated: the document of the view.
#[derive(Debug, Serialize)]
pub struct Sites {
    /// Samples whose blocks roots hold.
    samples: u64,
    /// Samples whose blocks the snapshot does not have, or which no root holds.
    samples_elsewhere: u64,
    /// What roots hold.
    bytes: u64,
    /// What samples stand for of it.
    estimated_bytes: Estimate,
    sites_total: usize,
    /// The first of them, by their bytes.
    sites: Vec<Site>,
}

#[derive(Debug, Serialize)]
struct Site {
    /// Its number in the snapshot.
    site: u32,
    /// The innermost first.
    frames: Vec<String>,
    /// The innermost of them that has a file: what has none are a runtime's own functions, `Class#new`.
    #[serde(skip)]
    from: String,
    samples: u64,
    objects: Estimate,
    bytes: Estimate,
    /// The class of most of them, and how many of the samples are of it.
    class: String,
    class_samples: u64,
    /// What one of its objects retains, on average.
    retained_mean_bytes: f64,
    /// The sampled one that retains most.
    most: Object,
}

/// With its 95 % interval.
#[derive(Clone, Copy, Debug, Serialize)]
struct Estimate {
    value: f64,
    low95: f64,
    high95: f64,
}

/// What is summed up.
#[derive(Clone, Copy, Default)]
struct Sum {
    value: f64,
    variance: f64,
}

impl Sum {
    /// A block with so much of what is summed up, which stands for so many.
    fn add(&mut self, amount: f64, weight: f64) {
        self.value += weight * amount;
        self.variance += weight * (weight - 1.0).max(0.0) * amount * amount;
    }

    /// At least what was seen.
    fn estimate(self, seen: f64) -> Estimate {
        let half = DEVIATIONS * self.variance.sqrt();
        let low95 = (self.value - half).max(seen);
        Estimate { value: self.value, low95, high95: self.value + half }
    }
}

/// Samples with their blocks.
type Samples = Vec<(Sample, BlockId)>;

impl Sites {
    /// Of a snapshot, with so many sites.
    ///
    /// # Errors
    /// If it has no samples.
    pub fn new(of: &Opened, top: usize) -> anyhow::Result<Sites> {
        let origin = sampled(of)?;
        let all: Samples = held(of, origin).collect();
        let (mut sum, mut seen) = (Sum::default(), 0.0);
        for (sample, id) in &all {
            let bytes = of.heap.graph.bytes(*id) as f64;
            sum.add(bytes, sample.weight);
            seen += bytes;
        }
        let mut by_site: BTreeMap<SiteId, Samples> = BTreeMap::new();
        for &(sample, id) in &all {
            by_site.entry(sample.site).or_default().push((sample, id));
        }
        let sites = by_site.iter().map(|(&site, samples)| Site::new(of, origin, site, samples));
        let mut sites: Vec<Site> = sites.collect();
        sites.sort_by(|one, other| other.bytes.value.total_cmp(&one.bytes.value));
        let sites_total = sites.len();
        sites.truncate(top);
        Ok(Sites {
            samples: all.len() as u64,
            samples_elsewhere: (origin.samples.len() - all.len()) as u64,
            bytes: of.reachable_bytes(),
            estimated_bytes: sum.estimate(seen),
            sites_total,
            sites,
        })
    }
}

/// # Errors
/// If there are no samples.
fn sampled(of: &Opened) -> anyhow::Result<&Origin> {
    let origin = of.origin.as_ref().filter(|origin| !origin.samples.is_empty());
    origin.with_context(|| {
        format!("{}: has no samples, so nothing of where blocks were allocated", of.path.display())
    })
}

/// Samples whose blocks roots hold.
fn held<'a>(of: &'a Opened, origin: &'a Origin) -> impl Iterator<Item = (Sample, BlockId)> + 'a {
    let samples = origin.samples.iter().filter_map(|&(sample, id)| Some((sample, id?)));
    samples.filter(|&(_, id)| of.dominators.is_reachable(id))
}

/// The sampled block of a site that retains most.
///
/// # Errors
/// If there is none.
pub(crate) fn most_of(of: &Opened, site: u32) -> anyhow::Result<BlockId> {
    let all = held(of, sampled(of)?).filter(|(sample, _)| sample.site.0 == site);
    let most = all.map(|(_, id)| id).max_by_key(|&id| (of.retained.bytes(id), Reverse(id)));
    most.with_context(|| format!("no sampled block of site {site} is in {}", of.path.display()))
}

impl Site {
    fn new(of: &Opened, origin: &Origin, id: SiteId, samples: &Samples) -> Site {
        let (mut objects, mut bytes, mut retained) = <(Sum, Sum, Sum)>::default();
        let mut classes: BTreeMap<&str, u64> = BTreeMap::new();
        let mut seen = 0.0;
        for &(Sample { weight, .. }, block) in samples {
            let size = of.heap.graph.bytes(block) as f64;
            seen += size;
            objects.add(1.0, weight);
            bytes.add(size, weight);
            retained.add(of.retained.bytes(block) as f64, weight);
            *classes.entry(of.heap.name(block)).or_default() += 1;
        }
        let most_of_class = classes.into_iter().max_by_key(|&(name, count)| (count, Reverse(name)));
        let (class, class_samples) = most_of_class.unwrap_or_default();
        let by_retained =
            |&(_, block): &(Sample, BlockId)| (of.retained.bytes(block), Reverse(block));
        let most = samples.iter().copied().max_by_key(by_retained);
        let most = most.map_or(BlockId::ALL_ROOTS, |(_, block)| block);
        let frames = origin.sites.get(id.0 as usize).map_or(&[][..], |site| &site.frames);
        Site {
            site: id.0,
            frames: frames.iter().map(shown).collect(),
            from: from(frames),
            samples: samples.len() as u64,
            objects: objects.estimate(samples.len() as f64),
            bytes: bytes.estimate(seen),
            class: class.to_owned(),
            class_samples,
            retained_mean_bytes: retained.value / objects.value.max(f64::MIN_POSITIVE),
            most: Object::new(of, most),
        }
    }
}

/// Where a site is: who had the object made.
fn from(frames: &[Frame]) -> String {
    let has_file = |frame: &&Frame| !frame.file.is_empty();
    let frame = frames.iter().find(has_file).or(frames.first());
    frame.map_or_else(|| "(nothing is known)".to_owned(), shown)
}

/// `Cache.add cache.ml:12`.
fn shown(frame: &Frame) -> String {
    match (&*frame.file, frame.line) {
        ("", _) => frame.function.to_string(),
        (file, 0) => format!("{} {file}", frame.function),
        (file, line) => format!("{} {file}:{line}", frame.function),
    }
}

impl Estimate {
    fn text(self) -> String {
        let [value, low, high] = [self.value, self.low95, self.high95].map(human::bytes);
        format!("{value} ({low} to {high})")
    }
}

impl Render for Sites {
    fn render(&self, page: &mut Page) {
        let [samples, shown] =
            [self.samples, self.sites.len() as u64].map(|it| human::count(it as f64));
        let text = format!(
            "{samples} blocks that roots hold were sampled when they were allocated. They stand for {}, of the {} \
             that roots hold.",
            self.estimated_bytes.text(),
            human::bytes(self.bytes as f64)
        );
        page.prose("", PLAIN, &text);
        page.line("");
        page.prose("", STRONG, &format!("{shown} of {} sites by bytes", self.sites_total));
        let columns = [
            Column::left("bytes"),
            Column::left("95 %").goes(2),
            Column::left("samples"),
            Column::left("each retains").goes(1),
            Column::left("at most").goes(3),
        ];
        let mut table = Table::new(columns).with_tails("site");
        for site in &self.sites {
            let [bytes, low, high] =
                [site.bytes.value, site.bytes.low95, site.bytes.high95].map(human::bytes);
            let cells = [
                bytes,
                format!("{low} to {high}"),
                human::count(site.samples as f64),
                human::bytes(site.retained_mean_bytes),
                human::bytes(site.most.retained_bytes as f64),
            ];
            let text = format!("{}: {}, from {}", site.site, site.class, site.from);
            table.row(cells.map(Cell::from), Tail::Text { indent: 0, text });
        }
        page.table(&table);
        page.line("");
        page.prose("", FAINT, "Sizes and what is retained are exact for each sampled block; how many blocks a site has is \
            estimated. What blocks retain overlaps, and is never added up.");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, file: &str, line: u32) -> Frame {
        Frame { function: function.into(), file: file.into(), line }
    }

    #[test]
    fn a_site_is_where_the_source_is() {
        let [new, made] = [frame("Class#new", "", 0), frame("Shop#add", "shop.rb", 7)];
        assert_eq!(from(&[new.clone(), made]), "Shop#add shop.rb:7");
        assert_eq!(from(&[new]), "Class#new");
        assert_eq!(from(&[]), "(nothing is known)");
    }
}
