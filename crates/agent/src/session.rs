//! The shared segment as the agent sees it. \[UNSAFE\]
//!
//! A session lives until the process image ends. Its memory is never unmapped while a thread could
//! be inside; a forked child replaces it, being a single thread then.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, Ordering};

use lifetrace_transport::handshake::{self, Hello, Origin, SOCKET_VARIABLE, Welcome};
use lifetrace_transport::patch::{self, Patch};
use lifetrace_transport::ring::{Ring, RingHeader};
use lifetrace_transport::segment::{SegmentHeader, patches_offset, ring_offsets, segment_bytes};

use crate::lock::Patience;
use crate::sampler::Rate;
use crate::sys::{self, Address};
use crate::thread;

/// More rings than this are not used.
pub const MAX_RINGS: usize = 16;

/// How long a recorder may take to answer.
const HANDSHAKE_MILLIS: u64 = 5_000;

/// How long a standing one may take when a program begins, of which that is to be recorded from the start.
const STANDING_MILLIS: u64 = 2_000;

/// How long it may take when a program looks for it in the midst of its work.
const LATE_MILLIS: u64 = 250;

/// A mapped segment. What every message needs stands at the front.
#[derive(Debug)]
#[repr(C)]
pub struct Session {
    /// Settings, heartbeat, counters.
    pub header: &'static SegmentHeader,
    base: NonNull<u8>,
    ring_count: usize,
    /// Different for each session of this process and those that it was forked from.
    pub number: u32,
    /// It is that of a forked child, which has its parent's code and hooks.
    pub is_of_fork: bool,
    /// The probability of a word, as it was first.
    rate: Rate,
    /// Where its recorder listens.
    path: [u8; PATH_ROOM],
    path_length: usize,
}

/// Longest address of a recorder, in bytes.
const PATH_ROOM: usize = 108 + handshake::STANDING.len();

static CURRENT: AtomicPtr<Session> = AtomicPtr::new(core::ptr::null_mut());
static PATH: [AtomicU8; PATH_ROOM] = [const { AtomicU8::new(0) }; PATH_ROOM];
static PATH_LENGTH: AtomicUsize = AtomicUsize::new(0);
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// The session before the current one, where it is still to be given back.
static BEFORE: AtomicPtr<Session> = AtomicPtr::new(core::ptr::null_mut());

/// The session of this process, once there is one.
pub fn current() -> Option<&'static Session> {
    // SAFETY: null, or a session that stays mapped while this process image lives.
    unsafe { CURRENT.load(Ordering::Acquire).as_ref() }
}

/// Finds the recorder, and becomes one of its sessions. `None`: nobody listens, or not to us.
pub(crate) fn connect(origin: Origin, path: &[u8]) -> Option<&'static Session> {
    let patience = match origin {
        Origin::Late(_) => LATE_MILLIS,
        Origin::Exec | Origin::Fork => STANDING_MILLIS,
    };
    let socket = greet(Hello::Session(origin), path, patience)?;
    let mut answer = [0; handshake::LEN];
    let (length, memory) = sys::receive(&socket, &mut answer)?;
    let welcome = Welcome::from_bytes(answer.get(..length)?)?;
    install(&memory, welcome.segment_bytes as usize, path, origin == Origin::Fork)
}

/// Becomes the session whose memory is behind `memory`, of a recorder that listens at `path`. The one before is over; it
/// is returned.
pub(crate) fn join(
    memory: &sys::Descriptor,
    bytes: usize,
    path: &[u8],
) -> Option<(&'static Session, Option<&'static Session>)> {
    let before = current();
    keep_path(path);
    Some((install(memory, bytes, path, false)?, before))
}

/// Gives what it can of a session back that is not [`current`] any more, and all of the one before that: a thread may just
/// have found the former, by a hook of a managed runtime's.
///
/// # Safety
/// No thread that is not [busy](thread::is_any_busy) knows an earlier session than `before`.
pub(crate) unsafe fn give_back(before: &'static Session) {
    before.give_back_rings();
    let earlier = BEFORE.swap(core::ptr::from_ref(before).cast_mut(), Ordering::AcqRel);
    // SAFETY: null, or a session that was the last one, and is mapped.
    let earlier = unsafe { earlier.as_ref() };
    if let Some(earlier) = earlier.filter(|_| !thread::is_any_busy()) {
        earlier.give_back();
    }
}

/// Says hello to the recorder of this process once more; `None` if nobody listens any more.
pub(crate) fn approach(hello: Hello) -> Option<sys::Descriptor> {
    let session = current()?;
    greet(hello, session.path.get(..session.path_length)?, LATE_MILLIS)
}

/// Has the recorder look at what was sent, without an answer.
pub(crate) fn announce_end() {
    approach(Hello::Leaving);
}

/// `standing_millis` is for how long to wait for a standing recorder.
fn greet(hello: Hello, path: &[u8], standing_millis: u64) -> Option<sys::Descriptor> {
    let socket = knock(path, standing_millis)?;
    sys::send(&socket, &hello.to_bytes()).then_some(socket)
}

/// By the path, or if the process has left that part of the file system (chroot), without one.
fn knock(path: &[u8], standing_millis: u64) -> Option<sys::Descriptor> {
    if let Some(path) = handshake::standing(path) {
        return sys::connect(Address::Path(path), standing_millis);
    }
    if let Some(name) = path.strip_prefix(b"@") {
        return sys::connect(Address::Abstract(name), HANDSHAKE_MILLIS);
    }
    sys::connect(Address::Path(path), HANDSHAKE_MILLIS).or_else(|| {
        sys::connect(Address::Abstract(handshake::abstract_twin(path)?), HANDSHAKE_MILLIS)
    })
}

/// The recorder's address, as the process was given it: a program may empty its environment before
/// it forks.
pub(crate) fn socket_path() -> Option<&'static [u8]> {
    if PATH_LENGTH.load(Ordering::Acquire) == 0 {
        keep_path(sys::environment_variable(SOCKET_VARIABLE)?);
    }
    let length = PATH_LENGTH.load(Ordering::Acquire);
    // SAFETY: these bytes do not change any more; an atomic byte has the layout of a byte.
    Some(unsafe { core::slice::from_raw_parts(PATH.as_ptr().cast(), length) })
}

fn keep_path(path: &[u8]) {
    for (to, from) in PATH.iter().zip(path) {
        to.store(*from, Ordering::Relaxed);
    }
    PATH_LENGTH.store(path.len().min(PATH.len()), Ordering::Release);
}

/// Whether the recorder in the environment is one that may come later.
pub fn awaits_recorder() -> bool {
    socket_path().is_some_and(|path| handshake::standing(path).is_some())
}

/// Malloc's rate where it is not sampled: countdowns are to end rarely.
const UNHEARD: f64 = 1e-9;

fn install(
    memory: &sys::Descriptor,
    bytes: usize,
    path: &[u8],
    is_of_fork: bool,
) -> Option<&'static Session> {
    let base = sys::map_shared(memory, bytes)?;
    // SAFETY: the recorder wrote a header of this version at the start of the segment, and the
    // mapping is never removed in this process.
    let header: &'static SegmentHeader = unsafe { base.cast::<SegmentHeader>().as_ref() };
    let settings = header.settings();
    if segment_bytes(settings) > bytes || !settings.ring_bytes.is_power_of_two() {
        return None;
    }
    let place = sys::map(size_of::<Session>())?.cast::<Session>();
    let path_length = path.len().min(PATH_ROOM);
    let mut kept = [0; PATH_ROOM];
    kept[..path_length].copy_from_slice(&path[..path_length]);
    let session = Session {
        path: kept,
        path_length,
        header,
        is_of_fork,
        rate: Rate::per_word(settings.sources.malloc().map_or(UNHEARD, |malloc| malloc.rate)),
        number: NUMBER.fetch_add(1, Ordering::Relaxed) + 1,
        base,
        ring_count: (settings.ring_count as usize).clamp(1, MAX_RINGS),
    };
    // SAFETY: fresh memory, large and aligned enough.
    unsafe { place.write(session) };
    CURRENT.store(place.as_ptr(), Ordering::Release);
    current()
}

/// In a forked child: lets go of the parent's session.
pub(crate) fn abandon() {
    BEFORE.store(core::ptr::null_mut(), Ordering::Release);
    CURRENT.store(core::ptr::null_mut(), Ordering::Release);
}

impl Session {
    /// The probability of a word, as it was when the session began.
    pub(crate) fn first_rate(&self) -> Rate {
        self.rate
    }

    /// The probability of a word, as it is now.
    pub fn rate(&self) -> Rate {
        self.header.rate().map_or(self.rate, Rate::per_word)
    }

    /// For how long to wait for a lock of the agent's: where all is recorded nothing may be lost.
    pub fn patience(&self) -> Patience {
        if self.header.settings().exact() { Patience::Long } else { Patience::Short }
    }

    /// Whether small blocks that a runtime has in arenas of its own are to be heard.
    pub fn hears_small_objects(&self) -> bool {
        self.header.wants_small_objects()
    }

    /// Number of patches.
    pub fn patch_count(&self) -> usize {
        self.header.settings().patches as usize
    }

    /// Patch `index`, if it is one.
    pub fn patch(&self, index: usize) -> Option<Patch> {
        let settings = self.header.settings();
        if index >= settings.patches as usize {
            return None;
        }
        let offset = patches_offset(settings) + index * patch::LEN;
        // SAFETY: `install` checked that all patches lie inside the mapping, which stays.
        let bytes = unsafe { self.base.add(offset).cast::<[u8; patch::LEN]>().read() };
        Patch::from_bytes(&bytes)
    }

    /// Number of rings in use.
    pub fn ring_count(&self) -> usize {
        self.ring_count
    }

    /// Gives the memory of the rings back, once the session is over and the recorder has let go of it.
    /// The addresses stay mapped: a thread may still be on its way out.
    pub fn give_back_rings(&self) {
        let settings = self.header.settings();
        let (start, end) = (ring_offsets(settings, 0).0, segment_bytes(settings));
        // SAFETY: inside the mapping, as `install` has checked.
        unsafe { sys::discard_shared(self.base.add(start), end - start) };
    }

    /// Gives all its memory back, its own included. To be called when it is not [`current`] any more, and no thread
    /// refers to it.
    fn give_back(&self) {
        let bytes = segment_bytes(self.header.settings());
        let own = NonNull::from(self).cast();
        // SAFETY: both are mappings of `install`'s, which nobody uses any more.
        unsafe {
            sys::unmap(self.base, bytes);
            sys::unmap(own, size_of::<Session>());
        }
    }

    /// Ring `index`, below [`ring_count`](Self::ring_count).
    pub(crate) fn ring(&self, index: usize) -> Ring<'static> {
        let settings = self.header.settings();
        let (header, data) = ring_offsets(settings, index);
        // SAFETY: `install` checked that all rings lie inside the mapping, which stays.
        unsafe {
            let header = self.base.add(header).cast::<RingHeader>().as_ref();
            Ring::new(header, self.base.add(data).as_ptr(), settings.ring_bytes as usize)
        }
    }
}
