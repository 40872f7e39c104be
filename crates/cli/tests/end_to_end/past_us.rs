//! Blocks that are freed by somebody whom the agent does not hear: it does no harm, and is told.
//!
//! A sampled block is the program's own allocator's, so whoever frees it may. That it is gone shows when
//! its address comes back.

use std::path::Path;

use crate::support::fixture;
use crate::support::hazard::{EXACT, SHORT_INTERVAL};
use crate::support::profile::{assert_complete, facts_of, read_through};
use crate::support::run::{Recording, Target};

const USUAL_INTERVAL: &[&str] = &["--seed", "1"];

/// Samples are by chance, and addresses too.
const RUNS: usize = 3;

/// Output and exit code are those of a bare run, at each density of samples; the exact recordings.
fn unharmed(target: &Target) -> Vec<Recording> {
    let bare = target.bare();
    assert_eq!(bare.code, 0, "{bare:?}");
    let mut exact = Vec::new();
    for options in [EXACT, SHORT_INTERVAL, USUAL_INTERVAL] {
        for _ in 0..RUNS {
            let recording = target.record(options);
            let outcome = &recording.outcome;
            assert_eq!((outcome.code, &outcome.stdout), (bare.code, &bare.stdout), "{outcome:?}");
            recording.traces().iter().for_each(|trace| assert_complete(trace));
            if options == EXACT {
                exact.push(recording);
            }
        }
    }
    exact
}

/// Deaths that were told late, as a trace has them.
fn unheard(trace: &Path) -> u64 {
    use lifetrace_trace::fact::Fact;
    let lost = facts_of(trace).into_iter().filter_map(|fact| match fact {
        Fact::Lost(lost) if &*lost.reason == "death-unheard" => Some(lost.count),
        _ => None,
    });
    lost.sum()
}

/// Of blocks that are allocated and freed in turn, each but the last comes to where one was before, and
/// that one is found out to be dead.
fn is_told(recordings: &[Recording]) {
    for recording in recordings {
        let trace = recording.trace_of("past_us");
        let summary = read_through(&trace);
        assert!(unheard(&trace) > 4000, "{} deaths were told late", unheard(&trace));
        assert!(summary.samples - summary.collections < 200, "{summary:?}");
    }
}

fn program(arguments: &[&str]) -> Target {
    Target::new(&[&fixture::c("past_us")]).arguments(arguments)
}

#[test]
fn a_library_that_is_bound_deeply() {
    let plugin = fixture::c_library("past_us_plugin");
    is_told(&unharmed(&program(&["deep", plugin.to_str().unwrap()])));
}

#[test]
fn a_library_that_keeps_the_real_free() {
    let plugin = fixture::c_library_with("past_us_plugin", "-DNEXT");
    is_told(&unharmed(&program(&["next", plugin.to_str().unwrap()])));
}

#[test]
fn free_by_the_handle_of_libc() {
    is_told(&unharmed(&program(&["handle"])));
}

/// What libc allocates, and the program frees by the function that its foreign interface finds in libc.
const CTYPES: &str = "
import ctypes
libc = ctypes.CDLL('libc.so.6')
libc.strdup.restype = libc.realpath.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
n = 0
for i in range(2000):
    for p in libc.strdup(b'x' * 2000), libc.realpath(b'/usr/bin', None):
        n += len(ctypes.string_at(p))
        libc.free(p)
print(n)
";

#[test]
fn free_by_pythons_ctypes() {
    unharmed(&Target::new(&["/usr/bin/python3"]).arguments(&["-c", CTYPES]));
}

const FIDDLE: &str = "
require 'fiddle'
libc = Fiddle.dlopen('libc.so.6')
strdup = Fiddle::Function.new(libc['strdup'], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOIDP)
free = Fiddle::Function.new(libc['free'], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOID)
n = 0
2000.times { p = strdup.call('x' * 2000); n += p.to_s.size; free.call(p) }
puts n
";

#[test]
fn free_by_rubys_fiddle() {
    unharmed(&Target::new(&["ruby"]).arguments(&["-e", FIDDLE]));
}

/// Its extensions are bound deeply, and free what the interpreter has allocated.
#[test]
fn php_with_its_extensions() {
    let script = "$db = new PDO('sqlite::memory:'); $db->exec('create table t(a)');
        for ($i = 0; $i < 500; $i++) $db->exec(\"insert into t values('$i')\");
        echo $db->query('select count(*) from t')->fetchColumn();";
    unharmed(&Target::new(&["php"]).arguments(&["-r", script]));
}
