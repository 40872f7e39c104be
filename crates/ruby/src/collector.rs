//! The collector's exact counters. \[UNSAFE\]

use core::ffi::CStr;

use lifetrace_agent::guard::Entered;
use lifetrace_agent::sys;
use lifetrace_transport::message::{Body, CollectorTotals};

use crate::terms;
use crate::vm::{Value, Vm};

/// What is in the trace by its own name; all versions have these.
const COUNTS: [&CStr; 6] = [
    c"total_allocated_objects",
    c"total_freed_objects",
    c"heap_live_slots",
    c"heap_available_slots",
    c"old_objects",
    c"malloc_increase_bytes",
];

/// Nanoseconds from one time that they are sent to the next.
const APART: u64 = 1_000_000_000;

/// The names of figures of `GC.stat`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    minor: Value,
    major: Value,
    counts: [Value; COUNTS.len()],
    /// When the counts are sent next, at the earliest.
    due: u64,
    /// Collections, when one was reported last; 0 before that.
    collections: u64,
    /// Major ones of them, at the last one that was looked at.
    majors: Option<u64>,
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
            let keys = Keys {
                minor: vm.symbol(c"minor_gc_count"),
                major: vm.symbol(c"major_gc_count"),
                counts: COUNTS.map(|name| vm.symbol(name)),
                due: 0,
                collections: 0,
                majors: None,
            };
            vm.stat(keys.minor);
            keys
        }
    }

    /// Forgets how many collections there were: those that passed between two sessions are nobody's.
    pub(crate) fn begin_session(&mut self) {
        self.collections = 0;
        self.majors = None;
    }

    /// Whether no major collection has begun since this was asked last: whether old objects have not been looked at
    /// since, and so are alive.
    ///
    /// # Safety
    /// As [`Vm::stat`].
    pub(crate) unsafe fn have_spared_old(&mut self, vm: &Vm) -> bool {
        // SAFETY: by contract; all versions have this figure.
        let majors = unsafe { vm.stat(self.major) };
        self.majors.replace(majors) == Some(majors)
    }

    /// Major collections so far, the one under way included.
    pub(crate) fn major_collections(&self) -> u64 {
        self.majors.unwrap_or(0)
    }

    /// Reports what the collector has counted.
    ///
    /// # Safety
    /// As [`Vm::stat`].
    pub(crate) unsafe fn report(&mut self, vm: &Vm, at: &mut Entered) {
        // SAFETY: by contract; all versions have these figures.
        let (minor, major) = unsafe { (vm.stat(self.minor), vm.stat(self.major)) };
        let totals = CollectorTotals {
            runtime: terms::NAME,
            minor_collections: Some(minor),
            major_collections: Some(major),
            ..CollectorTotals::default()
        };
        at.send(Body::from(&totals.to_bytes()));
        let last = core::mem::replace(&mut self.collections, minor + major);
        if last != 0 && self.collections > last + 1 {
            // Who was freed in those we do not know, and what lies there now may be another object.
            at.send(Body::Notice { code: terms::HIDDEN_COLLECTIONS });
        }
        let now = sys::now().0;
        if now >= self.due {
            self.due = now + APART;
            // SAFETY: by contract.
            unsafe { self.report_counts(vm, at) }
        }
    }

    /// Reports what the machine has counted in its own terms.
    ///
    /// # Safety
    /// As [`Vm::stat`].
    pub(crate) unsafe fn report_counts(&self, vm: &Vm, at: &mut Entered) {
        for (name, &key) in COUNTS.iter().zip(&self.counts) {
            // SAFETY: by contract; all versions have these figures.
            let value = unsafe { vm.stat(key) };
            at.send(Body::RuntimeCount { name: name.to_bytes(), value });
        }
    }
}
