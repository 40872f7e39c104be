//! What may be asked next, where callsites say little by themselves.

use std::collections::BTreeMap;

use lifetrace_analysis::Place;
use lifetrace_human as human;

use super::super::page::Page;
use super::super::place::{function, nameless_object};
use crate::style::FAINT;

/// A callsite with less than this part of the total is no funnel.
const FUNNEL: f64 = 0.75;

/// With fewer backtraces it is seen at a glance who calls it.
const MANY_BACKTRACES: usize = 4;

/// Less than this part of the total may be without names before a word is said.
const NAMELESS: f64 = 0.25;

/// A callsite, as far as advice goes.
pub(super) struct Weighed<'a> {
    pub place: Place<'a>,
    /// Of the total.
    pub share: f64,
    pub backtraces: usize,
}

/// Writes what helps with these callsites, if anything does.
pub(super) fn render(page: &mut Page, callsites: &[Weighed<'_>]) {
    let sentences: Vec<_> =
        [of_names(callsites), of_wrapper(callsites)].into_iter().flatten().collect();
    if !sentences.is_empty() {
        page.line("");
        sentences.iter().for_each(|text| page.prose("", FAINT, text));
    }
}

/// Files that have no names of functions.
fn of_names(callsites: &[Weighed<'_>]) -> Option<String> {
    let mut objects = BTreeMap::<_, f64>::new();
    for callsite in callsites {
        if let Some(object) = nameless_object(&callsite.place) {
            *objects.entry(object).or_default() += callsite.share;
        }
    }
    let (object, share) =
        objects.into_iter().max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    (share >= NAMELESS).then(|| {
        format!(
            "{} of it is of functions of {object} without names: with its debug symbols installed, or fetched (`lifetrace \
             help symbols`), the next trace has them.",
            human::percent(share)
        )
    })
}

/// A function of the program's own through which nearly all goes.
fn of_wrapper(callsites: &[Weighed<'_>]) -> Option<String> {
    let first = callsites.first()?;
    let name = function(&first.place);
    let is_plain = |letter: char| letter.is_alphanumeric() || "_:.#".contains(letter);
    let is_named =
        matches!(first.place, Place::Known(_)) && nameless_object(&first.place).is_none();
    let is_funnel = first.share >= FUNNEL && first.backtraces >= MANY_BACKTRACES;
    (is_funnel && is_named && !name.is_empty() && name.chars().all(is_plain)).then(|| {
        format!("If {name} only hands out memory to others, --machinery {name} shows who asks it for that.")
    })
}

#[cfg(test)]
mod tests {
    use lifetrace_trace::event::Location;
    use lifetrace_trace::ids::LocationCode;

    use super::*;

    fn location(function: &str, file: &str) -> Location {
        let (defname, filename) = (function.into(), file.into());
        Location { defname, filename, line: 0, start_char: 0, end_char: 0 }
    }

    fn weighed(location: &Location, share: f64, backtraces: usize) -> Weighed<'_> {
        Weighed { place: Place::Known(location), share, backtraces }
    }

    #[test]
    fn a_wrapper_is_suspected_where_nearly_all_goes_through_it() {
        let wrapper = location("jv_mem_alloc", "/usr/lib/libjq.so.1");
        let advice = of_wrapper(&[weighed(&wrapper, 0.97, 40)]).unwrap();
        assert!(advice.contains("--machinery jv_mem_alloc shows"), "{advice}");
        assert_eq!(of_wrapper(&[weighed(&wrapper, 0.5, 40)]), None);
        assert_eq!(of_wrapper(&[weighed(&wrapper, 0.97, 2)]), None);
        assert_eq!(of_wrapper(&[weighed(&location("f<int (*)()>", ""), 1.0, 9)]), None);
        assert_eq!(of_wrapper(&[]), None);
        let unknown = Weighed { place: Place::Unknown(LocationCode(1)), share: 1.0, backtraces: 9 };
        assert_eq!(of_wrapper(&[unknown]), None);
    }

    #[test]
    fn a_file_without_symbols_is_named() {
        let (one, other) =
            (location("rg+0x2d60", "/usr/bin/rg"), location("rg+0x99", "/usr/bin/rg"));
        let advice = of_names(&[weighed(&one, 0.2, 1), weighed(&other, 0.2, 1)]).unwrap();
        assert!(advice.starts_with("40.0 % of it is of functions of rg without names"), "{advice}");
        assert_eq!(of_names(&[weighed(&one, 0.2, 1)]), None);
        assert_eq!(of_names(&[weighed(&location("main", "/usr/bin/rg"), 1.0, 1)]), None);
        assert_eq!(of_wrapper(&[weighed(&one, 1.0, 9)]), None);
    }
}
