//! Lists of objects on pages.

use lifetrace_human as human;
use lifetrace_report::style::{FAINT, NAME, STRONG};
use lifetrace_report::{Branching, Page};

use crate::object::Object;

/// One below the other; as steps, each further to the right.
pub(crate) fn list(page: &mut Page, heading: &str, objects: &[Object], are_steps: bool) {
    if objects.is_empty() {
        return;
    }
    page.line("");
    page.prose("", STRONG, heading);
    let rows: Vec<_> = objects
        .iter()
        .enumerate()
        .map(|(index, object)| Branching {
            amount: human::bytes(object.retained_bytes as f64),
            amount_style: FAINT,
            level: if are_steps { index } else { 0 },
            name: object.name(),
            source: object.place(),
            style: NAME,
        })
        .collect();
    page.branches(&rows);
}
