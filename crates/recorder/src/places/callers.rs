//! Who has asked for memory, and what is to be said of it beside.

use lifetrace_trace::ids::LocationCode;

use super::{CodeLocation, Places};
use crate::mappings::Named;

impl Places {
    /// The names of a place, and of the file that it is in.
    pub(crate) fn named(&self, code: LocationCode) -> Named {
        let place = code.0.checked_sub(self.first).and_then(|at| self.places.get(at as usize));
        let path = match place {
            Some(CodeLocation::InModule(module, _)) => self.objects[module].name(),
            _ => "",
        };
        let file = path.rsplit('/').next().unwrap_or_default().to_owned();
        let locations = self.locate(code).locations;
        let functions = locations.iter().map(|location| location.defname.clone()).collect();
        Named { file, functions }
    }

    /// The code of something to know of a backtrace, which is in brackets.
    pub(crate) fn remark(&mut self, name: &'static str) -> LocationCode {
        self.number(CodeLocation::Remark(name))
    }
}
