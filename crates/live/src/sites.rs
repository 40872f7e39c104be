//! The callsites of a trace that grows. Which backtrace has which is looked up, and found anew when there are more: by the
//! same rule as everywhere, for all backtraces at once. Where there are very many that takes longer than a page may, so
//! it waits then; backtraces that are new meanwhile are a row of their own.

use std::rc::Rc;
use std::time::{Duration, Instant};

use lifetrace_analysis::account::Balance;
use lifetrace_analysis::call_tree::NodeId;
use lifetrace_analysis::{Place, Shaped, Sites};
use lifetrace_report::{brief_source, function, source};
use lifetrace_study::accounts::Accounts;
use rustc_hash::FxHashMap;

/// Of the time, no more than this part is spent on finding callsites anew.
const SHARE: u32 = 200;

/// A callsite's name, in full and as one knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SiteName {
    /// The function, safe to show.
    pub function: String,
    /// File and line, safe to show; empty if there are none.
    pub source: String,
    /// The end of that.
    pub brief_source: String,
    /// The function, the file and the line as the trace tells them; for programs.
    pub told: Told,
}

/// A place as a trace tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Told {
    /// The function's name.
    pub function: Option<String>,
    /// The file.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u32>,
}

impl SiteName {
    fn of(place: &Place<'_>) -> Self {
        let told = match place {
            Place::Known(location) => Told {
                function: Some(location.defname.to_string()),
                file: Some(location.filename.to_string()),
                line: (location.line > 0).then_some(location.line),
            },
            Place::Unknown(_) | Place::NoBacktrace => Told::default(),
        };
        let [source, brief_source] =
            [source(place), brief_source(place)].map(Option::unwrap_or_default);
        Self { function: function(place), source, brief_source, told }
    }

    /// That of backtraces whose callsites are not found yet.
    fn pending() -> Self {
        let function = "(new backtraces, not looked at yet)".to_owned();
        let (source, brief_source) = (String::new(), String::new());
        Self { function, source, brief_source, told: Told::default() }
    }
}

/// Which backtrace has which callsite.
#[derive(Debug, Default)]
pub struct SiteTable {
    names: Vec<Rc<SiteName>>,
    /// Of each name; they stay as they are, since amounts are added up by them.
    numbers: FxHashMap<Rc<SiteName>, u32>,
    /// By the node's number; nothing for what is left out.
    of: Vec<Option<u32>>,
    /// When it was made last, and how long that took.
    made: Option<(Instant, Duration)>,
}

/// A callsite's number in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SiteNumber(u32);

impl SiteTable {
    /// Finds the callsites of backtraces that are new, unless that was done at great cost a moment ago.
    pub fn update(&mut self, of: &impl Accounts) {
        let is_late = |(when, took): (Instant, Duration)| when.elapsed() >= took * SHARE;
        if self.of.len() > of.tree().len() || !self.made.is_none_or(is_late) {
            return;
        }
        let begun = Instant::now();
        self.renew(of);
        self.made = Some((Instant::now(), begun.elapsed()));
    }

    /// Finds the callsites of all backtraces, whatever that costs.
    pub fn renew(&mut self, of: &impl Accounts) {
        let sites = Sites::new(Shaped::new(of.tree(), of.names(), of.view()));
        self.number_of(SiteName::pending());
        let names = sites.places().iter().map(SiteName::of);
        let numbers: Vec<_> = names.map(|name| self.number_of(name)).collect();
        let nodes = of.tree().nodes().map(|(node, ..)| node);
        let number = |node| sites.of(node).map(|site| numbers[site.index()]);
        self.of = std::iter::once(NodeId::ROOT).chain(nodes).map(number).collect();
    }

    fn number_of(&mut self, name: SiteName) -> u32 {
        if let Some(&number) = self.numbers.get(&name) {
            return number;
        }
        let (number, name) = (self.names.len() as u32, Rc::new(name));
        self.names.push(Rc::clone(&name));
        self.numbers.insert(name, number);
        number
    }

    /// The callsite of a backtrace: nothing for what is left out. Nothing at all if it is not looked at yet.
    pub fn known(&self, node: NodeId) -> Option<Option<SiteNumber>> {
        self.of.get(node.index()).map(|number| number.map(SiteNumber))
    }

    /// The callsite of a backtrace; nothing for what is left out. What is not looked at yet has one of its own.
    pub fn of(&self, node: NodeId) -> Option<SiteNumber> {
        let pending = || self.names.first().map(|_| SiteNumber(0));
        self.known(node).unwrap_or_else(pending)
    }

    /// What it is called.
    pub fn name(&self, site: SiteNumber) -> &Rc<SiteName> {
        &self.names[site.0 as usize]
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// The number of a callsite of that name.
    pub fn find(&self, name: &SiteName) -> Option<SiteNumber> {
        self.numbers.get(name).copied().map(SiteNumber)
    }

    /// What was found by backtraces, added up by callsites: by their numbers.
    pub fn balances(&self, all: impl Iterator<Item = (NodeId, Balance)>) -> Vec<Balance> {
        let mut sums = vec![Balance::default(); self.count()];
        for (node, balance) in all {
            if let Some(site) = self.of(node) {
                sums[site.index()] += &balance;
            }
        }
        sums
    }
}

impl SiteNumber {
    /// From 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// That of this index.
    pub(crate) fn at(index: usize) -> Self {
        Self(index as u32)
    }
}
