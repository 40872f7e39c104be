//! Which files a dataset has: a log of commits, each of which adds and removes files at once.
//!
//! A commit is a file of its own, whose name is the next number; it is there when somebody has created it, which two cannot.
//! So a dataset goes from one state to the next in one step, wherever its files are, and who reads it sees the files of one
//! state. Files that no commit names are of somebody who has not come to his commit, and do not count.
//!
//! From time to time a commit says all that there is (`is_base`): reading begins at the last of these.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::store::Store;
use crate::tables::Table;

/// Where commits are.
pub const FOLDER: &str = "_log";

/// The version of what is in a dataset. Others are refused.
pub const VERSION: u32 = 2;

/// So many commits after the last base the next one is a base.
const FROM_BASE: u64 = 64;

/// How often a commit is tried while others commit.
const TRIES: usize = 100;

/// A file of a dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Relative to the dataset.
    pub path: String,
    /// Of what.
    pub table: Table,
    /// All rows are of runs that began on this day.
    pub date: String,
    /// All rows are of this service.
    pub service: String,
    /// How many.
    pub rows: u64,
    /// How long the file is.
    pub bytes: u64,
    /// Which runs they are, of a file of the table of runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<i64>,
}

/// What a commit changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Files that are new.
    pub add: Vec<Entry>,
    /// Files that are no longer in the dataset, by their paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
}

/// As it is written.
#[derive(Debug, Serialize, Deserialize)]
struct Commit {
    version: u32,
    /// Then `add` is all that there is.
    #[serde(default)]
    is_base: bool,
    #[serde(flatten)]
    change: Change,
}

/// The files of a dataset after a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The number of the commit; 0 if there is none.
    pub number: u64,
    base: u64,
    files: BTreeMap<String, Entry>,
}

impl State {
    /// Reads the last one.
    ///
    /// # Errors
    /// If it cannot be read, or is of another version.
    pub async fn read(store: &Store) -> Result<State> {
        let commits = store.list(FOLDER).await?;
        let names: Vec<_> = commits.iter().filter_map(|(path, _)| Name::of(path)).collect();
        let base = names.iter().rposition(|name| name.is_base).unwrap_or(0);
        let mut state = State::default();
        for name in &names[base..] {
            state.follow(store, *name).await?;
        }
        Ok(state)
    }

    async fn follow(&mut self, store: &Store, name: Name) -> Result<()> {
        let path = name.path();
        let url = store.url(&path);
        let bytes = store.read(&path).await?.with_context(|| format!("{url}: it is gone"))?;
        let commit: Commit = serde_json::from_slice(&bytes)
            .with_context(|| format!("{url}: is no commit of a dataset"))?;
        if commit.version != VERSION {
            bail!(
                "{url}: the dataset is of version {}, and this program knows version {VERSION}",
                commit.version
            );
        }
        if self.number != 0 && name.number != self.number + 1 {
            bail!("{url}: the commit before it, number {}, is missing", self.number + 1);
        }
        if commit.is_base {
            (self.base, self.files) = (name.number, BTreeMap::new());
        }
        self.apply(&commit.change);
        self.number = name.number;
        Ok(())
    }

    fn apply(&mut self, change: &Change) {
        change.remove.iter().for_each(|path| drop(self.files.remove(path)));
        self.files.extend(change.add.iter().map(|entry| (entry.path.clone(), entry.clone())));
    }

    /// Commits what `change` makes of the state, which is read anew whenever somebody else was faster.
    ///
    /// # Errors
    /// Those of `change`, and if it cannot be written.
    pub async fn commit(
        store: &Store,
        mut change: impl FnMut(&State) -> Result<Change>,
    ) -> Result<State> {
        for _ in 0..TRIES {
            let mut state = State::read(store).await?;
            let change = change(&state)?;
            if change == Change::default() && state.number != 0 {
                return Ok(state);
            }
            state.apply(&change);
            state.number += 1;
            if state.write(store, change).await? {
                return Ok(state);
            }
        }
        bail!("{}: others commit all the time; nothing was changed", store.url(FOLDER))
    }

    async fn write(&mut self, store: &Store, change: Change) -> Result<bool> {
        let is_base = self.number - self.base >= FROM_BASE;
        let change = match is_base {
            true => Change { add: self.files.values().cloned().collect(), remove: Vec::new() },
            false => change,
        };
        let commit = Commit { version: VERSION, is_base, change };
        let name = Name { number: self.number, is_base };
        // Whoever has read the same state calls the next commit the same.
        store.create(&name.path(), serde_json::to_vec(&commit)?).await
    }

    /// Keeps these files alone, for who reads.
    pub fn retain(&mut self, is_wanted: impl Fn(&Entry) -> bool) {
        self.files.retain(|_, entry| is_wanted(entry));
    }

    /// The files of a table, in the order of their paths.
    pub fn files(&self, table: Table) -> impl Iterator<Item = &Entry> {
        self.files.values().filter(move |entry| entry.table == table)
    }

    /// The runs that are in it.
    pub fn runs(&self) -> BTreeSet<i64> {
        self.files(Table::Runs).flat_map(|entry| entry.runs.iter().copied()).collect()
    }

    /// All files.
    pub fn all(&self) -> impl Iterator<Item = &Entry> {
        self.files.values()
    }

    /// Whether there is such a file.
    pub fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }
}

/// What a commit's file is called.
#[derive(Clone, Copy)]
struct Name {
    number: u64,
    is_base: bool,
}

impl Name {
    fn of(path: &str) -> Option<Name> {
        let name = path.rsplit('/').next()?;
        let (number, is_base) = match name.strip_suffix(".base.json") {
            Some(number) => (number, true),
            None => (name.strip_suffix(".json")?, false),
        };
        Some(Name { number: number.parse().ok()?, is_base })
    }

    fn path(self) -> String {
        let suffix = if self.is_base { "base.json" } else { "json" };
        format!("{FOLDER}/{:012}.{suffix}", self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: usize) -> Entry {
        Entry {
            path: format!("samples/{number}.parquet"),
            table: Table::Samples,
            date: "2026-11-28".to_owned(),
            service: "web".to_owned(),
            rows: 1,
            bytes: 1,
            runs: Vec::new(),
        }
    }

    /// Each of those who commit at the same time is in the state, in a store that has no folders to lock.
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn several_commit_at_once() {
        let store = Store::in_memory();
        let tasks = (0..8).map(|task| {
            let store = store.clone();
            tokio::spawn(async move {
                for number in 0..10 {
                    let add = vec![entry(task * 10 + number)];
                    let change = |_: &State| Ok(Change { add: add.clone(), remove: Vec::new() });
                    State::commit(&store, change).await.unwrap();
                }
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        let state = State::read(&store).await.unwrap();
        assert_eq!((state.number, state.all().count()), (80, 80));
        let commits = store.list(FOLDER).await.unwrap();
        let bases = commits.iter().filter(|(name, _)| name.ends_with(".base.json"));
        assert_eq!((commits.len(), bases.count()), (80, 1));
        // What is read from the base on is the same as all that was committed.
        store.remove(&Name { number: 1, is_base: false }.path()).await.unwrap();
        assert_eq!(State::read(&store).await.unwrap(), state);
        store.remove(&Name { number: 79, is_base: false }.path()).await.unwrap();
        let told = State::read(&store).await.unwrap_err().to_string();
        assert!(told.contains("number 79, is missing"), "{told}");
    }
}
