//! Debug information in the forms that blazesym passes over: compressed by zstd or as gcc once did
//! (`.zdebug_info`), split off into files beside (`.dwo`, `.dwp`), or shared with other files by links
//! that it cannot follow.

use std::fs::File;
use std::path::Path;

use addr2line::Loader;
use lifetrace_trace::event::Location;

use super::forms::Forms;
use super::{ObjectFile, elsewhere, names};
use crate::modules::FileAddress;
use crate::notice::Unread;

/// A module's debug information, held in memory as long as this is.
pub(super) struct Thorough {
    loaders: Vec<Loader>,
    /// Whether there is any, in whatever form.
    is_any: bool,
}

impl Thorough {
    /// Reads what there is in such forms.
    pub(super) fn open(object: &ObjectFile) -> Thorough {
        let mut thorough = Thorough { loaders: Vec::new(), is_any: false };
        for path in object.with_debug_info() {
            if let Ok(file) = File::open(&path) {
                let forms = Forms::of(&file);
                thorough.is_any |= forms.has_any;
                thorough.loaders.extend(load(object, &path, &file, forms));
            }
        }
        thorough
    }

    /// Whether blazesym would miss something.
    pub(super) fn is_needed(&self) -> bool {
        !self.loaders.is_empty()
    }

    /// Notes that blazesym makes nothing of the debug information, if there is any.
    pub(super) fn complain(&self, object: &ObjectFile) {
        if self.is_any {
            object.note_unread(Unread::Damaged);
        }
    }

    /// What is at an address, if lines are known there; by the name of `symbol` if debug information
    /// has none for the function.
    pub(super) fn find(
        &self,
        object: &ObjectFile,
        address: FileAddress,
        symbol: Option<&str>,
    ) -> Option<Vec<Location>> {
        self.loaders.iter().find_map(|loader| frames(loader, object, address, symbol))
    }
}

fn load(object: &ObjectFile, path: &Path, file: &File, forms: Forms) -> Option<Loader> {
    if forms.is_sealed {
        object.note_unread(Unread::Compressed);
    }
    if !forms.has_any || !forms.is_special || forms.is_sealed {
        return None;
    }
    let shared = elsewhere::shared(file, path.parent());
    if shared == Some(Err(())) {
        object.note_unread(Unread::Shared);
    }
    let loader = Loader::new_with_sup(path, shared.and_then(Result::ok));
    loader.inspect_err(|_| object.note_unread(Unread::Damaged)).ok()
}

fn frames(
    loader: &Loader,
    object: &ObjectFile,
    address: FileAddress,
    symbol: Option<&str>,
) -> Option<Vec<Location>> {
    let mut inward = Vec::new();
    let mut frames = loader.find_frames(address.0).ok()?;
    while let Some(frame) = frames.next().ok()? {
        let place = frame.location?;
        let function = frame.function.and_then(|name| Some(name.demangle().ok()?.into_owned()));
        if function.is_none() {
            // It has lines in any case, but functions are in the file that is missing.
            object.note_unread(Unread::Split);
        }
        let name = function.or_else(|| symbol.map(str::to_owned))?;
        let (line, column) = (place.line.unwrap_or(0), place.column.unwrap_or(0));
        inward.push(names::placed(object, &name, place.file, line, column));
    }
    inward.reverse();
    (!inward.is_empty()).then(|| super::fit(inward))
}
