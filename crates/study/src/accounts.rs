//! What views by backtraces are made of: one trace, or several added up.

use lifetrace_analysis::account::Balance;
use lifetrace_analysis::call_tree::{CallTree, NodeId};
use lifetrace_analysis::filter::View;
use lifetrace_analysis::{Estimate, Metric, Names, Shaped, Sites, Summary};

use crate::open::Trace;
use crate::origin::Origin;
use crate::study::Study;

/// Backtraces, what they are called, and what each has.
pub trait Accounts {
    /// Who knows the names.
    type Names: Names;

    /// All backtraces.
    fn tree(&self) -> &CallTree;

    /// What their frames are called.
    fn names(&self) -> &Self::Names;

    /// What was chosen of each.
    fn balances(&self) -> impl Iterator<Item = (NodeId, Balance)>;

    /// The totals.
    fn summary(&self) -> Summary;

    /// What is not known of them.
    fn origin(&self) -> Origin;

    /// How backtraces are to look.
    fn view(&self) -> &View;

    /// The callsites, and what each backtrace, as it looks, has of a metric.
    fn sites(&self, metric: Metric) -> (Sites<'_>, Vec<(NodeId, Estimate)>) {
        self.sites_as(self.view(), metric)
    }

    /// The callsites, and what each backtrace has of a metric, where backtraces look as `view` says.
    fn sites_as(&self, view: &View, metric: Metric) -> (Sites<'_>, Vec<(NodeId, Estimate)>) {
        let sites = Sites::new(Shaped::new(self.tree(), self.names(), view));
        let balances = self.balances().map(|(node, balance)| (node, metric.of(&balance)));
        let values = sites.shaped().merge(balances);
        (sites, values)
    }
}

impl Accounts for Study {
    type Names = Trace;

    fn tree(&self) -> &CallTree {
        self.reading.profile.tree()
    }

    fn names(&self) -> &Trace {
        &self.reading.trace
    }

    fn balances(&self) -> impl Iterator<Item = (NodeId, Balance)> {
        self.reading.profile.balances()
    }

    fn summary(&self) -> Summary {
        self.reading.profile.summary()
    }

    fn origin(&self) -> Origin {
        self.reading.origin()
    }

    fn view(&self) -> &View {
        &self.choice.view
    }
}
