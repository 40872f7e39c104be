//! The command as a user meets it: real processes, recorded, and their traces read back.
//!
//! Nothing here reaches into the command: it is started as a program, and what it leaves is read
//! with the libraries. No test measures time or sleeps; each can run at the same time as any other.
//! All are in one executable, so that they share the compiled fixtures.

mod allocators;
#[cfg(target_arch = "x86_64")]
mod attaching;
#[cfg(target_arch = "x86_64")]
mod attaching_mappings;
#[cfg(target_arch = "x86_64")]
mod attaching_ocaml;
#[cfg(target_arch = "x86_64")]
mod attaching_roots;
#[cfg(target_arch = "x86_64")]
mod attaching_ruby;
mod bad_traces;
mod called;
mod collector;
mod collector_answers;
mod collector_disk;
mod collector_rates;
mod control;
mod debuggers;
mod emulated;
mod environments;
mod exact_figures;
mod executes;
mod facts;
#[cfg(target_arch = "x86_64")]
mod fast_path;
mod fetched_symbols;
mod foreign_profiles;
mod hazards;
mod heaps_of_ruby;
mod helpers;
#[cfg(target_arch = "x86_64")]
mod imports;
#[cfg(target_arch = "x86_64")]
mod interposed;
mod launchers;
mod leftovers;
mod library_for_ruby;
mod live;
mod live_page;
#[cfg(target_arch = "x86_64")]
mod lost;
mod mappings;
mod memtrace;
#[cfg(target_arch = "x86_64")]
mod next_collector;
mod ocaml;
mod ocaml_facts;
mod ocaml_library;
mod ocaml_real_programs;
mod ocaml_statistics;
mod ocaml_unheard;
mod ocaml_versions;
mod own_allocators;
mod past_us;
mod processes;
#[cfg(target_arch = "x86_64")]
mod programs_of_python;
mod python;
mod real_programs;
mod record_options;
mod record_refusals;
mod ruby;

mod sanitizers;
mod snapshots_of_domains;
mod snapshots_of_ocaml;
mod snapshots_of_ruby;
mod snapshots_of_waiting;
mod stacks;
mod strangers;
mod support;
mod threads;
mod tutorial;
mod types_of_ocaml;
mod untraceable;
mod verdicts;
