//! Tables that fit: of what does not, whole columns go, never a part of a number.
//!
//! From the roomiest layout to the narrowest: bars become shorter and go; shares go; names go below their
//! rows, or above them; other columns go, those that say least first. What has gone is told at the foot.

mod tail;

use super::breaking;
use super::chart::bar;
use super::columns::{columns, padded};
use crate::style::{FAINT, styled};

use lifetrace_human as human;
pub use tail::Tail;
use tail::{BELOW, ended};

/// Columns between those of a table.
const GUTTER: usize = 3;

/// Names at the ends of rows are worth no less, in columns.
const TAIL: usize = 30;

/// Below its label a row begins here, in columns.
const BELOW_LABEL: usize = 2;

/// Bars are this long, or shorter where there is less room.
const BAR: usize = 24;
const LEAST_BAR: usize = 3;

/// When columns of shares [go](Column::goes).
const SHARE: u8 = 9;

/// Rows of cells, each with a name or a note at its end if there is one.
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<(Vec<Cell>, Tail)>,
    /// The heading of what is at the ends of rows.
    tails: &'static str,
    /// How many more rows there would be.
    more: usize,
}

/// What the cells of a column have in common.
#[derive(Clone, Copy)]
pub struct Column {
    head: &'static str,
    /// What it is called where it is left out.
    name: &'static str,
    is_right: bool,
    /// Of the same thing as the column before, which has the heading if it is there.
    continues: bool,
    /// Those with the greatest number go first; 0 stays.
    goes: u8,
    /// A first column of texts, which may go above its rows.
    is_label: bool,
    is_bar: bool,
}

/// What is in a column of a row.
pub enum Cell {
    /// As it is to be shown.
    Text(String),
    /// A share as a bar.
    Bar(f64),
}

/// A way to arrange a table.
#[derive(Clone)]
struct Layout {
    bar: usize,
    /// Numbers of the columns that are there.
    kept: Vec<usize>,
    /// Names are below rows, and rows below their labels.
    is_stacked: bool,
}

impl Column {
    /// Of texts or amounts, which begin in one column.
    pub fn left(head: &'static str) -> Self {
        let (is_right, continues, is_label, is_bar) = (false, false, false, false);
        Self { head, name: head, is_right, continues, goes: 0, is_label, is_bar }
    }

    /// Of numbers, which end in one column.
    pub fn right(head: &'static str) -> Self {
        Self { is_right: true, ..Self::left(head) }
    }

    /// Of shares, which may go where there is no room.
    pub fn share(head: &'static str) -> Self {
        Self { name: "shares", goes: SHARE, ..Self::right(head) }
    }

    /// Of bars; one that tells the same as the column before.
    pub fn bar() -> Self {
        Self { is_bar: true, continues: true, ..Self::left("") }
    }

    /// The first column, whose texts may go above their rows.
    pub fn label(self) -> Self {
        Self { is_label: true, ..self }
    }

    /// Has the column left out where room is short; those with greater numbers go first.
    pub fn goes(self, goes: u8) -> Self {
        Self { goes, ..self }
    }

    /// Has the column go on with what the one before it is of.
    pub fn continues(self) -> Self {
        Self { continues: true, ..self }
    }

    /// Names the column in the line that says what was left out.
    pub fn called(self, name: &'static str) -> Self {
        Self { name, ..self }
    }
}

impl From<String> for Cell {
    /// Shown as [`printable`](human::printable) text.
    fn from(text: String) -> Self {
        Self::Text(human::printable(&text).into_owned())
    }
}

impl Cell {
    fn text(&self, bar_columns: usize) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Bar(share) => bar(*share, bar_columns),
        }
    }
}

impl Table {
    /// Without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new(), tails: "", more: 0 }
    }

    /// With a heading for what is at the ends of rows.
    pub fn with_tails(self, head: &'static str) -> Self {
        Self { tails: head, ..self }
    }

    /// Of which so many rows are not shown.
    pub fn with_more(self, more: usize) -> Self {
        Self { more, ..self }
    }

    /// Adds a row: a cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>, tail: Tail) {
        let cells: Vec<_> = cells.into_iter().collect();
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push((cells, tail.printable()));
    }

    /// The lines in so many columns, or as long as they need to be; and the names of the columns that
    /// there was no room for.
    pub fn fitted(&self, room: Option<usize>) -> (Vec<String>, Vec<&'static str>) {
        let mut layouts = self.layouts();
        let fits = |layout: &Layout| room.is_none_or(|room| self.needs(layout) <= room);
        let found = layouts.iter().position(fits).unwrap_or(layouts.len() - 1);
        let layout = layouts.swap_remove(found);
        (self.lines(&layout, room), self.left_out(&layout))
    }

    /// From the roomiest to the narrowest.
    fn layouts(&self) -> Vec<Layout> {
        let kept = |is_kept: &dyn Fn(&Column) -> bool| {
            (0..self.columns.len()).filter(|&number| is_kept(&self.columns[number])).collect()
        };
        let whole = Layout { bar: BAR, kept: kept(&|_| true), is_stacked: false };
        let shorter = (LEAST_BAR..=BAR).rev().map(|bar| Layout { bar, ..whole.clone() });
        let mut layouts: Vec<_> = shorter.collect();
        let without = |least: u8, is_stacked| Layout {
            bar: 0,
            kept: kept(&|it| !it.is_bar && (it.goes == 0 || it.goes < least)),
            is_stacked,
        };
        layouts.extend([without(u8::MAX, false), without(SHARE, false)]);
        layouts.extend((1..=SHARE).rev().map(|least| without(least, true)));
        layouts
    }

    /// Columns that the widest line takes at least. Notes do not count: they go below.
    fn needs(&self, layout: &Layout) -> usize {
        let row = self.row_columns(layout);
        let label = if layout.is_stacked && self.has_label() { BELOW_LABEL } else { 0 };
        let tails = self.rows.iter().filter(|(_, tail)| !matches!(tail, Tail::Note(_)));
        let tail = tails.map(|(_, tail)| tail.columns()).max().unwrap_or(0);
        match (layout.is_stacked, tail) {
            (true, _) | (_, 0) => label + row,
            (false, tail) => row + GUTTER + tail.max(columns(self.tails)).min(TAIL),
        }
    }

    fn has_label(&self) -> bool {
        self.columns.first().is_some_and(|column| column.is_label)
    }

    /// The columns that are in a line, from the first.
    fn beside<'l>(&self, layout: &'l Layout) -> &'l [usize] {
        &layout.kept[usize::from(layout.is_stacked && self.has_label())..]
    }

    /// The widths of the columns that are in a line.
    fn widths(&self, layout: &Layout) -> Vec<usize> {
        let heads = self.heads(layout);
        let beside = self.beside(layout).iter().zip(heads);
        let width = |(&number, head): (&usize, &str)| {
            let cells = self.rows.iter().map(|(cells, _)| columns(&cells[number].text(layout.bar)));
            cells.max().unwrap_or(0).max(columns(head))
        };
        beside.map(width).collect()
    }

    fn row_columns(&self, layout: &Layout) -> usize {
        let widths = self.widths(layout);
        widths.iter().sum::<usize>() + GUTTER * widths.len().saturating_sub(1)
    }

    /// The headings of the columns that are in a line: one for those that are of the same thing.
    fn heads(&self, layout: &Layout) -> Vec<&'static str> {
        let mut heads = Vec::new();
        let mut last = "";
        for &number in self.beside(layout) {
            let column = &self.columns[number];
            let is_told = column.continues && heads.last().is_some() && column.head == last;
            heads.push(if is_told { "" } else { column.head });
            if !column.is_bar {
                last = column.head;
            }
        }
        heads
    }

    fn lines(&self, layout: &Layout, room: Option<usize>) -> Vec<String> {
        let widths = self.widths(layout);
        let align = |texts: Vec<String>| self.aligned(layout, &widths, texts);
        let indent = if layout.is_stacked && self.has_label() { BELOW_LABEL } else { 0 };
        let head = align(self.heads(layout).into_iter().map(str::to_owned).collect());
        let head = format!("{:indent$}{head}", "");
        let mut lines = self.headed(layout, &head);
        for (cells, tail) in &self.rows {
            if indent > 0 {
                let label = breaking::sentence(&cells[0].text(0), room.unwrap_or(usize::MAX));
                lines.extend(label);
            }
            let texts = self.beside(layout).iter().map(|&number| cells[number].text(layout.bar));
            let row = format!("{:indent$}{}", "", align(texts.collect()));
            lines.extend(ended(&row, tail, layout.is_stacked, room, self.note_indent(&widths)));
        }
        lines
            .extend((self.more > 0).then(|| styled(FAINT, format_args!("and {} more", self.more))));
        lines
    }

    /// The lines of the headings.
    fn headed(&self, layout: &Layout, head: &str) -> Vec<String> {
        let faint = |line: &str| styled(FAINT, line.trim_end());
        match layout.is_stacked {
            _ if self.tails.is_empty() => vec![faint(head)],
            true => vec![faint(head), faint(&format!("{:BELOW$}{}", "", self.tails))],
            false => vec![faint(&format!("{head}{:GUTTER$}{}", "", self.tails))],
        }
    }

    /// Below its row a note begins where the second column does.
    fn note_indent(&self, widths: &[usize]) -> usize {
        widths.first().map_or(0, |first| first + GUTTER)
    }

    fn aligned(&self, layout: &Layout, widths: &[usize], texts: Vec<String>) -> String {
        let cells = self.beside(layout).iter().zip(widths).zip(texts);
        let cells = cells
            .map(|((&number, &width), text)| padded(&text, width, self.columns[number].is_right));
        cells.collect::<Vec<_>>().join(&" ".repeat(GUTTER))
    }

    fn left_out(&self, layout: &Layout) -> Vec<&'static str> {
        let mut names = Vec::new();
        for (number, column) in self.columns.iter().enumerate() {
            let is_out = !column.is_bar && !layout.kept.contains(&number);
            if is_out && !names.contains(&column.name) {
                names.push(column.name);
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(table: &Table, room: Option<usize>, expected: &[&str], left_out: &[&str]) {
        let (lines, found) = table.fitted(room);
        let plain = |line: &String| anstream::adapter::strip_str(line).to_string();
        assert_eq!(lines.iter().map(plain).collect::<Vec<_>>(), expected);
        assert_eq!(found, left_out);
    }

    /// Of a name, a share with its bar, and two amounts.
    fn amounts(tail: Tail) -> Table {
        let mut table = Table::new([
            Column::left("name").label(),
            Column::share("live"),
            Column::bar(),
            Column::left("live").continues(),
            Column::right("freed").goes(1),
        ]);
        let text = |text: &str| Cell::from(text.to_owned());
        let cells = [text("thread of many"), text("50 %"), Cell::Bar(0.5), text("5.9 ± 0.8 MiB")];
        table.row(cells.into_iter().chain([text("12 KiB")]), tail);
        table
    }

    #[test]
    fn bars_and_shares_go_first_then_names_move_then_columns_go() {
        let table = amounts(Tail::None);
        check(
            &table,
            None,
            &[
                "name             live                                   freed",
                "thread of many   50 %   ████████████   5.9 ± 0.8 MiB   12 KiB",
            ],
            &[],
        );
        let shorter = [
            "name             live                             freed",
            "thread of many   50 %   ██████   5.9 ± 0.8 MiB   12 KiB",
        ];
        check(&table, Some(55), &shorter, &[]);
        let bare = [
            "name             live                    freed",
            "thread of many   50 %   5.9 ± 0.8 MiB   12 KiB",
        ];
        check(&table, Some(47), &bare, &[]);
        let head = "name             live             freed";
        let row = "thread of many   5.9 ± 0.8 MiB   12 KiB";
        check(&table, Some(39), &[head, row], &["shares"]);
        let below = ["  live             freed", "thread of many", "  5.9 ± 0.8 MiB   12 KiB"];
        check(&table, Some(38), &below, &["shares"]);
        let least = ["  live", "thread of many", "  5.9 ± 0.8 MiB"];
        check(&table, Some(23), &least, &["shares", "freed"]);
        // An amount is not cut, however little room there is.
        let least = ["  live", "thread of", "many", "  5.9 ± 0.8 MiB"];
        check(&table, Some(10), &least, &["shares", "freed"]);
    }

    #[test]
    fn wide_characters_keep_columns_in_line() {
        let mut table = Table::new([Column::left("name"), Column::left("size")]);
        for name in ["メモリ", "main"] {
            let cells = [name, "8 KiB"].map(|it| Cell::from(it.to_owned()));
            table.row(cells, Tail::None);
        }
        check(&table, Some(20), &["name     size", "メモリ   8 KiB", "main     8 KiB"], &[]);
    }

    #[test]
    fn tails_go_where_there_is_room() {
        let place = || Tail::Place { name: "a::b::c::run".repeat(3), source: "m.rs:7".to_owned() };
        let mut table = Table::new([Column::right("n"), Column::left("size")]).with_tails("what");
        table.row(["7", "8 KiB"].map(|it| Cell::from(it.to_owned())), place());
        let whole = format!("7   8 KiB   {}  m.rs:7", "a::b::c::run".repeat(3));
        check(&table, None, &["n   size    what", &whole], &[]);
        let beside = ["n   size    what", "7   8 KiB   a::b::c::runa::b…::run  m.rs:7"];
        check(&table, Some(42), &beside, &[]);
        let below =
            ["n   size", "         what", "7   8 KiB", "         a::b::c::runa::b…::run  m.rs:7"];
        check(&table, Some(40), &below, &[]);
    }

    #[test]
    fn notes_go_where_there_is_room() {
        let mut table = Table::new([Column::left(""), Column::left("bytes")]);
        let row = |cells: [&str; 2]| cells.map(|it| Cell::from(it.to_owned()));
        table.row(row(["peak", "10 B"]), Tail::Note("at noon of it".to_owned()));
        table.row(row(["live", "200 B"]), Tail::Note(String::new()));
        check(
            &table,
            Some(40),
            &["       bytes", "peak   10 B    at noon of it", "live   200 B"],
            &[],
        );
        let below =
            ["       bytes", "peak   10 B", "       at noon", "       of it", "live   200 B"];
        check(&table, Some(16), &below, &[]);
    }
}
