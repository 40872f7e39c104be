//! Whether an allocator or a runtime maps memory to give it out in blocks: by the names of the functions that have
//! asked for it, and of the files that they are in.

use std::sync::Arc;

use lifetrace_transport::sources::SourceName;

/// An allocator or a runtime with arenas.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner(&'static Family);

impl PartialEq for Owner {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Owner {}

#[derive(Debug)]
struct Family {
    /// As people know it.
    name: &'static str,
    /// The innermost frame of its arenas in a backtrace.
    remark: &'static str,
    kind: FamilyKind,
    /// Beginnings of the names of its files: what these map, they map for themselves.
    files: &'static [&'static str],
    /// Beginnings of the names of functions of its that map arenas, wherever they are linked to.
    functions: &'static [&'static str],
    /// How large its arenas are, in bytes, where that is fixed.
    sizes: &'static [u64],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FamilyKind {
    /// Its blocks are malloc's.
    Malloc,
    /// Its blocks are of a managed heap of this name, or of one that nobody samples.
    Runtime(&'static str),
}

use FamilyKind::{Malloc, Runtime};

macro_rules! families {
    ($($name:literal $kind:expr, $files:expr, $functions:expr, $sizes:expr;)*) => {
        &[$(Family {
            name: $name,
            remark: concat!("[arena of ", $name, "]"),
            kind: $kind,
            files: &$files,
            functions: &$functions,
            sizes: &$sizes,
        }),*]
    };
}

const FAMILIES: &[Family] = families! {
    "jemalloc" Malloc, ["libjemalloc"], ["je_", "_rjem_"], [];
    "tcmalloc" Malloc, ["libtcmalloc"],
        ["TCMalloc_", "tcmalloc::", "MmapSysAllocator::", "SbrkSysAllocator::", "DefaultSysAllocator::"], [];
    "mimalloc" Malloc, ["libmimalloc"], ["_mi_"], [];
    "rpmalloc" Malloc, ["librpmalloc"], ["rpmalloc", "_rpmalloc"], [];
    "snmalloc" Malloc, ["libsnmalloc"], ["snmalloc::"], [];
    "OCaml" Runtime("ocaml"), ["libasmrun", "libcamlrun"], ["caml_"], [];
    // Pages, and what is cut off of them to have them aligned; the heap of short-lived arrays. Others are stacks of
    // fibers, say.
    "Ruby" Runtime("ruby"), ["libruby"], ["heap_page_", "rb_gc_", "rb_objspace_"],
        [32 << 10, 128 << 10, (32 << 20) + (32 << 10)];
    // Python 3.10 and later have larger ones.
    "Python" Runtime("python"), ["python3", "libpython3"], ["_PyObject_Arena", "_PyMem_Arena"], [256 << 10, 1 << 20];
    "V8" Runtime("v8"), ["node", "libnode", "libv8"], ["v8::"], [];
    "the JVM" Runtime("jvm"), ["libjvm.so"], [], [];
    "PHP" Runtime("php"), [], ["zend_mm_"], [];
    "Erlang" Runtime("erlang"), ["beam.smp"], ["erts_mmap", "erts_mseg"], [];
    "LuaJIT" Runtime("luajit"), [], ["lj_alloc_", "lj_mcode_"], [];
    "Haskell" Runtime("haskell"), [], ["osGetMBlocks", "getMBlocks", "getFreshMBlocks"], [];
    "Boehm's collector" Runtime("gc"), ["libgc.so"], ["GC_unix_"], [];
    ".NET" Runtime("dotnet"), ["libcoreclr", "libclrgc"], [], [];
};

/// What maps other memory than arenas in files of these families: stacks of Ruby's fibers.
const NO_ARENAS: [&str; 2] = ["fiber_", "rb_fiber_"];

/// The C library's: who has called these is of interest.
const TRANSPARENT: [&str; 4] = ["libc.so", "libc-", "ld-linux", "libpthread"];

/// Frames that are looked at.
const DEPTH: usize = 6;

/// A frame, as it is named.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    /// The file's name, without its folders.
    pub(crate) file: String,
    /// Of all functions that were inlined there.
    pub(crate) functions: Vec<Arc<str>>,
}

impl Named {
    fn is_of(&self, files: &[&str]) -> bool {
        files.iter().any(|it| self.file.starts_with(it))
    }

    fn has(&self, functions: &[&str]) -> bool {
        let begins = |name: &Arc<str>| functions.iter().any(|it| bare(name).starts_with(it));
        self.functions.iter().any(begins)
    }
}

/// C++ puts what has no name before some names.
fn bare(name: &str) -> &str {
    name.trim_start_matches("(anonymous namespace)::").trim_start_matches("{anonymous}::")
}

/// Whose arena it is, if any, of so many bytes, that these frames have mapped, of which the first is the innermost.
pub(crate) fn owner_of(bytes: u64, frames: impl Iterator<Item = Named>) -> Option<Owner> {
    let callers = frames.take(DEPTH + TRANSPARENT.len()).filter(|it| !it.is_of(&TRANSPARENT));
    let callers: Vec<Named> = callers.take(DEPTH).collect();
    if callers.iter().any(|it| it.has(&NO_ARENAS)) {
        return None;
    }
    let innermost = callers.first()?;
    let has = |family: &&Family| {
        let is_of_file = innermost.is_of(family.files);
        let has_functions = || callers.iter().any(|it| it.has(family.functions));
        let fits = family.sizes.is_empty() || family.sizes.contains(&bytes);
        fits && (is_of_file || has_functions())
    };
    FAMILIES.iter().find(has).map(Owner)
}

impl Owner {
    /// The innermost frame of its arenas in a backtrace.
    pub(crate) fn remark(self) -> &'static str {
        self.0.remark
    }

    /// Whether its blocks are malloc's.
    pub(crate) fn is_malloc(self) -> bool {
        self.0.kind == Malloc
    }

    /// Whether its blocks are of the managed heap of that name.
    pub(crate) fn is_runtime(self, name: SourceName) -> bool {
        matches!(self.0.kind, Runtime(of) if SourceName::new(of) == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames as `file:function`, the innermost first.
    fn owner(bytes: u64, frames: &[&str]) -> Option<&'static str> {
        let named = |frame: &&str| {
            let (file, function) = frame.split_once(':').unwrap();
            Named { file: file.into(), functions: vec![function.into()] }
        };
        owner_of(bytes, frames.iter().map(named)).map(|it| it.0.name)
    }

    #[test]
    fn allocators_as_libraries_are_known_by_their_files() {
        assert_eq!(
            owner(1, &["libjemalloc.so.2:libjemalloc.so.2+0x80", "a:main"]),
            Some("jemalloc")
        );
        assert_eq!(owner(1, &["libtcmalloc_minimal.so.4:x", "a:main"]), Some("tcmalloc"));
        assert_eq!(owner(1, &["a:grow", "libjemalloc.so.2:hook"]), None);
    }

    #[test]
    fn allocators_in_programs_are_known_by_their_functions() {
        let frames = ["a:os_pages_map", "a:_rjem_je_pages_map", "a:_rjem_je_extent_alloc_mmap"];
        assert_eq!(owner(1, &frames), Some("jemalloc"));
        let frames = ["a:(anonymous namespace)::MmapSysAllocator::Alloc(unsigned long)"];
        assert_eq!(owner(1, &frames), Some("tcmalloc"));
        assert_eq!(owner(1, &["a:unix_mmap_prim", "a:_mi_os_alloc_aligned"]), Some("mimalloc"));
    }

    #[test]
    fn what_calls_libc_is_of_interest() {
        assert_eq!(owner(1, &["libc.so.6:__mmap", "libjemalloc.so.2:x"]), Some("jemalloc"));
    }

    #[test]
    fn runtimes_are_known() {
        assert_eq!(owner(1 << 20, &["python3.11:_PyObject_ArenaMmap"]), Some("Python"));
        assert_eq!(owner(1 << 20, &["mmap.cpython-311.so:new_mmap", "python3.11:eval"]), None);
        assert_eq!(owner(12345, &["python3.11:something"]), None);
        assert_eq!(owner(1, &["a:caml_mem_map", "a:caml_init_domains"]), Some("OCaml"));
        assert_eq!(owner(32 << 10, &["libruby-3.1.so.3.1:heap_page_allocate"]), Some("Ruby"));
        assert_eq!(owner(21 << 20, &["libruby-3.1.so.3.1:libruby-3.1.so.3.1+0x90c6a"]), None);
        assert_eq!(owner(1, &["libruby-3.1.so.3.1:fiber_pool_expand"]), None);
    }

    #[test]
    fn a_program_is_no_runtime() {
        assert_eq!(owner(1, &["a:main"]), None);
        assert_eq!(owner(1, &[]), None);
        let deep: Vec<&str> = std::iter::repeat_n("a:f", DEPTH).chain(["a:je_malloc"]).collect();
        assert_eq!(owner(1, &deep), None);
    }

    #[test]
    fn a_familys_blocks_are_of_a_source() {
        let of = |name| FAMILIES.iter().find(|it| it.name == name).map(Owner).unwrap();
        assert!(of("jemalloc").is_malloc() && !of("OCaml").is_malloc());
        assert!(of("Ruby").is_runtime(SourceName::new("ruby")));
        assert!(!of("Ruby").is_runtime(SourceName::new("ocaml")));
    }
}
