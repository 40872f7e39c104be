//! Which functions only pass a request on to the allocator.
//!
//! "27 % are allocated in `malloc`" helps nobody: a callsite is the first function that has a reason
//! of its own. Machinery is the malloc family, the allocators that languages and libraries put on
//! top of it, and the standard libraries of C++, Rust and OCaml, which allocate because somebody calls them.
//!
//! Functions are known by their [plain names](crate::plain_name), and Rust's library, whose methods of
//! slices and strings have no path, by its source files. Users may add frames, or do without the [`lists`].

mod lists;

use lifetrace_trace::event::{DESERIALISED_NAME, GROWTH_NAME, Location, is_remark};
use lifetrace_trace::frame::FrameKind;

use self::lists::{
    CPP_STANDARD, FOLDERS, LIBC, LIBRARIES, NUMPY_CORE, OCAML, OCAML_FILES, PREFIXES,
    PYTHON_EXTENSIONS, PYTHON_FROZEN, PYTHON_LIBRARY, PYTHON_PACKAGES, RUBY_CORE, RUBY_FILES,
    RUBY_GEMS, RUBY_LIBRARY, RUST_ALLOCATOR, WRAPPERS,
};
use crate::filter::FramePattern;
use crate::names::Place;
use crate::plain_name::plain_name;

/// What is taken to be machinery. By default what the lists have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Machinery {
    /// Whether what the lists have is no machinery.
    pub without_lists: bool,
    /// Frames that are, besides.
    pub others: Vec<FramePattern>,
}

impl Machinery {
    /// Whether a place, in code of this kind and in the object file with this path, is in allocation machinery, or a
    /// remark on the block.
    pub fn has(&self, place: &Place<'_>, kind: FrameKind, module: Option<&str>) -> bool {
        let Place::Known(location) = *place else { return false };
        is_remark_on_block(location)
            || !self.without_lists
                && (is_listed(location)
                    || is_ruby(location, kind)
                    || is_python(location, kind)
                    || module.is_some_and(is_allocator))
            || self.others.iter().any(|it| it.matches_place(location, module))
    }
}

/// By the path of an object file.
fn is_allocator(module: &str) -> bool {
    let name = module.rsplit('/').next().unwrap_or_default();
    module.contains(PYTHON_EXTENSIONS)
        || LIBRARIES.iter().any(|library| name.starts_with(library)) && name.contains(".so")
}

fn is_remark_on_block(location: &Location) -> bool {
    [GROWTH_NAME, DESERIALISED_NAME].contains(&&*location.defname) || is_remark(location)
}

fn is_listed(location: &Location) -> bool {
    is_machinery_file(&location.filename)
        || is_machinery_function(&location.defname)
        || is_ocaml_library(location)
}

fn is_ocaml_library(Location { defname, filename, .. }: &Location) -> bool {
    OCAML.iter().any(|module| defname.starts_with(module))
        && OCAML_FILES.iter().any(|suffix| filename.ends_with(suffix))
}

/// Methods that are written in C, and what of the libraries that come with Ruby is a container, or stands before a method
/// of the core.
fn is_ruby(location: &Location, kind: FrameKind) -> bool {
    let path = &*location.filename;
    kind == FrameKind::RubyNative
        || kind == FrameKind::Ruby && (path.starts_with(RUBY_CORE) || is_ruby_library(path))
}

fn is_ruby_library(path: &str) -> bool {
    let in_library = path.contains(RUBY_LIBRARY) || path.contains(RUBY_GEMS);
    in_library && RUBY_FILES.iter().any(|file| path.ends_with(file))
}

/// What comes with Python: its library, and what it imports modules by; and what makes numpy's arrays.
fn is_python(location: &Location, kind: FrameKind) -> bool {
    let path = &*location.filename;
    let in_library =
        path.contains(PYTHON_LIBRARY) && !PYTHON_PACKAGES.iter().any(|it| path.contains(it));
    let is_before_arrays = || NUMPY_CORE.iter().any(|it| path.contains(it));
    kind == FrameKind::Python
        && (in_library || path.starts_with(PYTHON_FROZEN) || is_before_arrays())
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
        || function.contains(RUST_ALLOCATOR)
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
    use lifetrace_trace::event::remark;

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
            "<tikv_jemallocator::Jemalloc as core::alloc::global::GlobalAlloc>::alloc",
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
            "__alloc_dir",
            "__opendir",
        ];
        for name in names {
            assert!(is_machinery_function(name), "{name} is {}", plain_name(name));
        }
    }

    #[test]
    fn all_of_an_allocators_library_is_machinery() {
        for path in [
            "/usr/lib/libjemalloc.so.2",
            "libtcmalloc_minimal.so.4.5.10",
            "/v/numpy/_core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so",
            "/v/numpy.libs/libscipy_openblas64_-32a4b2a6.so",
        ] {
            assert!(is_allocator(path), "{path}");
        }
        for path in ["/usr/lib/libjemalloc/program", "/usr/lib/libc.so.6", "", "tcmalloc.so"] {
            assert!(!is_allocator(path), "{path}");
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

    fn is_at(function: &str, file: &str) -> bool {
        is_listed(&Location {
            filename: file.into(),
            line: 1,
            start_char: 0,
            end_char: 0,
            defname: function.into(),
        })
    }

    #[test]
    fn ruby_is_known_by_the_kind_of_code() {
        let location = |file: &str| Location { filename: file.into(), ..remark("Set#add") };
        let is_one = |file, kind| is_ruby(&location(file), kind);
        assert!(is_one("", FrameKind::RubyNative) && !is_one("", FrameKind::Native));
        assert!(is_one("<internal:kernel>", FrameKind::Ruby));
        assert!(is_one("/usr/lib/ruby/3.1.0/set.rb", FrameKind::Ruby));
        assert!(!is_one("/usr/lib/ruby/3.1.0/set.rb", FrameKind::Unknown));
        assert!(!is_one("/app/lib/set.rb", FrameKind::Ruby));
        assert!(!is_one("/app/lib/onset.rb", FrameKind::Ruby));
    }

    #[test]
    fn pythons_library_is_machinery_and_packages_are_not() {
        let location = |file: &str| Location { filename: file.into(), ..remark("f") };
        let is_one = |file, kind| is_python(&location(file), kind);
        assert!(is_one("/usr/lib/python3.11/json/decoder.py", FrameKind::Python));
        assert!(!is_one("/usr/lib/python3.11/json/decoder.py", FrameKind::Unknown));
        assert!(is_one("<frozen importlib._bootstrap>", FrameKind::Python));
        assert!(is_one("/v/site-packages/numpy/_core/numeric.py", FrameKind::Python));
        for path in [
            "/usr/lib/python3/dist-packages/yaml/nodes.py",
            "/v/lib/python3.13/site-packages/a.py",
            "/srv/app.py",
        ] {
            assert!(!is_one(path, FrameKind::Python), "{path}");
        }
    }

    #[test]
    fn ocaml_libraries_are_known_by_both() {
        for (function, file) in [
            ("Stdlib__Bytes.make", "bytes.ml"),
            ("Stdlib.Hashtbl.resize", "hashtbl.ml"),
            ("CamlinternalLazy.force", "camlinternalLazy.ml"),
            ("Lwt.bind", "src/core/lwt.ml"),
            ("Base__List.map", "src/list.ml"),
            ("camlStdlib__Bytes__make_123", ""),
            ("Stdlib__Bytes.make", "/usr/bin/program"),
        ] {
            assert!(is_at(function, file), "{function}");
        }
        for (function, file) in [
            ("Base.run", "base.py"),
            ("Core.step", "src/core.rs"),
            ("Dune__exe__Main.bytes", "main.ml"),
            ("Lwtish.bind", "lwtish.ml"),
        ] {
            assert!(!is_at(function, file), "{function}");
        }
    }
}
