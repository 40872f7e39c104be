//! Makes the names of one frame fit into a trace.
//!
//! A frame of C++ can have dozens of inlined functions with names of a kilobyte each; Memtrace's
//! format has 4096 bytes for all of a frame's locations, and would else keep nothing of them. What a
//! name can best do without are its template arguments; then its end; and of very many inlined
//! functions the ones in the middle.

use lifetrace_trace::event::Location;

/// Bytes that a frame's locations take at most, with room to spare for what the format adds.
const BUDGET: usize = 3600;

/// What a location takes beside its names.
const OVERHEAD: usize = 8;

/// A name that was cut keeps at least this many bytes.
const SHORTEST: usize = 60;

/// `locations`, shortened if they have to be.
pub(crate) fn fit(mut locations: Vec<Location>) -> Vec<Location> {
    if size(&locations) <= BUDGET {
        return locations;
    }
    for location in &mut locations {
        location.defname = without_arguments(&location.defname).into();
    }
    if size(&locations) > BUDGET {
        leave_out_the_middle(&mut locations);
        cut_names(&mut locations);
    }
    locations
}

fn size(locations: &[Location]) -> usize {
    locations.iter().map(|it| it.filename.len() + it.defname.len() + OVERHEAD).sum()
}

/// Removes locations until each of the others can keep a name of some length.
fn leave_out_the_middle(locations: &mut Vec<Location>) {
    let least = |it: &Location| it.filename.len() + it.defname.len().min(SHORTEST) + OVERHEAD;
    let mut total: usize = locations.iter().map(least).sum();
    while total > BUDGET && locations.len() > 2 {
        total -= least(&locations.remove(locations.len() / 2));
    }
}

/// Cuts all names to one length, the greatest that fits.
fn cut_names(locations: &mut [Location]) {
    let total = |longest: usize| -> usize {
        let of = |it: &Location| it.filename.len() + it.defname.len().min(longest) + OVERHEAD;
        locations.iter().map(of).sum()
    };
    let mut longest = BUDGET;
    while longest > SHORTEST && total(longest) > BUDGET {
        longest -= 20;
    }
    for location in locations {
        if location.defname.len() > longest {
            location.defname = cut(&location.defname, longest).into();
        }
        if location.filename.len() > BUDGET / 2 {
            location.filename = cut(&location.filename, BUDGET / 4).into();
        }
    }
}

fn cut(name: &str, longest: usize) -> String {
    let most = longest.saturating_sub('…'.len_utf8());
    let end = (0..=most.min(name.len())).rev().find(|&end| name.is_char_boundary(end));
    format!("{}…", &name[..end.unwrap_or(0)])
}

/// `name` with an ellipsis for what is between outermost angle brackets. Those of operators and arrows
/// are none; Rust's `<Type as Trait>::method` keeps its first.
fn without_arguments(name: &str) -> String {
    let mut kept = String::with_capacity(name.len());
    let mut depth = 0usize;
    for (at, character) in name.char_indices() {
        let before = &name[..at];
        let is_bracket = !before.ends_with("operator")
            && !before.ends_with("operator<")
            && !before.ends_with("operator>")
            && !before.ends_with('-');
        match character {
            '<' if is_bracket && at > 0 => {
                if depth == 0 {
                    kept.push_str("<…");
                }
                depth += 1;
            }
            '>' if is_bracket && depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    kept.push('>');
                }
            }
            _ if depth == 0 => kept.push(character),
            _ => {}
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(defname: &str) -> Location {
        Location {
            filename: "/usr/include/c++/12/bits/stl_vector.h".into(),
            line: 1,
            start_char: 0,
            end_char: 0,
            defname: defname.into(),
        }
    }

    #[test]
    fn what_fits_stays() {
        let locations = vec![location("std::vector<int>::push_back(int)"), location("main")];
        assert_eq!(fit(locations.clone()), locations);
    }

    #[test]
    fn arguments_go_first() {
        for (name, expected) in [
            ("std::map<int, std::vector<long>>::at(int)", "std::map<…>::at(int)"),
            ("operator<< <char>(std::ostream&)", "operator<< <…>(std::ostream&)"),
            ("Pointer<T>::operator->()", "Pointer<…>::operator->()"),
            (
                "<alloc::vec::Vec<T> as core::clone::Clone>::clone",
                "<alloc::vec::Vec<…> as core::clone::Clone>::clone",
            ),
            ("main", "main"),
        ] {
            assert_eq!(without_arguments(name), expected);
        }
    }

    #[test]
    fn however_many_and_long_they_fit_and_the_ends_stay() {
        for (count, length) in [(2, 5000), (40, 900), (300, 10), (300, 2000), (1, 100_000)] {
            let name = |index: usize| format!("f{index}_{}", "é".repeat(length / 2));
            let fitted = fit((0..count).map(|index| location(&name(index))).collect());
            assert!(size(&fitted) <= BUDGET && fitted.len() <= 255, "{count} of {length}");
            assert!(fitted[0].defname.starts_with("f0_"));
            assert!(fitted[fitted.len() - 1].defname.starts_with(&format!("f{}_", count - 1)));
        }
    }
}
