//! What the agent asks a runtime for, as a list that others can make a table of.

/// Calls the macro `$use` with the names of all functions and variables that a runtime is asked for. A
/// program that the agent is linked into has those of its own runtime's version.
#[macro_export]
macro_rules! for_runtime_names {
    ($use:ident) => {
        $use! {
            "Caml_state"
            "caml_allocated_words"
            "caml_c_call"
            "caml_cleanup_on_exit"
            "caml_compactions_count"
            "caml_compute_gc_stats"
            "caml_debuginfo_extract"
            "caml_debuginfo_location"
            "caml_debuginfo_next"
            "caml_enter_blocking_section"
            "caml_enter_blocking_section_hook"
            "caml_frametable"
            "caml_gc_minor_words_unboxed"
            "caml_leave_blocking_section"
            "caml_leave_blocking_section_hook"
            "caml_major_cycles_completed"
            "caml_major_slice_begin_hook"
            "caml_memprof_enter_thread"
            "caml_memprof_start"
            "caml_memprof_stop"
            "caml_minor_collections_count"
            "caml_minor_gc_end_hook"
            "caml_minor_heap_max_wsz"
            "caml_ml_domain_id"
            "caml_plat_mutex_reinit"
            "caml_process_pending_actions_res"
            "caml_record_backtraces"
            "caml_register_generational_global_root"
            "caml_remove_generational_global_root"
            "caml_something_to_do"
            "caml_terminate_signals"
        }
    };
}
