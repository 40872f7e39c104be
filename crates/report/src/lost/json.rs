//! What is lost, as fields of `--json`.

use lifetrace_analysis::Amount;
use lifetrace_analysis::lost::{Fate, Holder};
use serde::{Serialize, Serializer};

use super::Lost;
use crate::amounts::Quantity;
use crate::fields::{PlaceFields, Share};
use crate::views::callsites::Hottest;

#[derive(Serialize)]
struct Fields<'l, 'a> {
    bytes_read: u64,
    stopped_us: u64,
    lost: Quantity,
    #[serde(flatten)]
    share: Share,
    callsites_total: usize,
    callsites: Vec<Site<'l, 'a>>,
}

#[derive(Serialize)]
struct Site<'l, 'a> {
    #[serde(flatten)]
    place: PlaceFields<'a>,
    lost: Quantity,
    lost_with_others: Quantity,
    #[serde(flatten)]
    share: Share,
    held_by: Vec<By<'l, 'a>>,
    #[serde(flatten)]
    hottest: Option<&'l Hottest<'a>>,
}

#[derive(Serialize)]
struct By<'l, 'a> {
    holder: &'static str,
    name: Option<&'l str>,
    callsite: Option<PlaceFields<'a>>,
    held: Quantity,
}

impl Serialize for Lost<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fates = self.found.of_sites.iter().enumerate().take(self.top);
        let fields = Fields {
            bytes_read: self.looked.bytes.0,
            stopped_us: self.looked.micros,
            lost: Quantity(self.found.lost),
            share: Share::new(&self.found.share),
            callsites_total: self.found.of_sites.len(),
            callsites: fates.map(|(rank, fate)| self.site(rank, fate)).collect(),
        };
        fields.serialize(serializer)
    }
}

impl<'a> Lost<'a> {
    fn site<'l>(&'l self, rank: usize, fate: &'l Fate) -> Site<'l, 'a> {
        Site {
            place: PlaceFields(self.place(fate)),
            lost: Quantity(fate.lost),
            lost_with_others: Quantity(fate.with_others),
            share: Share::new(&fate.share),
            held_by: fate.held.iter().take(self.top).map(|it| self.by(it)).collect(),
            hottest: self.hottest.get(rank).and_then(Option::as_ref),
        }
    }

    fn by<'l>(&'l self, (holder, amount): &'l (Holder, Amount)) -> By<'l, 'a> {
        let (kind, name, site) = match holder {
            Holder::Variable(name) => ("variable", Some(&**name), None),
            Holder::Site(site) => ("block", None, Some(*site)),
            Holder::Kernel => ("kernel", None, None),
            Holder::Thread(name) => ("thread", Some(&**name), None),
            Holder::File(path) => ("file", Some(&**path), None),
            Holder::Memory => ("memory", None, None),
        };
        let callsite = site.map(|site| PlaceFields(self.places[site.index()]));
        By { holder: kind, name, callsite, held: Quantity(*amount) }
    }
}
