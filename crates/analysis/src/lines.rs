//! The lines of frames, as filters see them.

use lifetrace_trace::ids::LocationCode;

use crate::filter::Line;
use crate::machinery::Machinery;
use crate::names::{NamedFrame, Names, expand};

/// The lines of one physical frame as filters see them, innermost first; one at least.
pub fn lines<'a>(
    names: &'a impl Names,
    machinery: &Machinery,
    code: LocationCode,
) -> impl Iterator<Item = Line<'a>> {
    let (module, kind) = (names.module(code), names.kind(code));
    expand(names, code).map(move |frame| {
        let is_machinery = machinery.has(&frame.place, kind, module);
        Line { frame: NamedFrame { is_machinery, ..frame }, module }
    })
}
