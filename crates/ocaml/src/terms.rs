//! The words by which the recorder knows this agent: in its file about OCaml are the same.

use lifetrace_transport::sources::SourceName;

/// The runtime.
pub(crate) const NAME: SourceName = SourceName::new("ocaml");

/// The runtime has no statistical memory profiler (5.0 to 5.2, before 4.11), or is not known: the heap is not sampled.
pub(crate) const WITHOUT_SAMPLER: &[u8] = b"ocaml-without-sampler";

/// The program has Memtrace linked in and MEMTRACE set: its heap is Memtrace's.
pub(crate) const MEMTRACE: &[u8] = b"ocaml-memtrace";

/// The program has called `Gc.Memprof.start` or `stop` itself: sampling of its heap, which has one client at most, has
/// ended here.
pub(crate) const OWN_MEMPROF: &[u8] = b"ocaml-own-memprof";

/// `Gc.Memprof.start` could not be watched: a program that calls it gets the exception "already started".
pub(crate) const MEMPROF_UNGUARDED: &[u8] = b"ocaml-memprof-unguarded";

/// The program had Memprof started when it was attached to: its heap is not sampled.
pub(crate) const MEMPROF_TAKEN: &[u8] = b"ocaml-memprof-taken";

/// The program was attached to, and its runtime's sampler cannot be taken over: its code is not as it is known, or the
/// kernel does not let it be changed.
pub(crate) const NOT_ATTACHED: &[u8] = b"ocaml-not-attached";

/// A snapshot of the heap that was wanted without being asked for could not be taken: the runtime does not export what is
/// needed to find all roots.
pub(crate) const NO_SNAPSHOT_ROOTS: &[u8] = b"ocaml-snapshot-without-roots";

/// A snapshot of the heap that was wanted without being asked for could not be taken: the system has refused to fork.
pub(crate) const NO_SNAPSHOT_CHILD: &[u8] = b"ocaml-snapshot-without-child";

/// A snapshot of the heap that was wanted without being asked for could not be taken: the domains could not be stopped.
pub(crate) const NO_SNAPSHOT_STOP: &[u8] = b"ocaml-snapshot-without-stop";

/// Several domains of an OCaml 5.3, which reports blocks as dead that other domains have promoted
/// (ocaml/ocaml#14057): lifetimes are too short.
pub(crate) const DOMAINS_MISREPORTED: &[u8] = b"ocaml-domains-misreported";
