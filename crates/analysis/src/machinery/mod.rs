//! Which functions only pass a request on to the allocator.
//!
//! "27 % are allocated in `malloc`" helps nobody: a callsite is the first function that has a reason
//! of its own. Machinery is the malloc family, the allocators that languages and libraries put on
//! top of it, and the standard containers of C++ and Rust, which grow because somebody pushes.
//!
//! Functions are known by their [plain names](crate::plain_name), and Rust's library, whose methods of
//! slices and strings have no path, by its source files. To add an allocator, add a line to one of the
//! lists.

use lifetrace_trace::event::{DESERIALISED_NAME, GROWTH_NAME, Location, is_remark};

use crate::plain_name::plain_name;

/// The C library's functions, under any of its internal aliases (`__libc_malloc`, `__GI___strdup`).
const LIBC: &[&str] = &[
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
];

/// Whole names: wrappers that stop the program when memory is short, and the like.
const WRAPPERS: &[&str] = &[
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
];

/// Beginnings of plain names.
const PREFIXES: &[&str] = &[
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
    // PostgreSQL
    "AllocSetAlloc",
    "AllocSetContextCreateInternal",
    "AllocSetRealloc",
    "MemoryContextAlloc",
    "palloc",
    "repalloc",
    "pstrdup",
    // OCaml
    "caml_stat_",
    // jemalloc, tcmalloc, mimalloc
    "je_",
    "tc_",
    "mi_malloc",
    "mi_calloc",
    "mi_realloc",
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

/// Parts of the paths of source files.
const FOLDERS: &[&str] = &["/library/alloc/src/", "/library/core/src/", "/hashbrown-"];

/// C++ classes and functions of the namespace `std`, all members included.
const CPP_STANDARD: &[&str] = &[
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

/// Whether a place is in allocation machinery, or a remark on the block.
pub fn is_machinery(location: &Location) -> bool {
    [GROWTH_NAME, DESERIALISED_NAME].contains(&&*location.defname)
        || is_remark(location)
        || is_machinery_file(&location.filename)
        || is_machinery_function(&location.defname)
}

fn is_machinery_file(path: &str) -> bool {
    FOLDERS.iter().any(|folder| path.contains(folder)) || is_our_allocator(path)
}

/// In a source tree, or by name and version in a registry's.
fn is_our_allocator(path: &str) -> bool {
    let files = ["/src/alloc.rs", "/src/external/mod.rs"];
    let crate_path = files.iter().find_map(|file| path.strip_suffix(file));
    let folder = crate_path.and_then(|path| path.rsplit('/').next());
    folder.is_some_and(|folder| folder == "lifetrace" || folder.starts_with("lifetrace-0"))
}

fn is_machinery_function(function: &str) -> bool {
    let plain = plain_name(function);
    let symbol = without_clone_suffix(&plain);
    LIBC.contains(&without_libc_alias(symbol))
        || WRAPPERS.contains(&symbol)
        || PREFIXES.iter().any(|prefix| plain.starts_with(prefix))
        || is_cpp_standard(&plain)
}

fn is_cpp_standard(plain: &str) -> bool {
    let Some(rest) = plain.strip_prefix("std::") else { return false };
    CPP_STANDARD.contains(&rest.split("::").next().unwrap_or(rest))
}

/// Drops what compilers append to the symbols of parts and copies: `.cold`, `.constprop.0`.
fn without_clone_suffix(symbol: &str) -> &str {
    symbol.split_once('.').map_or(symbol, |(name, _)| name)
}

fn without_libc_alias(name: &str) -> &str {
    let name = name.strip_prefix("__GI_").unwrap_or(name);
    name.strip_prefix("__libc_").or_else(|| name.strip_prefix("__")).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machinery_is_known_by_its_files() {
        for path in [
            "/rustc/abc/library/alloc/src/slice.rs",
            "/home/x/.cargo/registry/src/index-1/hashbrown-0.15.0/src/raw.rs",
            "/home/x/.cargo/registry/src/index-1/lifetrace-0.1.0/src/alloc.rs",
            "/home/x/crates/lifetrace/src/alloc.rs",
        ] {
            assert!(is_machinery_file(path), "{path}");
        }
        for path in ["/home/x/mine/src/alloc.rs", "/home/x/lifetrace/src/main.rs", "alloc.rs", ""] {
            assert!(!is_machinery_file(path), "{path}");
        }
    }

    #[test]
    fn machinery() {
        let names = [
            "malloc",
            "__libc_calloc",
            "__GI___libc_malloc",
            "__strdup",
            "malloc@@GLIBC_2.2.5",
            "operator new(unsigned long)",
            "operator new[](unsigned long, std::nothrow_t const&)",
            "std::__new_allocator<int>::allocate(unsigned long, void const*)",
            "__gnu_cxx::new_allocator<std::pair<int const, Foo> >::allocate(unsigned long, void const*)",
            "std::allocator_traits<std::allocator<char> >::allocate(std::allocator<char>&, unsigned long)",
            "std::_Vector_base<int, std::allocator<int> >::_M_allocate(unsigned long)",
            "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int*, int&&)",
            "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_create",
            "std::__1::vector<int, std::__1::allocator<int>>::push_back(int const&)",
            "lifetrace::alloc::Alloc<A>::counting_alloc",
            "<lifetrace::alloc::Alloc<A> as core::alloc::global::GlobalAlloc>::alloc",
            "__rust_alloc",
            "__rustc::__rust_alloc",
            "__rustc[4794b31dd7191200]::__rust_alloc",
            "alloc::alloc::exchange_malloc",
            "<alloc::alloc::Global as core::alloc::Allocator>::allocate",
            "alloc::raw_vec::RawVecInner<A>::try_allocate_in",
            "<alloc::raw_vec::RawVec<u8>>::grow_one",
            "alloc::raw_vec::finish_grow::<alloc::alloc::Global>",
            "<alloc::vec::Vec<T> as alloc::vec::spec_from_iter::SpecFromIter<T, I>>::from_iter",
            "<T as alloc::slice::<impl [T]>::to_vec_in::ConvertVec>::to_vec",
            "<core::iter::adapters::map::Map<I, F> as core::iter::traits::iterator::Iterator>::fold",
            "std::shared_ptr<Foo>::shared_ptr<std::allocator<void>, >(&&)",
            "std::__cxx11::basic_string<char> std::operator+<char>(char const*, std::string const&)",
            "std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)",
            "_ZSt11make_sharedI3FooJEESt10shared_ptrINSt9enable_ifIXntsrSt8is_arrayIT_E5valueES4_E",
            "g_malloc0_n",
            "PyMem_RawMalloc",
            "_PyObject_Malloc",
            "_PyObject_GC_NewVar",
            "Perl_safesysrealloc",
            "xmalloc",
            "do_xmalloc.constprop.0",
        ];
        for name in names {
            assert!(is_machinery_function(name), "{name} is {}", plain_name(name));
        }
    }

    #[test]
    fn no_machinery() {
        let names = [
            "",
            "main",
            "mallocate",
            "my_malloc_stats",
            "PyObject_Call",
            "Perl_sv_grow",
            "g_hash_table_insert",
            "json::parse(std::vector<int, std::allocator<int> > const&)",
            "std::vector<int> make_vector<int>(int)",
            "std::thread::spawn",
            "std::ifstream::ifstream(char const*)",
            "(anonymous namespace)::build(unsigned long)",
            "<mine::Tree as core::clone::Clone>::clone",
            "mine::alloc::alloc::grow",
            "core::Engine::run()",
            "alloc::pool::Pool::take()",
            "Stdlib.Hashtbl.resize",
            "python3.11+0x2a3b",
            "<unclosed as",
            "<",
            "f<->>(",
            ">>>>",
        ];
        for name in names {
            assert!(!is_machinery_function(name), "{name} is {}", plain_name(name));
        }
    }
    #[test]
    fn library_files_are_machinery() {
        assert!(is_machinery_file("/rustc/598076/library/alloc/src/str.rs"));
        assert!(is_machinery_file("/home/me/.cargo/registry/src/x/hashbrown-0.15.2/src/raw.rs"));
        assert!(!is_machinery_file("/rustc/598076/library/std/src/fs.rs"));
        assert!(!is_machinery_file("/home/me/library/src/alloc.rs"));
    }
}
