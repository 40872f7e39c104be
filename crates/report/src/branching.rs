//! The rows of a tree: an amount, and to the right of it a name, the further the deeper it is.
//!
//! Where there is little room, names are below their amounts, and steps to the right end sooner.

use anstyle::Style;
use lifetrace_human as human;

use super::columns::columns;
use super::page::Page;
use super::shorten;
use crate::style::{FAINT, styled};

/// Columns between amounts and names.
const GUTTER: usize = 2;
/// Columns that a name has, however deep it is.
const NAME: usize = 30;
/// A level deeper is so many columns to the right, down to the deepest.
const STEP: usize = 2;
const DEEPEST: usize = 24;
/// So many levels can be told apart beside amounts, or names go below.
const LEVELS: usize = 8;
/// Below its amount a name begins here.
const BELOW: usize = 9;

/// A row of a tree.
pub struct Branching {
    /// What it has.
    pub amount: String,
    /// How that looks.
    pub amount_style: Style,
    /// How deep it is.
    pub level: usize,
    /// The function.
    pub name: String,
    /// Where that is, or nothing.
    pub source: String,
    /// How the name looks.
    pub style: Style,
}

impl Page {
    /// The rows of a tree.
    pub fn branches(&mut self, rows: &[Branching]) {
        let amount = rows.iter().map(|row| columns(&row.amount)).max().unwrap_or(0) + GUTTER;
        let deepest = rows.iter().map(|row| row.level).max().unwrap_or(0);
        let is_beside = self.fits(amount + NAME + STEP * deepest.min(LEVELS));
        let start = if is_beside { amount } else { BELOW };
        let room = self.room(start + NAME);
        let deepest = room.map_or(DEEPEST, |room| DEEPEST.min(room / STEP));
        for row in rows {
            let indent = STEP * row.level.min(deepest);
            let name = named(row, self.room(start + indent));
            let amount = styled(row.amount_style, &row.amount);
            if is_beside {
                let padding = start - columns(&row.amount) + indent;
                self.line(format_args!("{amount}{:padding$}{name}", ""));
            } else {
                self.line(amount);
                self.line(format_args!("{:indent$}{name}", "", indent = start + indent));
            }
        }
    }
}

fn named(row: &Branching, room: Option<usize>) -> String {
    let (name, source) = (human::printable(&row.name), human::printable(&row.source));
    let (name, source) = shorten::place(&name, &source, room);
    let source = if source.is_empty() { source } else { format!("  {source}") };
    format!("{}{}", styled(row.style, name), styled(FAINT, source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::{PLAIN, Width};

    fn check(width: Width, level: usize, expected: &[&str]) {
        let row = |level| Branching {
            amount: "12 ± 3 MiB".to_owned(),
            amount_style: PLAIN,
            level,
            name: "library::of_many::parts::in_it::run".to_owned(),
            source: "main.rs:7".to_owned(),
            style: PLAIN,
        };
        let mut page = Page::new(width);
        page.branches(&[row(0), row(level)]);
        let plain = anstream::adapter::strip_str(&page.text).to_string();
        assert_eq!(plain.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn names_are_beside_amounts_or_below() {
        let whole = "library::of_many::parts::in_it::run  main.rs:7";
        let beside = format!("12 ± 3 MiB  {whole}");
        check(Width::ENDLESS, 1, &[&beside, &format!("12 ± 3 MiB    {whole}")]);
        let short = "library::of_ma…::run  main.rs:7";
        let (first, second) = (format!("         {short}"), format!("         {short}"));
        check(Width::of(40), 3, &["12 ± 3 MiB", &first, "12 ± 3 MiB", &second]);
    }

    #[test]
    fn what_is_very_deep_goes_no_further_to_the_right() {
        let whole = "library::of_many::parts::in_it::run  main.rs:7";
        let deep = format!("12 ± 3 MiB  {:48}{whole}", "");
        check(Width::ENDLESS, 300, &[&format!("12 ± 3 MiB  {whole}"), &deep]);
    }
}
