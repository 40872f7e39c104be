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
            "caml_do_local_roots"
            "caml_do_local_roots_nat"
            "caml_do_roots"
            "caml_enter_blocking_section"
            "caml_enter_blocking_section_hook"
            "caml_ephe_list_head"
            "caml_ephe_none"
            "caml_final_do_roots"
            "caml_find_frame_descr"
            "caml_frame_descriptors"
            "caml_frame_descriptors_mask"
            "caml_frametable"
            "caml_gc_minor_words_unboxed"
            "caml_get_frame_descrs"
            "caml_get_stack_sp_pc"
            "caml_globals"
            "caml_leave_blocking_section"
            "caml_leave_blocking_section_hook"
            "caml_major_cycles_completed"
            "caml_major_slice_begin_hook"
            "caml_memprof_do_roots"
            "caml_memprof_enter_thread"
            "caml_memprof_scan_roots"
            "caml_memprof_start"
            "caml_memprof_stop"
            "caml_minor_collections_count"
            "caml_minor_gc_end_hook"
            "caml_minor_heap_max_wsz"
            "caml_ml_domain_id"
            "caml_page_table_lookup"
            "caml_plat_mutex_reinit"
            "caml_process_pending_actions_res"
            "caml_record_backtraces"
            "caml_register_generational_global_root"
            "caml_remove_generational_global_root"
            "caml_scan_global_roots"
            "caml_scan_roots_hook"
            "caml_scan_stack"
            "caml_something_to_do"
            "caml_terminate_signals"
            "caml_thread_initialize"
            "caml_try_run_on_all_domains"
        }
    };
}

#[cfg(test)]
mod tests {
    use core::cell::RefCell;
    use core::ptr::NonNull;
    use std::string::String;
    use std::vec::Vec;

    use crate::runtime;
    use crate::snapshot;
    use crate::version::Version;

    macro_rules! listed {
        ($($name:literal)*) => {
            const LISTED: &[&str] = &[$($name),*];
        };
    }
    crate::for_runtime_names!(listed);

    #[test]
    fn a_table_has_all_that_is_asked_for() {
        static ZEROS: [u64; 64] = [0; 64];
        let asked = RefCell::new(Vec::new());
        for missing in LISTED.iter().map(Some).chain([None]) {
            let symbol = |name: &core::ffi::CStr| {
                let name = name.to_str().unwrap();
                asked.borrow_mut().push(String::from(name));
                (missing != Some(&name)).then_some(NonNull::from(&ZEROS).cast())
            };
            let found = runtime::found_by(&symbol);
            assert!(found.is_ok() || missing.is_some());
            for version in [Version::V4_13, Version::V5_3] {
                assert!(snapshot::can_be_taken(version, &symbol) || missing.is_some());
            }
        }
        let asked = asked.into_inner();
        assert!(asked.iter().all(|name| LISTED.contains(&&**name)), "{asked:?}");
        assert!(LISTED.iter().all(|name| asked.iter().any(|it| it == name)));
    }
}
