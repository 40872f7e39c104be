//! What a file is, by its first bytes, if it is another profiler's: whether it can be imported, or who
//! reads it.

mod reader;
mod spaces;

use std::io::Read;

pub(crate) use self::reader::MEMRAY;
pub use self::reader::{Foreign, Reader};
pub(crate) use self::spaces::without_spaces;
use super::{dhat, heaptrack, massif, memray, pprof, unpack, v8};

/// So many unpacked bytes tell what a file is.
pub const BEGINNING: u64 = 4096;

const GO_PPROF: Reader = Reader::ImportAfter(
    "go tool pprof -proto -output heap.pb.gz PROGRAM FILE, then: lifetrace import heap.pb.gz",
);
const FIREFOX: Reader = Reader::Other("profiler.firefox.com");
const CHROME: Reader = Reader::Other("the memory panel of Chrome's developer tools");

/// Beginnings that say all.
const SIGNATURES: [(&[u8], &str, Reader); 19] = [
    (b"heap_v2/", "a heap profile of jemalloc (heap_v2)", Reader::Import),
    (b"heap profile:", "a heap profile as text, of gperftools, tcmalloc or Go", Reader::Import),
    (b"--- heapz 1 ---", "a heap profile as text (heapz)", GO_PPROF),
    (b"--- symbol", "a profile as text, with its symbols (pprof --raw, jeprof --raw)", GO_PPROF),
    (b"desc: I1 cache:", "a profile of cachegrind", Reader::Other("cg_annotate")),
    (massif::BEGINNING, "a profile of Valgrind's massif", Reader::Import),
    (b"PERFILE2", "a recording of perf", Reader::Other("perf report")),
    (b"memray\0", "a recording of memray", MEMRAY),
    (
        b"allocator,num_allocations,size,tid,",
        "a table of memray (csv), which does not say of which moment",
        MEMRAY,
    ),
    (b"FLR\0", "a recording of Java's Flight Recorder", Reader::Other("JDK Mission Control")),
    (b"JAVA PROFILE 1.0", "a heap dump of Java", Reader::Other("Eclipse's Memory Analyzer")),
    (b"Nettrace", "a trace of .NET", Reader::Other("PerfView")),
    (b"# callgrind format", "a profile of callgrind", Reader::Other("callgrind_annotate")),
    (
        b"version: 1\ncreator: callgrind",
        "a profile of callgrind",
        Reader::Other("callgrind_annotate"),
    ),
    (b"mem_heap_B=", "a part of a profile of massif", Reader::Other("ms_print")),
    (b"bplist00", "a property list, as Xcode's memory graphs are", Reader::Other("leaks or Xcode")),
    (b"\x04\x22\x4d\x18", "data packed by lz4, as recordings of memray are", MEMRAY),
    (b"\x11\x57\xdd\x75", "metadata of LTTng", Reader::Other("babeltrace2")),
    (
        b"{\"$schema\":\"https://www.speedscope.app",
        "a profile of speedscope",
        Reader::Other("speedscope.app"),
    ),
];

/// What tells documents of JSON apart, in the order in which they are looked for.
const KEYS: [(&str, &str, Reader); 9] = [
    ("\"dhatFileVersion\"", "a profile of DHAT", Reader::Import),
    ("\"preprocessedProfileVersion\"", "a profile of Firefox", FIREFOX),
    ("\"meta\":{\"interval\"", "a profile of Firefox", FIREFOX),
    ("\"nativeAllocations\"", "a profile of Firefox", FIREFOX),
    (v8::KEY, "a sampled heap profile of V8 (.heapprofile)", Reader::Import),
    ("\"snapshot\":{\"meta\"", "a heap snapshot of V8 (.heapsnapshot)", CHROME),
    (
        "www.speedscope.app/file-format-schema",
        "a profile of speedscope",
        Reader::Other("speedscope.app"),
    ),
    ("\"traceEvents\"", "a trace of Chrome", Reader::Other("ui.perfetto.dev")),
    (
        "\"address\":\"0x",
        "a dump of Ruby's objects (ObjectSpace.dump_all)",
        Reader::Other("the gem heapy"),
    ),
];

/// What the first bytes of a file say, which may be packed; nothing if it is none that is known.
pub fn recognise(beginning: &[u8]) -> Option<Foreign> {
    let mut unpacked = Vec::new();
    // What comes before an error is enough, or nothing is.
    let _ = unpack::unpack(beginning).ok()?.take(BEGINNING).read_to_end(&mut unpacked);
    of_unpacked(&unpacked)
}

/// What the first bytes say of a file, after unpacking; nothing if it is none that is known.
pub fn of_unpacked(bytes: &[u8]) -> Option<Foreign> {
    let by_beginning = SIGNATURES.iter().find(|(signature, ..)| bytes.starts_with(signature));
    if let Some(&(_, what, reader)) = by_beginning {
        return Some(Foreign { what, reader });
    }
    if heaptrack::is_beginning(bytes) {
        return Some(Foreign { what: "a recording of heaptrack", reader: Reader::Import });
    }
    if memray::is_beginning(bytes) {
        return Some(memray::foreign(bytes));
    }
    if dhat::is_beginning(bytes) {
        return of_json(bytes);
    }
    let is_profile = pprof::is_surely_beginning(bytes);
    is_profile.then_some(Foreign { what: "a profile of pprof", reader: Reader::Import })
}

/// Written with or without spaces.
fn of_json(bytes: &[u8]) -> Option<Foreign> {
    let text = without_spaces(bytes);
    let found = KEYS.iter().find(|(key, ..)| text.contains(key));
    found.map(|&(_, what, reader)| Foreign { what, reader })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn what(bytes: &[u8]) -> &'static str {
        of_unpacked(bytes).map_or("", |foreign| foreign.what)
    }

    #[test]
    fn json_is_told_apart_however_it_is_written() {
        assert_eq!(what(b"{\n \"dhatFileVersion\" : 2"), "a profile of DHAT");
        assert_eq!(
            what(b"{\"head\": {\"callFrame\": {"),
            "a sampled heap profile of V8 (.heapprofile)"
        );
        assert_eq!(what(b"{\"meta\":{\"interval\":1,"), "a profile of Firefox");
        assert_eq!(what(b"{\"hello\": 1}"), "");
    }

    #[test]
    fn text_is_no_profile_of_pprof() {
        for text in [&b"\n\n\nhello"[..], b"2 3 4", b"*** a list ***", b"", b"Hello", b"R\tx"] {
            assert_eq!(what(text), "", "{text:?}");
        }
        let profile = b"\x0a\x04\x08\x01\x10\x02\x32\x00\x32\x03cpu\x32\x02ns";
        assert_eq!(what(profile), "a profile of pprof");
    }

    proptest! {
        #[test]
        fn any_beginning_is_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = recognise(&bytes);
        }

        #[test]
        fn lines_of_text_are_no_profile(text in "[ -~\n]{0,200}") {
            prop_assume!(!text.trim_start().starts_with('{') && !text.starts_with("v "));
            prop_assert_eq!(what(text.as_bytes()), "");
        }
    }
}
