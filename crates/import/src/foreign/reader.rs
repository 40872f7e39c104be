//! Who reads a file.

/// A file of another profiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// As a sentence goes on: "is ...".
    pub what: &'static str,
    /// What can be done with it.
    pub reader: Reader,
}

/// Who reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// `lifetrace import`.
    Import,
    /// `lifetrace import`, after this.
    ImportAfter(&'static str),
    /// Nobody here; this does.
    Other(&'static str),
}

/// What makes a page of a recording of memray.
pub(crate) const MEMRAY: Reader = Reader::ImportAfter(
    "memray flamegraph -o page.html FILE (of the peak; with --leaks --temporal of all times), \
     then: lifetrace import page.html",
);

impl Foreign {
    /// What it is and what to do with it, as a sentence about the file goes on, which is called
    /// `name` in commands.
    pub fn advice(&self, name: &str) -> String {
        let what = self.what;
        match self.reader {
            Reader::Import => {
                format!("is {what}, not a trace\n  to make a trace of it: lifetrace import {name}")
            }
            Reader::ImportAfter(how) => {
                format!("is {what}, not a trace\n  to make a trace of it: {how}")
            }
            Reader::Other(who) => {
                format!("is {what}, which nothing here reads\n  who reads it: {who}")
            }
        }
    }
}
