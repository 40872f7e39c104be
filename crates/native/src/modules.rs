//! Which object files are mapped where, as the loader has it. \[UNSAFE\]
//!
//! Before each backtrace the loader's own counters of arrivals and departures are compared with those
//! of the last scan; only when they moved are the modules read again, the differences announced, and
//! a new map published to the unwinder, in this order, so that a frame's module is always announced
//! before the frame.
//!
//! # The loader's lock
//!
//! `dl_iterate_phdr` takes it. Nothing of ours that another thread may wait for without bound is held
//! meanwhile: the thread that refreshes holds [`REFRESH`], and the others give up waiting for it after
//! a while and make do with the map there is.
//!
//! A fork copies the lock as it is, and a child whose parent's other thread held it would wait for
//! ever. So a fork waits until none of our own threads is in the loader ([`IN_LOADER`]), and a forked
//! child goes by the inherited list until a walk meets code that it doesn't know: then the child has
//! itself loaded a module since, which shows that its loader works.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_int, c_void};
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use alloc::string::String;
use alloc::vec::Vec;
use framehop::{ExplicitModuleSectionInfo, Module, Unwinder as _};
use lifetrace_agent::guard::Entered;
use lifetrace_agent::lock::{Held, Lock, Patience};
use lifetrace_agent::sys;
use lifetrace_transport::message::{self, Body};

use crate::executable;
use crate::unwind::engine::{self, Engine, Map};
use crate::unwind::tables;

/// A mapped object file.
#[derive(Clone, Debug)]
struct Loaded {
    bias: u64,
    text: Range<u64>,
    build_id: Vec<u8>,
    path: Vec<u8>,
    unwind_table: Option<&'static [u8]>,
    unwind_table_end: u64,
    /// From an offset in the file to the address of what is in the unwind table's segment.
    file_bias: u64,
}

/// The unwind table is not looked at: another thread may have unloaded the module meanwhile.
impl PartialEq for Loaded {
    fn eq(&self, other: &Self) -> bool {
        let what = |it: &Self| (it.bias, it.text.start, it.text.end);
        what(self) == what(other) && self.build_id == other.build_id && self.path == other.path
    }
}

struct Known(UnsafeCell<Vec<Loaded>>);

// SAFETY: touched under `REFRESH` only.
unsafe impl Sync for Known {}

static REFRESH: Lock = Lock::new();
static KNOWN: Known = Known(UnsafeCell::new(Vec::new()));

/// What was last read: the loader's two counters and the session that was told, mixed.
static STATE: AtomicU64 = AtomicU64::new(0);

/// Threads of ours that may hold the loader's lock; and whether no more may join them.
static IN_LOADER: AtomicU32 = AtomicU32::new(0);
static FORKING: AtomicBool = AtomicBool::new(false);

/// This process is a fork, and has not scanned for itself.
static INHERITED: AtomicBool = AtomicBool::new(false);

/// The page of the last unknown code that a scan did not explain.
static UNEXPLAINED: AtomicU64 = AtomicU64::new(0);

/// To be called at the start, while the process has a single thread.
pub fn prepare() {
    for module in in_loader(scan).unwrap_or_default() {
        let _ = module.map_tables_again();
    }
}

/// Brings the map up to date, and the recorder too.
pub fn refresh(entered: &mut Entered) {
    let session = entered.session().number;
    if INHERITED.load(Ordering::Relaxed) {
        if told() != session {
            update(entered, inherited_state(session), |known| known.clone());
        }
    } else if let Some(state) = in_loader(|| loader_state(session))
        && STATE.load(Ordering::Acquire) != state
    {
        update(entered, state, |_| scan());
    }
}

/// To be called when a walk met code at `address` that is in no module; whether it pays to walk again.
pub fn refresh_for_unknown(entered: &mut Entered, address: u64) -> bool {
    let page = address >> 12;
    let forked = INHERITED.load(Ordering::Relaxed);
    if !forked || UNEXPLAINED.swap(page, Ordering::Relaxed) == page {
        return false;
    }
    update(entered, inherited_state(entered.session().number), |_| scan());
    true
}

fn update(entered: &mut Entered, state: u64, read: impl FnOnce(&Vec<Loaded>) -> Vec<Loaded>) {
    let Some(_held) = REFRESH.acquire(Patience::Short) else { return };
    let new_session = told() != (state >> 32) as u32;
    // SAFETY: under the lock.
    let known = unsafe { &mut *KNOWN.0.get() };
    let Some(modules) = in_loader(|| read(known)) else { return };
    announce(entered, known, &modules, new_session);
    engine::publish(map(&modules));
    *known = modules;
    STATE.store(state, Ordering::Release);
}

/// The session that was last told.
fn told() -> u32 {
    (STATE.load(Ordering::Acquire) >> 32) as u32
}

fn inherited_state(session: u32) -> u64 {
    u64::from(session) << 32
}

/// Runs what may take the loader's lock, unless a fork is under way.
fn in_loader<T>(work: impl FnOnce() -> T) -> Option<T> {
    IN_LOADER.fetch_add(1, Ordering::SeqCst);
    let result = (!FORKING.load(Ordering::SeqCst)).then(work);
    IN_LOADER.fetch_sub(1, Ordering::SeqCst);
    result
}

/// Holds the list still and keeps our threads out of the loader, for a fork.
pub fn freeze() -> Option<Held<'static>> {
    let held = REFRESH.acquire(Patience::Short);
    FORKING.store(true, Ordering::SeqCst);
    let deadline = sys::now().0 + Patience::Short.millis() * 1_000_000;
    while IN_LOADER.load(Ordering::SeqCst) > 0 && sys::now().0 < deadline {
        sys::yield_now();
    }
    held
}

/// Lets our threads into the loader again.
pub fn reopen() {
    FORKING.store(false, Ordering::SeqCst);
}

/// Ends the hold on the list, whose holder was forgotten or is not in this process.
pub fn thaw() {
    REFRESH.reset();
}

/// In a forked child: the others are in the parent.
pub fn reset_after_fork() {
    IN_LOADER.store(0, Ordering::SeqCst);
    INHERITED.store(true, Ordering::Relaxed);
    reopen();
    thaw();
}

/// A definition of `symbol` outside this library, in whichever module has one.
pub fn find_symbol(symbol: &CStr) -> Option<*mut c_void> {
    let modules = scan();
    let here = refresh as *const () as u64;
    let own = modules.iter().find(|module| module.text.contains(&here));
    modules.iter().find_map(|module| {
        let mut path = module.path.clone();
        path.push(0);
        // SAFETY: C strings. NOLOAD only counts a reference, which keeps what we find loaded.
        let found = unsafe {
            let handle = libc::dlopen(path.as_ptr().cast(), libc::RTLD_NOLOAD | libc::RTLD_LAZY);
            if handle.is_null() {
                return None;
            }
            libc::dlsym(handle, symbol.as_ptr())
        };
        let ours = own.is_some_and(|own| own.text.contains(&(found as u64)));
        (!found.is_null() && !ours).then_some(found)
    })
}

fn announce(entered: &mut Entered, old: &[Loaded], new: &[Loaded], everything: bool) {
    if !everything {
        for gone in old.iter().filter(|module| !new.contains(module)) {
            entered.send(Body::ModuleUnloaded { start: gone.text.start });
        }
    }
    for module in new.iter().filter(|module| everything || !old.contains(module)) {
        entered.send(Body::ModuleLoaded(message::Module {
            bias: module.bias,
            start: module.text.start,
            end: module.text.end,
            build_id: &module.build_id,
            path: &module.path,
        }));
    }
}

fn map(modules: &[Loaded]) -> Map {
    let here = refresh as *const () as u64;
    let mut engine = Engine::new();
    let mut text: Vec<Range<u64>> = Vec::with_capacity(modules.len());
    let mut own = 0..0;
    for module in modules {
        engine.add_module(framehop_module(module));
        text.push(module.text.clone());
        if module.text.contains(&here) {
            own = module.text.clone();
        }
    }
    text.sort_unstable_by_key(|range| range.start);
    Map::new(engine, text, own)
}

fn framehop_module(module: &Loaded) -> Module<&'static [u8]> {
    let sections = module.unwind_sections().unwrap_or_default();
    Module::new(String::new(), module.text.clone(), module.bias, sections)
}

impl Loaded {
    /// `.eh_frame_hdr` as its program header says, and `.eh_frame` as that one says, up to the end
    /// of its segment.
    fn unwind_sections(&self) -> Option<ExplicitModuleSectionInfo<&'static [u8]>> {
        let table = self.unwind_table?;
        let (table_start, frames) = self.unwind_addresses()?;
        let length = self.unwind_table_end.checked_sub(frames)? as usize;
        // SAFETY: the segment that holds both is mapped readable as long as the module is loaded;
        // no backtrace leads into a module that has been unloaded.
        let frames_bytes = unsafe { core::slice::from_raw_parts(frames as *const u8, length) };
        let [table, frames_bytes] = tables::where_to_read([table, frames_bytes]);
        let stated = |address: u64, length: usize| {
            let start = address.wrapping_sub(self.bias);
            Some(start..start + length as u64)
        };
        Some(ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma: stated(self.text.start, (self.text.end - self.text.start) as usize),
            eh_frame_svma: stated(frames, length),
            eh_frame: Some(frames_bytes),
            eh_frame_hdr_svma: stated(table_start, table.len()),
            eh_frame_hdr: Some(table),
            ..Default::default()
        })
    }
}

impl Loaded {
    /// Where `.eh_frame_hdr` and `.eh_frame` begin.
    fn unwind_addresses(&self) -> Option<(u64, u64)> {
        let table = self.unwind_table?;
        let start = table.as_ptr() as u64;
        Some((start, frames_address(table, start)?))
    }

    /// Has the unwind tables read in a mapping of their own, if they are large.
    fn map_tables_again(&self) -> Option<()> {
        let (table, frames) = self.unwind_addresses()?;
        let start = table.min(frames);
        let length = self.unwind_table_end.checked_sub(start)? as usize;
        let mut path = self.path.clone();
        path.push(0);
        let path = CStr::from_bytes_with_nul(&path).ok()?;
        // SAFETY: part of a segment that is mapped readable.
        let loaded = unsafe { core::slice::from_raw_parts(start as *const u8, length) };
        tables::map_again(path, start.wrapping_sub(self.file_bias), loaded);
        Some(())
    }
}

/// Where `.eh_frame` begins (LSB core specification, "The .eh_frame_hdr section"): only the encoding
/// that all linkers use, a 4-byte offset from the field itself.
fn frames_address(table: &[u8], table_start: u64) -> Option<u64> {
    const VERSION: u8 = 1;
    const RELATIVE_SIGNED_4: u8 = 0x1b;
    let [VERSION, RELATIVE_SIGNED_4, _, _, a, b, c, d] = *table.first_chunk::<8>()? else {
        return None;
    };
    let offset = i32::from_le_bytes([a, b, c, d]);
    Some((table_start + 4).wrapping_add_signed(i64::from(offset)))
}

/// The loader's counters in the low half, the session in the high half.
fn loader_state(session: u32) -> u64 {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        state: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a valid info, and we passed a u64.
        unsafe {
            let (arrivals, departures) = ((*info).dlpi_adds, (*info).dlpi_subs);
            *state.cast::<u64>() = arrivals.wrapping_mul(0x9E37_79B1) ^ departures;
        }
        1
    }
    let mut state = 0u64;
    // SAFETY: the callback matches the type of its argument.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut state).cast()) };
    state & 0xffff_ffff | u64::from(session) << 32
}

fn scan() -> Vec<Loaded> {
    unsafe extern "C" fn each(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        modules: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a valid info, and we passed a Vec.
        unsafe {
            if let Some(module) = read(&*info) {
                (*modules.cast::<Vec<Loaded>>()).push(module);
            }
        }
        0
    }
    let mut modules = Vec::with_capacity(64);
    // SAFETY: the callback matches the type of its argument. It allocates from the private arena,
    // whose lock nobody holds while waiting for the loader.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut modules).cast()) };
    modules
}

/// # Safety
/// `info` is what the loader passes to a callback, during that callback.
unsafe fn read(info: &libc::dl_phdr_info) -> Option<Loaded> {
    // SAFETY: the loader's own table of program headers, of that length.
    let headers =
        unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let address = |header: &libc::Elf64_Phdr| info.dlpi_addr.wrapping_add(header.p_vaddr);
    let loads = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let mut text: Option<Range<u64>> = None;
    for header in loads().filter(|header| header.p_flags & libc::PF_X != 0) {
        let range = address(header)..address(header) + header.p_memsz;
        text =
            Some(text.map_or(range.clone(), |text| {
                text.start.min(range.start)..text.end.max(range.end)
            }));
    }
    let unwind_table = headers.iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME);
    let holder = unwind_table.and_then(|table| {
        loads().find(|load| {
            load.p_vaddr <= table.p_vaddr && table.p_vaddr < load.p_vaddr + load.p_filesz
        })
    });
    let notes = headers.iter().filter(|header| header.p_type == libc::PT_NOTE);
    // SAFETY: program headers of a loaded module describe memory that is mapped readable.
    unsafe {
        Some(Loaded {
            bias: info.dlpi_addr,
            text: text?,
            build_id: notes
                .filter_map(|note| build_id(bytes(address(note), note.p_memsz)))
                .next()
                .unwrap_or_default()
                .to_vec(),
            path: path(info),
            unwind_table: unwind_table.map(|table| bytes(address(table), table.p_memsz)),
            unwind_table_end: holder.map_or(0, |holder| address(holder) + holder.p_filesz),
            file_bias: holder.map_or(0, |holder| address(holder).wrapping_sub(holder.p_offset)),
        })
    }
}

/// The loader gives the program itself no name.
///
/// # Safety
/// As for [`read`].
unsafe fn path(info: &libc::dl_phdr_info) -> Vec<u8> {
    let name = if info.dlpi_name.is_null() {
        b"".as_slice()
    } else {
        // SAFETY: the loader's name is a C string.
        unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes()
    };
    if name.is_empty() { executable::path() } else { name }.to_vec()
}

/// # Safety
/// `length` bytes at `address` are mapped readable, and stay so while the module is loaded.
unsafe fn bytes(address: u64, length: u64) -> &'static [u8] {
    // SAFETY: by contract.
    unsafe { core::slice::from_raw_parts(address as *const u8, length as usize) }
}

/// The first GNU build id among the notes (name size, description size, type, then both, padded
/// to 4 bytes).
fn build_id(mut notes: &[u8]) -> Option<&[u8]> {
    const BUILD_ID: u32 = 3;
    let word =
        |bytes: &[u8], at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk::<4>()?));
    loop {
        let (name, description) = (word(notes, 0)? as usize, word(notes, 4)? as usize);
        let start = 12 + name.next_multiple_of(4);
        let contents = notes.get(start..start.checked_add(description)?)?;
        if word(notes, 8)? == BUILD_ID && notes.get(12..16)? == b"GNU\0" {
            return Some(contents);
        }
        notes = notes.get(start + description.next_multiple_of(4)..)?;
    }
}

/// The modules of now, none of them taken for our own.
#[cfg(test)]
pub(crate) fn map_for_tests() -> Map {
    let mut map = map(&scan());
    map.own = 0..0;
    map
}

#[cfg(test)]
mod tests {
    use lifetrace_agent::backtrace::Backtraces;

    use super::*;

    #[test]
    fn the_scan_finds_this_program_with_its_unwind_table() {
        static PREPARED: std::sync::Once = std::sync::Once::new();
        PREPARED.call_once(executable::take_note);
        let modules = scan();
        let here = scan as *const () as u64;
        let own = modules.iter().find(|module| module.text.contains(&here)).unwrap();
        assert_eq!(own.path, executable::path());
        assert!(!own.build_id.is_empty() || own.unwind_sections().is_some());
        assert!(modules.iter().filter(|module| module.unwind_sections().is_some()).count() > 1);
    }

    #[test]
    fn a_walk_over_the_scanned_modules_reaches_the_outermost_frame() {
        let modules = scan();
        engine::prepare();
        engine::publish(map_for_tests());
        let (mut known, mut backtraces) = (0..0, Backtraces::default());
        let end = engine::walk(0, &mut known, &mut backtraces);
        let frames: Vec<u64> = backtraces.delta().fresh.iter().collect();
        assert!(frames.len() > 5 && frames.len() < 200, "{frames:x?}");
        assert_eq!(end, engine::Walk::Complete);
        let libc = modules.iter().find(|module| module.path.ends_with(b"libc.so.6")).unwrap();
        assert!(libc.text.contains(frames.last().unwrap()), "a thread begins in libc");
    }

    /// Every 13th byte of all code that is mapped, taken for a return address, with random words for
    /// a stack: the rule, where there is one, leads where framehop leads.
    #[test]
    fn rules_do_what_framehop_does() {
        use crate::unwind::engine::Rules;
        use crate::unwind::readable::Readable;
        use crate::unwind::rule::{Caller, Frame, Rule};
        use framehop::FrameAddress;

        let modules = scan();
        let map = map(&modules);
        let mut random = lifetrace_agent::random::Random::new(8, 8);
        let stack: Vec<u64> = (0..1 << 18).map(|_| random.word() >> 17).collect();
        let (start, words) = (stack.as_ptr() as u64, stack.len() as u64);
        let (mut rules, mut known, mut counts) = (Rules::new_in(), 0..0, [0u32; 3]);
        for address in modules.iter().flat_map(|module| module.text.clone().step_by(13)) {
            let Some(code) = FrameAddress::from_return_address(address) else { continue };
            let sp = start + 8 * (words / 4 + random.word() % 1000);
            let frame = Frame { sp, bp: sp + 8 * (random.word() % (words / 2)) };
            let mut registers = crate::unwind::registers::of(address, frame);
            let mut stack = Readable::new(&mut known, sp);
            let Some(rule) = Rule::infer(&map.engine, &mut rules, code) else {
                counts[0] += 1;
                continue;
            };
            let ours = rule.caller(frame, &mut stack);
            let mut read = |address| stack.word(address).ok_or(());
            let theirs = map.engine.unwind_frame(code, &mut registers, &mut rules, &mut read);
            let theirs = match theirs {
                Ok(Some(caller)) => {
                    counts[1] += 1;
                    Caller::At(caller, Frame { sp: registers.sp(), bp: registers.bp() })
                }
                Ok(None) => Caller::None,
                Err(_) => Caller::Unreadable,
            };
            counts[2] += 1;
            assert_eq!(ours, theirs, "{rule:?} at {address:#x}, {frame:x?}");
        }
        let [without, led_on, with] = counts;
        assert!(led_on > 100_000 && with > 20 * without, "{counts:?}");
        std::eprintln!("{with} rules, {without} places without one");
    }

    #[test]
    fn build_ids_are_found_among_other_notes() {
        let mut notes = alloc::vec![];
        for (kind, name, contents) in [(1u32, b"GNU\0", &[1u8, 2, 3][..]), (3, b"GNU\0", &[9; 20])]
        {
            notes.extend(4u32.to_le_bytes());
            notes.extend((contents.len() as u32).to_le_bytes());
            notes.extend(kind.to_le_bytes());
            notes.extend(name);
            notes.extend(contents);
            notes.resize(notes.len().next_multiple_of(4), 0);
        }
        assert_eq!(build_id(&notes), Some(&[9u8; 20][..]));
        assert_eq!(build_id(&notes[..24]), None);
        assert_eq!(build_id(&[0xff; 40]), None);
    }
}
