//! One process per hazard: unmodified programs that do what profilers trip over.
//!
//! Each runs bare, recorded exactly and recorded at a short interval. It must look the same from
//! outside; the exact traces must say, to the word, what the program says of itself.

use crate::support::fixture;
use crate::support::hazard::{EXACT, SHORT_INTERVAL, check, check_unsampled};
use crate::support::run::Target;

#[test]
fn every_function_of_the_malloc_family() {
    check(&fixture::c("family"), &[], 1);
}

#[test]
fn realloc_that_grows_and_shrinks() {
    check(&fixture::c("realloc"), &[], 1);
}

#[test]
fn big_blocks_that_are_not_touched() {
    check(&fixture::c("big"), &[], 1);
}

#[test]
fn every_overload_of_operator_new() {
    check(&fixture::cpp("operators"), &[], 1);
}

#[test]
fn a_rust_program() {
    check(&fixture::rust("collections"), &[], 1);
}

#[test]
fn threads_that_free_each_others_blocks() {
    check(&fixture::c("cross_thread_free"), &[], 1);
}

#[test]
fn ten_thousand_short_threads() {
    check(&fixture::c("short_threads"), &[], 1);
}

#[test]
fn threads_on_the_smallest_stacks() {
    check(&fixture::c("small_stacks"), &[], 1);
}

#[test]
fn fork_and_fork_of_a_process_with_threads() {
    check(&fixture::c("fork"), &[], 5);
}

#[test]
fn fork_and_exec() {
    check(&fixture::c("exec"), &["fork"], 2);
}

#[test]
fn vfork_and_exec() {
    check(&fixture::c("exec"), &["vfork"], 2);
}

#[test]
fn posix_spawn() {
    check(&fixture::c("exec"), &["spawn"], 2);
}

#[test]
fn exec_in_place() {
    check(&fixture::c("exec"), &["replace"], 2);
}

/// The shell that `system` starts is replaced by the command, and leaves a trace too.
#[test]
fn system() {
    check(&fixture::c("exec"), &["system"], 3);
}

#[test]
fn a_child_without_environment_is_not_heard() {
    check(&fixture::c("exec"), &["cleared"], 1);
}

#[test]
fn an_emptied_environment_and_another_directory() {
    let folder = tempfile::tempdir().unwrap();
    check_unsampled(&Target::new(&[&fixture::c("environment")]).folder(folder.path()));
    check(&fixture::c("environment"), &[], 2);
}

#[test]
fn dlopen_and_dlclose() {
    let plugin = fixture::c_library("plugin");
    check(&fixture::c("dlopen"), &[plugin.to_str().unwrap()], 1);
}

#[test]
fn modules_that_go_while_other_threads_allocate() {
    let plugin = fixture::c_library("plugin");
    check(&fixture::c("unloading"), &[plugin.to_str().unwrap()], 1);
}

#[test]
fn a_library_in_the_place_of_another() {
    let plugins = ["plugin", "another_plugin"].map(fixture::c_library);
    let paths = plugins.each_ref().map(|path| path.to_str().unwrap());
    check(&fixture::c("replaced"), &paths, 1);
}

#[test]
fn malloc_found_by_name() {
    check(&fixture::c("dlsym"), &[], 1);
}

#[test]
fn malloc_by_its_address() {
    check(&fixture::c("function_pointers"), &[], 1);
    check(&fixture::c_fixed("function_pointers"), &[], 1);
}

#[test]
fn constructors_that_allocate() {
    check(&fixture::c_with_library("early", "early_library"), &[], 1);
}

#[test]
fn destructors_and_exit_handlers_that_allocate() {
    check(&fixture::c("late"), &[], 1);
}

#[test]
fn globals_and_thread_locals_of_cpp() {
    check(&fixture::cpp("teardown"), &[], 1);
}

#[test]
fn exceptions_through_allocating_frames() {
    check(&fixture::cpp("exceptions"), &[], 1);
}

#[test]
fn longjmp_over_allocating_frames() {
    check(&fixture::c("longjmp"), &[], 1);
}

#[test]
fn coroutines_on_stacks_from_malloc() {
    check(&fixture::c("coroutines"), &[], 1);
}

#[test]
fn twenty_thousand_frames() {
    check(&fixture::c("deep"), &[], 1);
}

#[test]
fn signals_that_interrupt_malloc() {
    check(&fixture::c("signals"), &["safe"], 1);
}

#[test]
fn a_signal_handler_that_allocates() {
    check(&fixture::c("signals"), &["allocating"], 1);
}

#[test]
fn every_way_to_end() {
    for how in ["return", "exit", "_exit", "quick_exit", "thread"] {
        check(&fixture::c("ending"), &[how], 1);
    }
}

#[test]
fn every_way_to_be_killed() {
    for how in ["abort", "kill", "term", "segv"] {
        check(&fixture::c("ending"), &[how], 1);
    }
}

#[test]
fn all_descriptors_closed() {
    for how in ["range", "loop"] {
        check(&fixture::c("close_all"), &[how], 1);
    }
}

#[test]
fn standard_error_closed() {
    check(&fixture::c("close_all"), &["stderr"], 1);
}

#[test]
fn a_limit_of_address_space() {
    check(&fixture::c("address_space"), &["self"], 1);
}

#[test]
fn an_inherited_limit_of_address_space() {
    let program = fixture::c("address_space");
    let script = "ulimit -v 524288 && exec \"$0\" inherited";
    check_unsampled(&Target::new(&["bash", "-c", script, program.to_str().unwrap()]));
}

/// The program kills its recorder, which cannot remove its socket then, and goes on to allocate
/// more than any ring holds.
#[test]
fn a_recorder_that_dies() {
    let folder = tempfile::tempdir().unwrap();
    let sockets = ["XDG_RUNTIME_DIR", "TMPDIR"].map(|name| (name, folder.path()));
    let target = Target::new(&[&fixture::c("orphan")]).environment(&sockets);
    for options in [EXACT, SHORT_INTERVAL] {
        let outcome = target.record(options).outcome;
        assert_eq!(
            (outcome.code, outcome.stdout_text().as_str()),
            (137, "alone and well\n"),
            "{outcome:?}"
        );
    }
}
