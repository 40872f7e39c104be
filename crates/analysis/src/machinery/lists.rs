//! The functions that are known to be machinery. To add an allocator or a standard library, add a line, and
//! one to the table in `docs/reports.md`.

/// The C library's functions, under any of its internal aliases (`__libc_malloc`, `__GI___strdup`).
pub(super) const LIBC: &[&str] = &[
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "aligned_alloc",
    "memalign",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "strdup",
    "strndup",
    "wcsdup",
    // What a folder is read into.
    "alloc_dir",
    "opendir",
    "opendir_tail",
    "opendirat",
    "fdopendir",
];

/// Whole names: wrappers that stop the program when memory is short, and the like.
pub(super) const WRAPPERS: &[&str] = &[
    // GNU and git
    "xmalloc",
    "xzalloc",
    "xcalloc",
    "xrealloc",
    "xreallocarray",
    "xnmalloc",
    "x2realloc",
    "x2nrealloc",
    "xpalloc",
    "xmallocz",
    "xmallocz_gently",
    "do_xmalloc",
    "do_xmallocz",
    "memory_limit_check",
    "xmemdup",
    "xmemdupz",
    "xstrdup",
    "xstrndup",
    // GLib
    "g_strdup",
    "g_strndup",
    "g_memdup",
    "g_memdup2",
    // Perl
    "Perl_malloc",
    "Perl_calloc",
    "Perl_realloc",
    "Perl_savepv",
    "Perl_savepvn",
    // Python's small objects
    "_PyMem_ArenaAlloc",
    "_PyObject_ArenaMmap",
    "allocate_from_new_pool",
    "arena_map_get",
    "arena_map_mark_used",
    "gc_alloc",
    "new_arena",
    "pymalloc_alloc",
    "pymalloc_realloc",
    // SQLite
    "sqlite3MemMalloc",
    "sqlite3MemRealloc",
    "sqlite3Malloc",
    "sqlite3MallocZero",
    "sqlite3Realloc",
    "mallocWithAlarm",
    "dbMallocRawFinish",
    // The GNU C++ run time
    "__cxa_allocate_exception",
    // Lua
    "l_alloc",
    "luaM_growaux_",
    "luaM_malloc_",
    "luaM_realloc_",
    "luaM_saferealloc_",
    "luaM_toobig",
    // PHP
    "ecalloc",
    "emalloc",
    "erealloc",
    "estrdup",
    "estrndup",
    "zend_string_alloc",
    // FFmpeg
    "av_calloc",
    "av_fast_malloc",
    "av_malloc",
    "av_mallocz",
    "av_realloc",
    "av_strdup",
    // OpenSSL, the Apache Portable Runtime, libuv, libxml2, curl
    "CRYPTO_malloc",
    "CRYPTO_realloc",
    "CRYPTO_strdup",
    "CRYPTO_zalloc",
    "apr_palloc",
    "apr_pcalloc",
    "apr_pstrdup",
    "uv__calloc",
    "uv__malloc",
    "uv__realloc",
    "uv__strdup",
    "xmlMemMalloc",
    "xmlStrdup",
    "xmlStrndup",
    "Curl_cmalloc",
    "Curl_crealloc",
    "Curl_cstrdup",
    // jemalloc's own, where it has no prefix
    "arena_malloc_hard",
    "arena_palloc",
    "arena_ralloc",
    "imalloc",
    "imalloc_body",
    "imalloc_no_sample",
    "large_malloc",
    "large_palloc",
    "malloc_default",
    "prof_alloc_prep",
    "prof_backtrace_impl",
    "prof_tctx_create",
    "tcache_alloc_large",
    "tcache_alloc_small_hard",
];

/// Beginnings of the names of libraries that are allocators, or that have memory for what others ask of them: all that they
/// have inside.
pub(super) const LIBRARIES: &[&str] = &[
    "libjemalloc",
    "liblifetrace",
    "libmimalloc",
    "librpmalloc",
    "libruby",
    "libtcmalloc",
    // numpy's arrays, and what they are multiplied with
    "_multiarray_umath.",
    "libopenblas",
    "libscipy_openblas",
];

/// Beginnings of plain names.
pub(super) const PREFIXES: &[&str] = &[
    "operator new",
    // GLib
    "g_malloc",
    "g_realloc",
    "g_try_malloc",
    "g_try_realloc",
    "g_aligned_alloc",
    "g_slice_alloc",
    "g_slice_copy",
    // Python
    "PyMem_",
    "_PyMem_",
    "PyObject_Malloc",
    "PyObject_Calloc",
    "PyObject_Realloc",
    "_PyObject_Malloc",
    "_PyObject_Calloc",
    "_PyObject_Realloc",
    "_PyObject_GC_",
    "_PyType_Alloc",
    "PyType_GenericAlloc",
    // Perl
    "Perl_safesys",
    "Perl_safemalloc",
    // SQLite
    "sqlite3_malloc",
    "sqlite3_realloc",
    "sqlite3DbMalloc",
    "sqlite3DbRealloc",
    // Redis
    "zcalloc",
    "zmalloc",
    "zrealloc",
    "zstrdup",
    "ztrycalloc",
    "ztrymalloc",
    "ztryrealloc",
    // nginx
    "ngx_alloc",
    "ngx_calloc",
    "ngx_palloc",
    "ngx_pcalloc",
    "ngx_pnalloc",
    // Samba
    "_talloc",
    "talloc_",
    // PHP
    "_ecalloc",
    "_emalloc",
    "_erealloc",
    "_estrdup",
    "_estrndup",
    "__zend_calloc",
    "__zend_malloc",
    "__zend_realloc",
    "_safe_emalloc",
    "_safe_erealloc",
    "zend_mm_",
    // PostgreSQL
    "AllocSetAlloc",
    "AllocSetContextCreateInternal",
    "AllocSetRealloc",
    "MemoryContextAlloc",
    "palloc",
    "repalloc",
    "pstrdup",
    // OCaml's run time, and its standard library where there is no source file
    "caml_alloc",
    "caml_array_",
    "caml_ba_",
    "caml_bytes_",
    "caml_call_gc",
    "caml_create_",
    "caml_floatarray_",
    "caml_garbage_collection",
    "caml_make_",
    "caml_obj_",
    "caml_stat_",
    "caml_string_",
    "camlCamlinternal",
    "camlStdlib",
    "Camlinternal",
    "Stdlib.",
    "Stdlib__",
    // jemalloc, tcmalloc, mimalloc, rpmalloc
    "_rjem_",
    "je_",
    "_mi_heap_",
    "_mi_malloc",
    "_mi_os_",
    "_mi_page_",
    "_mi_segment_",
    "mi_aligned_",
    "mi_calloc",
    "mi_heap_",
    "mi_malloc",
    "mi_new",
    "mi_realloc",
    "mi_recalloc",
    "mi_rezalloc",
    "mi_zalloc",
    "rpaligned_",
    "rpcalloc",
    "rpmalloc",
    "rpmemalign",
    "rprealloc",
    "rpzalloc",
    "tc_calloc",
    "tc_malloc",
    "tc_memalign",
    "tc_new",
    "tc_posix_memalign",
    "tc_realloc",
    "tcmalloc::",
    // Rust: the allocator's symbols, the crate `alloc`, and what hands closures and iterators to it
    "__rust_",
    "__rustc",
    "__rdl_",
    "__rg_",
    "std::alloc::",
    "std::collections::",
    "hashbrown::",
    "alloc::alloc::",
    "alloc::borrow::",
    "alloc::boxed::",
    "alloc::collections::",
    "alloc::ffi::",
    "alloc::fmt::",
    "alloc::raw_vec::",
    "alloc::rc::",
    "alloc::slice::",
    "alloc::str::",
    "alloc::string::",
    "alloc::sync::",
    "alloc::vec::",
    "core::alloc::",
    "core::clone::",
    "core::convert::",
    "core::fmt::",
    "core::iter::",
    "core::ops::function::",
    "core::option::",
    "core::result::",
    "core::slice::",
    // Our own allocator in Rust programs
    "lifetrace::alloc::",
    // C++: names beginning with an underscore are the library's own
    "__gnu_cxx::",
    "std::_",
    // The same where a symbol could not be demangled
    "_ZSt",
    "_ZNSt",
    "_ZNKSt",
    "_ZN9__gnu_cxx",
];

/// In names of functions: a program's global allocator in Rust, whoever wrote it.
pub(super) const RUST_ALLOCATOR: &str = " as core::alloc::global::GlobalAlloc>::";

/// Parts of the paths of source files.
pub(super) const FOLDERS: &[&str] = &["/library/alloc/src/", "/library/core/src/", "/hashbrown-"];

/// C++ classes and functions of the namespace `std`, all members included.
pub(super) const CPP_STANDARD: &[&str] = &[
    "allocate_shared",
    "allocator",
    "allocator_traits",
    "any",
    "basic_ostream",
    "basic_ostringstream",
    "basic_streambuf",
    "basic_string",
    "basic_stringbuf",
    "basic_stringstream",
    "deque",
    "forward_list",
    "function",
    "list",
    "make_shared",
    "make_unique",
    "map",
    "multimap",
    "multiset",
    "operator+",
    // `<<`, whose brackets are dropped as if they were those of a template
    "operator",
    "set",
    "shared_ptr",
    "string",
    "to_string",
    "unique_ptr",
    "unordered_map",
    "unordered_multimap",
    "unordered_multiset",
    "unordered_set",
    "vector",
];

/// Beginnings of the modules of OCaml's standard libraries: the compiler's, Lwt and Async, and Jane Street's.
/// Only of functions whose source file is OCaml's.
pub(super) const OCAML: &[&str] = &[
    "Stdlib",
    "Camlinternal",
    "Lwt.",
    "Lwt_",
    "Async_kernel",
    "Async_unix",
    "Base.",
    "Base__",
    "Core.",
    "Core__",
    "Core_kernel",
    "Stdio.",
    "Stdio__",
];

/// Ends of the paths of OCaml's source files: those of modules, and what ocamllex and menhir make them from.
pub(super) const OCAML_FILES: &[&str] = &[".ml", ".mll", ".mly", ".mli"];

/// How the files of Ruby's core begin that are written in Ruby.
pub(super) const RUBY_CORE: &str = "<internal:";

/// In the paths of the library that comes with Python, and of packages that do not; what modules are imported by.
pub(super) const PYTHON_LIBRARY: &str = "/lib/python3.";
pub(super) const PYTHON_PACKAGES: [&str; 2] = ["/site-packages/", "/dist-packages/"];
pub(super) const PYTHON_FROZEN: &str = "<frozen ";

/// In the paths of numpy's functions that stand before those in C.
pub(super) const NUMPY_CORE: [&str; 2] = ["/numpy/_core/", "/numpy/core/"];

/// In the paths of those of its modules that are written in C.
pub(super) const PYTHON_EXTENSIONS: &str = "/lib-dynload/";

/// In the paths of the libraries that come with Ruby, and of gems.
pub(super) const RUBY_LIBRARY: &str = "/lib/ruby/";
pub(super) const RUBY_GEMS: &str = "/gems/";

/// In these: containers, and what stands before `require`, for all that is loaded.
pub(super) const RUBY_FILES: &[&str] = &[
    "/set.rb",
    "/sorted_set.rb",
    "/delegate.rb",
    "/forwardable.rb",
    "/monitor.rb",
    "/rubygems/core_ext/kernel_require.rb",
    "/bundled_gems.rb",
    "/bootsnap/load_path_cache/core_ext/kernel_require.rb",
    "/zeitwerk/kernel.rb",
    "/zeitwerk/core_ext/kernel.rb",
];
