//! Makes way for the program when it starts `Gc.Memprof` itself. \[UNSAFE\]
//!
//! The runtime has room for one client. A program that finds it taken gets an exception which it does not
//! expect, and dies. Its calls of `caml_memprof_start` and `caml_memprof_stop` are bound within the
//! executable, so they cannot be heard by name. So at the start, before there is any OCaml code, the first
//! bytes of both functions become a jump to us. At the first call the bytes are put back, our sampling is
//! stopped, and the call goes on as if we had never been there:
//!
//! ```text
//! caml_memprof_start ─▶ make_way_for_start ─ bytes back ─ stop ours ─▶ caml_memprof_start
//! ```
//!
//! When recording has ended and the program goes on, sampling is stopped in the same way, so that it costs
//! nothing any more.
//!
//! Whoever calls these functions holds the runtime's lock, so nobody is in them while they change. OCaml 5
//! has a profile for each domain, and domains run at the same time: there nothing is changed.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

use lifetrace_transport::message::{Body, NoticeKind};

use crate::blocks::{NONE, Value};
use crate::callbacks;
use crate::runtime::{self, Runtime};

const PAGE: usize = 4096;

#[cfg(target_arch = "x86_64")]
const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0]; // jmp [rip]; the address follows

#[cfg(target_arch = "aarch64")]
const JUMP: [u8; 8] = [0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6]; // ldr x16, .+8; br x16; the address follows

const PATCH: usize = JUMP.len() + size_of::<usize>();

/// The first bytes of the two functions, as they were.
struct Original(UnsafeCell<[[u8; PATCH]; 2]>);

// SAFETY: written before the program runs, and read under the runtime's lock.
unsafe impl Sync for Original {}

static ORIGINAL: Original = Original(UnsafeCell::new([[0; PATCH]; 2]));
static IN_PLACE: AtomicBool = AtomicBool::new(false);

/// To be called once sampling has started, before the program runs; false if the kernel does not let the
/// program's code be changed.
pub(crate) fn prepare(runtime: &Runtime) -> bool {
    if runtime.version.has_fibers() {
        return true;
    }
    let places = functions(runtime);
    let ways = [make_way_for_start as *const () as usize, make_way_for_stop as *const () as usize];
    for (index, (place, way)) in places.into_iter().zip(ways).enumerate() {
        // SAFETY: functions of the runtime, each longer than a patch; nobody runs them now.
        unsafe {
            (*ORIGINAL.0.get())[index] = place.cast::<[u8; PATCH]>().read();
            if !write(place, &jump_to(way)) {
                put_back(runtime);
                return false;
            }
        }
    }
    IN_PLACE.store(true, Ordering::Release);
    true
}

unsafe extern "C" fn make_way_for_start(rate: Value, depth: Value, tracker: Value) -> Value {
    let Some(runtime) = runtime::get() else { return NONE };
    make_way(runtime);
    // SAFETY: the program's call, which may raise: nothing of ours is left to be dropped.
    unsafe { (runtime.start)(rate, depth, tracker) }
}

unsafe extern "C" fn make_way_for_stop(unit: Value) -> Value {
    let Some(runtime) = runtime::get() else { return NONE };
    make_way(runtime);
    // SAFETY: as above.
    unsafe { (runtime.stop)(unit) }
}

/// Ends our sampling, for good; whether it had not ended before. To be called where the runtime's lock is
/// held, in a callback too.
pub(crate) fn end(runtime: &Runtime) -> bool {
    let was_ours = IN_PLACE.swap(false, Ordering::AcqRel);
    if was_ours {
        put_back(runtime);
        // SAFETY: it is started, so it raises nothing.
        unsafe { (runtime.stop)(NONE) };
    }
    was_ours
}

/// Ends our sampling because the program wants to.
fn make_way(runtime: &Runtime) {
    if end(runtime)
        && let Some(mut entered) = callbacks::enter()
    {
        entered.send(Body::Notice { kind: NoticeKind::OwnMemprof });
    }
}

fn put_back(runtime: &Runtime) {
    for (index, place) in functions(runtime).into_iter().enumerate() {
        // SAFETY: what was there before; it has been writable.
        unsafe { write(place, &(*ORIGINAL.0.get())[index]) };
    }
}

fn functions(runtime: &Runtime) -> [*mut u8; 2] {
    [runtime.start as *mut u8, runtime.stop as *mut u8]
}

fn jump_to(address: usize) -> [u8; PATCH] {
    let mut code = [0; PATCH];
    code[..JUMP.len()].copy_from_slice(&JUMP);
    code[JUMP.len()..].copy_from_slice(&address.to_ne_bytes());
    code
}

/// Changes code. Other threads may run other functions of the same page meanwhile, so it stays executable.
///
/// # Safety
/// Nobody runs these bytes, and they are code.
unsafe fn write(place: *mut u8, code: &[u8; PATCH]) -> bool {
    let start = place as usize & !(PAGE - 1);
    let length = place as usize + PATCH - start;
    let protect = |access| {
        // SAFETY: pages of the program's code, which keep being readable and executable.
        unsafe { libc::mprotect(start as *mut _, length, access) == 0 }
    };
    if !protect(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) {
        return false;
    }
    // SAFETY: writable now, and nobody runs it.
    unsafe { place.cast::<[u8; PATCH]>().write_volatile(*code) };
    #[cfg(target_arch = "aarch64")]
    // SAFETY: makes the new code seen.
    unsafe {
        core::arch::asm!("dc cvau, {0}", "dsb ish", "ic ivau, {0}", "dsb ish", "isb", in(reg) place)
    };
    protect(libc::PROT_READ | libc::PROT_EXEC)
}
