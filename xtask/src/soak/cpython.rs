//! CPython's own regression tests, of Debian's Python, with many that start threads and processes.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use anyhow::Result;

use super::compare::Outcomes;
use super::twice::Twice;
use super::workshop::Workshop;
use super::{junit, package};

const PYTHON: &str = "/usr/bin/python3";
const PACKAGE: &str = "libpython3.11-testsuite";
const PROOF: &str = "/usr/lib/python3.11/test/test_threading.py";

/// In the order in which they run: what is hard on us comes first.
const TESTS: &str = "\
    test_threading test_subprocess test_signal test_threadsignals test_fork1 test_wait3 \
    test_wait4 test_popen test_posix test_os test_mmap test_ctypes test_gc test_json test_socket \
    test_faulthandler test_thread test_queue test_threading_local test_threadedtempfile \
    test_sched test_atexit test_weakref test_finalization test_generators test_coroutines \
    test_asyncgen test_selectors test_select test_poll test_epoll test_eintr test_file_eintr \
    test_resource test_pty test_openpty test_ioctl test_fcntl test_interpreters \
    test__xxsubinterpreters test_embed test_exceptions test_dict test_list test_set test_bytes \
    test_unicode test_array test_buffer test_memoryview test_deque test_itertools test_functools \
    test_sort test_re test_pickle test_marshal test_struct test_zlib test_bz2 test_lzma \
    test_hashlib test_ssl test_dbm test_readline test_xml_etree test_xml_etree_c test_pyexpat \
    test_decimal test_long test_float test_ast test_compile test_import test_importlib test_sys \
    test_sys_settrace test_tracemalloc test_io test_largefile test_tempfile test_shutil \
    test_pathlib test_logging test_socketserver test_httpservers \
    test_multiprocessing_main_handling test_multiprocessing_fork test_multiprocessing_forkserver \
    test_multiprocessing_spawn test_asyncio test_concurrent_futures";

/// Cases that wait for ever, bare too, in a virtual machine whose host does not answer.
const HANGS: &str = "*VSOCK*";

/// Prints statistics of the interpreter's allocator while nobody stands before it, which is known to be different.
const DIFFERS: &str = "*test_debugmallocstats*";

/// Runs all tests, or those that are named.
///
/// # Errors
/// If a test cannot be run, or something comes out differently.
pub fn run(named: &[&str]) -> Result<()> {
    package::need(PROOF, PACKAGE)?;
    let mut twice = Twice::new(Workshop::open("cpython")?);
    let all: Vec<&str> = TESTS.split_whitespace().collect();
    for test in if named.is_empty() { &all } else { named } {
        let words = [PYTHON, "-m", "test", "--timeout", "900", "--junit-xml", "results.xml", "-i"];
        let words = [&words[..], &[HANGS, "-i", DIFFERS, *test]].concat();
        twice.test(test, &words.iter().map(OsString::from).collect::<Vec<_>>(), outcomes)?;
    }
    twice.verdict()
}

/// Those of the cases, and that of the whole: a test that dies writes no results.
fn outcomes(code: i32, folder: &Path, _log: &Path) -> Result<Outcomes> {
    let results = folder.join("results.xml");
    let xml = if results.exists() { fs::read(results)? } else { Vec::new() };
    let mut outcomes = junit::outcomes(&String::from_utf8_lossy(&xml));
    outcomes.insert("the whole".to_owned(), format!("exit code {code}"));
    Ok(outcomes)
}
