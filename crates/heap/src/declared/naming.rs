//! Which declaration a name means.

use lifetrace_cmt::{Declaration, Kind, Name};
use rustc_hash::{FxHashMap, FxHashSet};

use super::sources::{Found, Sources};

/// A module is not called by more names.
const MOST_ALIASES: usize = 16;

/// A declaration, and the unit that has it.
pub(super) type Place = (usize, usize);

/// All declarations by their names.
pub(super) struct Names<'a> {
    units: &'a [Found],
    /// Those that could be meant.
    places: FxHashMap<&'a str, Vec<Place>>,
    aliases: FxHashMap<&'a str, &'a str>,
    /// Units whose implementation is known.
    implemented: FxHashSet<&'a str>,
}

impl<'a> Names<'a> {
    pub(super) fn of(sources: &'a Sources) -> Names<'a> {
        let units = &sources.units[..];
        let implemented = units.iter().filter(|it| !it.is_interface);
        let implemented = implemented.map(|it| it.unit.name.as_str()).collect();
        let (places, aliases) = (FxHashMap::default(), FxHashMap::default());
        let mut names = Names { units, places, aliases, implemented };
        let wanted: Vec<_> = names.units().collect();
        for (at, found) in wanted {
            for (number, declaration) in found.unit.declarations.iter().enumerate() {
                names.places.entry(&declaration.name).or_default().push((at, number));
            }
            for alias in &found.unit.aliases {
                if let Name::Of(to) = &alias.to {
                    names.aliases.insert(&alias.from, to);
                }
            }
        }
        names
    }

    /// Whether a file says what no other one says better: an interface says less than what implements it.
    fn is_wanted(&self, found: &Found) -> bool {
        !found.is_interface || !self.implemented.contains(found.unit.name.as_str())
    }

    /// All declarations of which there may be values.
    pub(super) fn declared(&self) -> impl Iterator<Item = Place> + '_ {
        self.units().flat_map(|(at, found)| {
            let all = found.unit.declarations.iter().enumerate();
            all.filter(|(_, it)| !it.is_required).map(move |(number, _)| (at, number))
        })
    }

    /// All units that are not interfaces of others.
    pub(super) fn units(&self) -> impl Iterator<Item = (usize, &'a Found)> + '_ {
        self.units.iter().enumerate().filter(|(_, it)| self.is_wanted(it))
    }

    pub(super) fn declaration(&self, (unit, number): Place) -> &'a Declaration {
        &self.units[unit].unit.declarations[number]
    }

    /// The declaration that is called so; `None` if there is none, or several.
    pub(super) fn find(&self, name: &str) -> Option<Place> {
        let mut name = name.to_owned();
        for _ in 0..MOST_ALIASES {
            match self.places.get(name.as_str()).map(Vec::as_slice) {
                Some(&[place]) => return Some(place),
                Some(_) => return None,
                None => name = self.without_alias(&name)?,
            }
        }
        None
    }

    /// With the longest module in front that has another name by that one.
    fn without_alias(&self, name: &str) -> Option<String> {
        let dots = name.rmatch_indices('.').map(|(at, _)| at);
        let mut modules = dots.map(|at| name.split_at(at));
        modules.find_map(|(module, rest)| Some(format!("{}{rest}", self.aliases.get(module)?)))
    }

    /// The one that says what a declaration's values are: that itself, or the one that it repeats.
    pub(super) fn origin(&self, place: Place) -> Place {
        let mut at = place;
        for _ in 0..MOST_ALIASES {
            let declaration = self.declaration(at);
            if !matches!(declaration.kind, Kind::Record(..) | Kind::Variant(..)) {
                return at;
            }
            let repeated =
                declaration.manifest.map(|it| &self.units[at.0].unit.types[it.0 as usize]);
            let Some(lifetrace_cmt::Type::Named(Name::Of(name), _)) = repeated else { return at };
            match self.find(name) {
                Some(next) if next != at => at = next,
                _ => return at,
            }
        }
        at
    }

    pub(super) fn types(&self, unit: usize) -> &'a [lifetrace_cmt::Type] {
        &self.units[unit].unit.types
    }
}

/// A name as people write it: `Stdlib__Map.Make.t` is `Map.Make.t`, `Dune__exe__Main.t` is `Main.t`, `Shop__Cart.t` is
/// `Shop.Cart.t`.
pub(super) fn for_people(name: &str) -> String {
    let name =
        ["Dune__exe__", "Stdlib__"].iter().find_map(|it| name.strip_prefix(it)).unwrap_or(name);
    let (unit, rest) = name.split_once('.').unwrap_or((name, ""));
    let unit = unit.replace("__", ".");
    if rest.is_empty() { unit } else { format!("{unit}.{rest}") }
}
