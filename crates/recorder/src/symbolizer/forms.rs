//! In which forms a file has debug information, by the names and the headers of its sections.

use std::fs::File;

use object::read::ReadCache;
use object::{CompressionFormat, Object, ObjectSection};

/// What there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Forms {
    /// Functions and lines.
    pub(super) has_any: bool,
    /// Something in a form that the first reader passes over.
    pub(super) is_special: bool,
    /// A section that is compressed by nobody knows what.
    pub(super) is_sealed: bool,
}

impl Forms {
    pub(super) fn of(file: &File) -> Forms {
        let cache = ReadCache::new(file);
        let Ok(object) = object::File::parse(&cache) else { return Forms::default() };
        let mut forms = Forms::default();
        for section in object.sections() {
            if let Ok(name) = section.name()
                && let Some(kind) = kind(name)
            {
                let compression = section.compressed_file_range().map(|range| range.format);
                let compression = compression.unwrap_or(CompressionFormat::Unknown);
                forms.note(name, kind, section.size(), compression);
            }
        }
        forms.is_special |= object.gnu_debugaltlink().is_ok_and(|link| link.is_some());
        forms
    }

    fn note(&mut self, name: &str, kind: &str, size: u64, compression: CompressionFormat) {
        self.has_any |= kind == "info" && size > 0;
        self.is_sealed |= compression == CompressionFormat::Unknown;
        // Where functions and lines are in files of their own, their addresses stay in this section.
        self.is_special |= kind == "addr"
            || name.starts_with(".z")
            || !matches!(compression, CompressionFormat::None | CompressionFormat::Zlib);
    }
}

/// What a section of debug information has.
fn kind(name: &str) -> Option<&str> {
    name.strip_prefix(".debug_").or_else(|| name.strip_prefix(".zdebug_"))
}
