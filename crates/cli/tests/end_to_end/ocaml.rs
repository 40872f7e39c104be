//! OCaml programs that do what a profiler of their heap trips over.
//!
//! As the [`hazards`](super::hazards), each runs bare, recorded exactly and recorded at a short interval. It must
//! look the same from outside; the exact traces must say, to the word, what the program says of itself.

use lifetrace_trace::event::Source;

use crate::support::hazard::{EXACT, check, check_despite_losses, check_totals, same_as_expected};
use crate::support::profile::{assert_complete, read_through};
use crate::support::run::Target;
use crate::support::{births, blocks, ledger, ocaml};

/// Malloc is heard too.
const ALL_SOURCES: &[&str] = &["--rate", "1", "--sources", "all"];

#[test]
fn every_kind_of_allocation() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("counters");
    check(&ocaml::native("ledger"), &[file.to_str().unwrap()], 1);
}

#[test]
fn inlined_functions() {
    check(&ocaml::native("inlined"), &[], 1);
}

#[test]
fn four_threads() {
    check(&ocaml::native("systhreads"), &[], 1);
}

#[test]
fn signals_at_1_khz_with_a_handler_that_allocates_and_raises() {
    check(&ocaml::native("signals"), &[], 1);
}

#[test]
fn fork_of_a_child_that_allocates_and_forks() {
    check(&ocaml::native("fork"), &[], 3);
}

#[test]
fn exec_in_place_and_in_a_child() {
    check(&ocaml::native("exec"), &["replace"], 2);
    check(&ocaml::native("exec"), &["spawn"], 2);
}

#[test]
fn exceptions() {
    check(&ocaml::native("exceptions"), &[], 1);
}

#[test]
fn callstacks_that_the_program_asks_for() {
    check(&ocaml::native("callstacks"), &[], 1);
}

#[test]
fn stack_overflows_that_are_caught() {
    let program = ocaml::native("stack_overflow");
    check(&program, &["20000"], 1);
    let target = Target::new(&[&program]);
    let (bare, sampled) = (target.bare(), target.record(&["--rate", "1e-5"]));
    assert_eq!(sampled.outcome, bare);
}

#[test]
fn a_stack_overflow_that_is_not_caught() {
    check(&ocaml::native("ending"), &["overflow"], 1);
}

#[test]
fn exit_handlers_that_allocate() {
    check(&ocaml::native("at_exit"), &[], 1);
}

#[test]
fn every_way_to_end() {
    for how in ["return", "exit", "_exit", "uncaught"] {
        check(&ocaml::native("ending"), &[how], 1);
    }
}

#[test]
fn every_way_to_be_killed() {
    for how in ["kill", "abort", "segv"] {
        check(&ocaml::native("ending"), &[how], 1);
    }
}

#[test]
fn twenty_workers_of_lwt() {
    check(&ocaml::native("lwt_workers"), &[], 1);
}

#[test]
fn structures_that_are_read_back() {
    check(&ocaml::native("marshal"), &[], 1);
}

#[test]
fn compactions() {
    check(&ocaml::native("compact"), &[], 1);
}

#[test]
fn weak_pointers() {
    check(&ocaml::native("weak_pointers"), &[], 1);
}

#[test]
fn ephemerons() {
    check(&ocaml::native("ephemerons"), &[], 1);
}

#[test]
fn finalisers() {
    check(&ocaml::native("finalisers"), &[], 1);
}

#[test]
fn another_minor_heap_and_another_policy() {
    check(&ocaml::native("gc_settings"), &[], 1);
    let target = Target::new(&[&ocaml::native("gc_settings")]);
    check_totals(&target.environment(&[("OCAMLRUNPARAM", "s=4k,o=200,v=0")]));
}

/// Of an array there are three blocks; the memory outside the heap is what is in the accounts.
#[test]
fn memory_outside_the_heap() {
    let target = Target::new(&[&ocaml::native("bigarrays")]);
    let (bare, exact) = (target.bare(), target.record(EXACT));
    assert_eq!(exact.outcome, bare);
    let outside = ledger::recorded_of(&exact.traces(), |block| block.source == Source::External);
    same_as_expected(&bare, &outside);
}

#[test]
fn a_part_that_is_loaded_later() {
    let plugin = ocaml::plugin("plugin");
    check(&ocaml::native("plugin_host"), &[plugin.to_str().unwrap()], 1);
}

#[test]
fn c_code_by_turns() {
    check(&ocaml::native("stubs"), &[], 1);
}

#[test]
fn a_program_that_reads_links_itself() {
    check(&ocaml::native("own_readlink"), &[], 1);
}

#[test]
fn stripped() {
    check(&ocaml::stripped("plain"), &[], 1);
}

/// Of a function that only allocates the linker's symbol is all there is.
#[test]
fn without_debug_information() {
    let target = Target::new(&[&ocaml::without_debug_information("plain")]);
    let (bare, exact) = (target.bare(), target.record(EXACT));
    assert_eq!(exact.outcome, bare);
    let births = births::of(&exact.traces()[0]);
    let plain = |function: Option<&str>| {
        function.is_some_and(|name| name.starts_with("Plain.hazard_plain"))
    };
    let found = births.iter().filter(|birth| plain(birth.functions().last()));
    assert_eq!(found.count(), 21_000);
}

/// The runtime has names for calls alone; a function has the name of its calls.
#[test]
fn one_function_has_one_name_without_debug_information() {
    let target = Target::new(&[&ocaml::without_debug_information("recursive")]);
    let births = births::of(&target.record(EXACT).traces()[0]);
    let in_build =
        births.iter().filter(|birth| birth.functions().any(|it| it == "Recursive.Inner.build"));
    let mut own = 0;
    for birth in in_build {
        assert_eq!(birth.functions().find(|name| name.starts_with("camlRec")), None);
        own += usize::from(birth.functions().last() == Some("Recursive.Inner.build"));
    }
    // A pair, a number and a cell of the list each.
    assert_eq!(own, 150_000);
}

#[test]
fn the_runtime_that_checks_itself() {
    for name in ["plain", "systhreads", "finalisers", "marshal", "compact", "exceptions"] {
        let debug = ["-runtime-variant", "d"];
        let program = ocaml::native_with(name, &format!("{name}-debug"), &debug);
        check_despite_losses(&Target::new(&[&program]));
    }
}

#[test]
fn inside_a_c_program_that_exports_its_symbols() {
    check(&ocaml::embedded("embedding", "embedded", true), &[], 1);
}

/// The program's own file has no OCaml in it.
#[test]
fn inside_a_library_of_a_c_program() {
    let target = Target::new(&[&ocaml::in_library("embedding", "embedded")]);
    let bare = target.bare();
    for sources in ["auto", "ocaml"] {
        let exact = target.record(&["--rate", "1", "--sources", sources]);
        assert_eq!(exact.outcome, bare);
        same_as_expected(&bare, &ledger::recorded_of(&exact.traces(), |_| true));
    }
    let exact = target.record(ALL_SOURCES);
    assert_eq!(exact.outcome, bare);
    let in_heap = |block: &blocks::Block| block.source != Source::External;
    same_as_expected(&bare, &ledger::recorded_of(&exact.traces(), in_heap));
    assert!(blocks::of(&exact.traces()[0]).iter().any(|block| !in_heap(block)));
}

/// A hundred thousand frames, and a sample at each depth: the frames that are kept are limited, and so is the cost.
#[test]
fn everything_sampled_in_a_deep_recursion() {
    check(&ocaml::native("deep"), &["100000"], 1);
}

#[test]
fn all_sources_at_once() {
    for (name, traces) in
        [("systhreads", 1), ("fork", 3), ("exceptions", 1), ("lwt_workers", 1), ("stubs", 1)]
    {
        let target = Target::new(&[&ocaml::native(name)]);
        let (bare, exact) = (target.bare(), target.record(ALL_SOURCES));
        assert_eq!(exact.outcome, bare, "{name}");
        assert_eq!(exact.traces().len(), traces, "{name}");
        let in_heap =
            ledger::recorded_of(&exact.traces(), |block| block.source != Source::External);
        same_as_expected(&bare, &in_heap);
        let malloc = blocks::of(&exact.traces()[0]);
        assert!(malloc.iter().any(|block| block.source == Source::External), "{name}");
    }
}

#[test]
fn malloc_alone() {
    for name in ["systhreads", "fork", "stubs"] {
        let target = Target::new(&[&ocaml::native(name)]);
        let recording = target.record(&["--interval", "4KiB", "--sources", "native"]);
        assert_eq!(recording.outcome, target.bare(), "{name}");
        for trace in recording.traces() {
            assert_complete(&trace);
            assert_eq!(read_through(&trace).promotions, 0);
        }
    }
}
