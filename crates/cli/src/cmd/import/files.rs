//! Names for the addresses of an imported profile, from the files that the program was made of.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use lifetrace_import::naming::{Nameless, Resolver, Spot};
use lifetrace_recorder::{FileOnDisk, MappedPlace, SymbolsOnDisk, Unfound, Unnamed};
use lifetrace_trace::event::Location;
use rustc_hash::FxHashMap;

/// A file's path and build id.
type Key = (String, Vec<u8>);

/// Looks for names in files on this machine.
pub struct Files {
    symbols: SymbolsOnDisk,
    found: FxHashMap<Key, Result<FileOnDisk, Nameless>>,
}

impl Files {
    /// # Errors
    /// If one of the folders is none.
    pub fn new(folders: Vec<PathBuf>) -> anyhow::Result<Self> {
        if let Some(none) = folders.iter().find(|folder| !folder.is_dir()) {
            bail!("--symbols {}: is no folder", none.display());
        }
        let symbols = SymbolsOnDisk::start(folders).context("no thread for symbols")?;
        Ok(Self { symbols, found: FxHashMap::default() })
    }
}

impl Resolver for Files {
    fn resolve(&mut self, spot: Spot<'_>) -> Result<Vec<Location>, Nameless> {
        let Self { symbols, found } = self;
        let key = (spot.path.to_owned(), spot.build_id.to_vec());
        let file = found.entry(key).or_insert_with(|| find(symbols, spot));
        let file = file.as_ref().map_err(|why| *why)?;
        let Spot { offset, address, is_stated, start, .. } = spot;
        let place = MappedPlace { offset, address, is_stated, start };
        symbols.locations(file, place).map_err(|why| match why {
            Unnamed::Outside => Nameless::Outside,
            Unnamed::NoSymbol => Nameless::NoSymbol,
        })
    }
}

fn find(symbols: &SymbolsOnDisk, spot: Spot<'_>) -> Result<FileOnDisk, Nameless> {
    symbols.find(Path::new(spot.path), spot.build_id).map_err(|why| match why {
        Unfound::Nowhere => Nameless::NoFile,
        Unfound::OtherBuild => Nameless::OtherFile,
    })
}
