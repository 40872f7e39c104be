//! In what ways each workload is run, and what each is compared with.
//!
//! A profiler that is part of an allocator is compared with the same allocator that does not
//! sample: what is measured is sampling, not the allocator. Its ratio to glibc is shown beside it.

use std::process::Command;

use super::need::{self, Need};
use super::workload::Workload;
use crate::python_programs;

/// The variant that all others are compared with in the end.
pub const BARE: &str = "bare";

/// What OCaml programs are built with to be measured with it.
pub const MEMTRACE: &str = "memtrace";

/// What OCaml programs are built with to see what the runtime's sampler costs without anybody who uses it.
pub const SAMPLER: &str = "sampler";

/// A way to run a workload.
pub struct Variant {
    /// In the record.
    pub name: &'static str,
    /// The variant that its ratios are to.
    pub baseline: &'static str,
    /// What it needs.
    pub needs: &'static [Need],
    /// How it runs the command.
    pub means: Means,
    /// Whether it takes so long that a third of the rounds must do.
    pub slow: bool,
}

/// How a variant runs a command.
#[derive(Clone, Copy)]
pub enum Means {
    /// As it is, with these settings (`NAME=VALUE`).
    Settings(&'static [&'static str]),
    /// By `lifetrace record` with these arguments.
    Lifetrace(&'static [&'static str]),
    /// With heaptrack's library and interpreter.
    Heaptrack,
    /// By the program that has Memtrace linked in, at this rate per word.
    Memtrace(&'static str),
    /// By the program that was built with this, with these settings.
    Built(&'static str, &'static [&'static str]),
    /// By memray of the environment of `cargo xtask python-programs`, with these options.
    Memray(&'static [&'static str]),
    /// With a preloaded library that does nothing: the least that any can cost.
    Floor,
}

const JEMALLOC: &[Need] = &[("libjemalloc.so.2", "libjemalloc2")];
const TCMALLOC: &[Need] = &[("libtcmalloc.so.4", "libgoogle-perftools4")];
const HEAPTRACK: &[Need] = &[("heaptrack", "heaptrack"), ("zstd", "zstd")];

/// All variants; a baseline stands before those that are compared with it.
pub const VARIANTS: &[Variant] = &[
    plain(BARE, BARE, &[], &[]),
    plain("bare-again", BARE, &[], &[]),
    Variant { means: Means::Floor, ..plain("floor", BARE, &[], &[]) },
    lifetrace("512KiB", &["--interval", "512KiB"]),
    lifetrace("64KiB", &["--interval", "64KiB"]),
    Variant { slow: true, ..lifetrace("exact", &["--rate", "1"]) },
    Variant {
        name: "heaptrack",
        baseline: BARE,
        needs: HEAPTRACK,
        means: Means::Heaptrack,
        slow: true,
    },
    plain("jemalloc", BARE, JEMALLOC, &["LD_PRELOAD=libjemalloc.so.2"]),
    plain(
        "jemalloc-prof",
        "jemalloc",
        JEMALLOC,
        &[
            "LD_PRELOAD=libjemalloc.so.2",
            "MALLOC_CONF=prof:true,lg_prof_sample:19,prof_final:true,abort_conf:true",
        ],
    ),
    plain("tcmalloc", BARE, TCMALLOC, &["LD_PRELOAD=libtcmalloc.so.4"]),
    plain(
        "tcmalloc-sampling",
        "tcmalloc",
        TCMALLOC,
        &["LD_PRELOAD=libtcmalloc.so.4", "TCMALLOC_SAMPLE_PARAMETER=524288"],
    ),
];

/// The program as it is, with settings.
pub const fn plain(
    name: &'static str,
    baseline: &'static str,
    needs: &'static [Need],
    settings: &'static [&'static str],
) -> Variant {
    Variant { name, baseline, needs, means: Means::Settings(settings), slow: false }
}

/// A recording with `arguments`, compared with the bare program.
pub const fn lifetrace(name: &'static str, arguments: &'static [&'static str]) -> Variant {
    Variant { name, baseline: BARE, needs: &[], means: Means::Lifetrace(arguments), slow: false }
}

/// The program that was built with `what`, with these settings.
pub const fn built(
    name: &'static str,
    baseline: &'static str,
    what: &'static str,
    settings: &'static [&'static str],
) -> Variant {
    Variant { means: Means::Built(what, settings), ..plain(name, baseline, &[], &[]) }
}

impl Variant {
    /// Why it cannot run `workload`, if it cannot.
    pub fn refuses(&self, workload: &Workload) -> Option<&'static str> {
        match self.means {
            Means::Heaptrack if workload.in_child => Some("heaptrack does not follow children"),
            Means::Memtrace(_) | Means::Built(MEMTRACE, _)
                if workload.built_with(MEMTRACE).is_none() =>
            {
                Some("ocamlfind does not know memtrace: opam install memtrace")
            }
            Means::Memray(_) if !python_programs::has("memray") => {
                Some("there is no memray: cargo xtask python-programs")
            }
            Means::Built(what, _) if workload.built_with(what).is_none() => {
                Some("it is not built so")
            }
            _ => None,
        }
    }

    /// Whether it can be run on this machine; says why if not.
    pub fn is_usable(&self) -> bool {
        let usable = need::is_met(self.name, self.needs);
        let broken = usable && self.name == "jemalloc-prof" && !jemalloc_profiles();
        if broken {
            eprintln!("skipped: {}: this libjemalloc is built without --enable-prof", self.name);
        }
        usable && !broken
    }

    /// Whether its row needs runs of the variant `name`.
    pub fn needs_run_of(&self, name: &str) -> bool {
        [self.baseline, BARE].contains(&name)
    }
}

/// With `abort_conf`, jemalloc ends the program if it does not know a setting.
fn jemalloc_profiles() -> bool {
    let mut probe = Command::new("true");
    probe.env("LD_PRELOAD", "libjemalloc.so.2").env("MALLOC_CONF", "abort_conf:true,prof:true");
    probe.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
pub mod tests {
    use super::*;

    #[test]
    fn a_baseline_stands_before_what_is_compared_with_it() {
        check_baselines(VARIANTS);
    }

    pub fn check_baselines(variants: &[Variant]) {
        for (index, variant) in variants.iter().enumerate() {
            let before = &variants[..=index];
            assert!(before.iter().any(|one| one.name == variant.baseline), "{}", variant.name);
        }
    }
}
