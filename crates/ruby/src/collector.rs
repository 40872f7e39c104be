//! The collector's exact counters. \[UNSAFE\]

use lifetrace_agent::guard::Entered;
use lifetrace_transport::message::{Body, CollectorTotals};

use crate::terms;
use crate::vm::{Value, Vm};

/// The names of figures of `GC.stat`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    minor: Value,
    major: Value,
}

impl Keys {
    /// Looks them up, and asks for the figures once: at the first time the machine makes its own symbols, which it must
    /// not do within a collection.
    ///
    /// # Safety
    /// As [`Vm::symbol`].
    pub(crate) unsafe fn of(vm: &Vm) -> Keys {
        // SAFETY: by contract.
        unsafe {
            let keys =
                Keys { minor: vm.symbol(c"minor_gc_count"), major: vm.symbol(c"major_gc_count") };
            vm.stat(keys.minor);
            keys
        }
    }

    /// Reports what the collector has counted.
    ///
    /// # Safety
    /// As [`Vm::stat`].
    pub(crate) unsafe fn report(self, vm: &Vm, at: &mut Entered) {
        // SAFETY: by contract; all versions have these figures.
        let (minor, major) = unsafe { (vm.stat(self.minor), vm.stat(self.major)) };
        let totals = CollectorTotals {
            runtime: terms::NAME,
            minor_collections: Some(minor),
            major_collections: Some(major),
            ..CollectorTotals::default()
        };
        at.send(Body::from(&totals.to_bytes()));
    }
}
