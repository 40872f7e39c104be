//! Where the unwind tables of large modules are read: in mappings of our own. \[UNSAFE\]
//!
//! Looking a frame up reads a few bytes in different places of `.eh_frame_hdr` and `.eh_frame`. The
//! kernel maps 16 pages around each place, if it has them in its cache, so that the tables of a large
//! module (LLVM's have 5 MiB) soon count as the program's resident memory, though nobody looks at
//! most of it again. In the loader's mapping they would have to stay: what the loader or the program
//! itself has put there might not be the file's any more. So the file is mapped once more, and of this
//! mapping all pages are forgotten after every [`LOOK_UPS`]; who reads there again gets them from the
//! kernel's cache.
//!
//! Files are opened at the start only, when the loader has just done so: a sandbox may forbid it
//! later. Smaller tables, those of modules that come later, and all whose file cannot be opened are
//! read where the loader has them.

use core::ffi::CStr;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use lifetrace_agent::sys;

/// Smaller tables are left alone.
pub const LEAST_BYTES: usize = 1024 * 1024;

/// Pages are forgotten after so many frames were looked up. Of LLVM's and clang's tables, 11 MiB, this
/// leaves at most 2.4 MiB resident for some 600 page faults more than the 100 of those who keep them;
/// with half of it, 1.9 MiB for 1000.
const LOOK_UPS: u32 = 64;

/// How much of a table has to be the same for a file to be taken for the module's.
const COMPARED: usize = 256;

const PAGE: usize = 4096;

/// A part of a module that was mapped again.
struct Again {
    loaded: AtomicUsize,
    bytes: AtomicUsize,
    again: AtomicUsize,
}

/// Filled at the start, in order; a zero is the end.
static MAPPED: [Again; 8] = [const {
    Again { loaded: AtomicUsize::new(0), bytes: AtomicUsize::new(0), again: AtomicUsize::new(0) }
}; 8];

static LOOKED_UP: AtomicU32 = AtomicU32::new(0);

/// Maps the file `path` from `offset` on, where it is the same as what is `loaded`. To be called
/// while the process has a single thread.
pub fn map_again(path: &CStr, offset: u64, loaded: &'static [u8]) {
    let start = loaded.as_ptr() as usize;
    let within_page = start % PAGE;
    let place = MAPPED.iter().find(|place| place.loaded.load(Ordering::Relaxed) == 0);
    let (Some(place), Some(offset)) = (place, offset.checked_sub(within_page as u64)) else {
        return;
    };
    if loaded.len() < LEAST_BYTES || !offset.is_multiple_of(PAGE as u64) {
        return;
    }
    let length = within_page + loaded.len();
    let Some(again) = sys::map_file(path, offset, length) else { return };
    // Of a file that was just written, 2 MiB would come at a time.
    sys::avoid_huge_pages(again, length);
    place.again.store(again.as_ptr() as usize + within_page, Ordering::Relaxed);
    place.bytes.store(loaded.len(), Ordering::Relaxed);
    place.loaded.store(start, Ordering::Release);
}

/// The tables of a module (`.eh_frame_hdr` and `.eh_frame`) where they are to be read.
pub fn where_to_read(tables: [&'static [u8]; 2]) -> [&'static [u8]; 2] {
    let [header, _] = tables;
    let compared = header.len().min(COMPARED);
    let [Some(other_header), Some(other_frames)] = tables.map(in_our_mapping) else {
        return tables;
    };
    // Another module may be where one was that is gone.
    if other_header[..compared] == header[..compared] {
        [other_header, other_frames]
    } else {
        tables
    }
}

fn in_our_mapping(part: &'static [u8]) -> Option<&'static [u8]> {
    let start = part.as_ptr() as usize;
    mapped().find_map(|(loaded, bytes, again)| {
        let offset = start.checked_sub(loaded)?;
        let fits = offset.checked_add(part.len())? <= bytes;
        // SAFETY: inside a mapping of ours, which is readable and stays.
        fits.then(|| unsafe {
            core::slice::from_raw_parts((again + offset) as *const u8, part.len())
        })
    })
}

/// Says that a frame was looked up.
pub fn looked_up() {
    if LOOKED_UP.fetch_add(1, Ordering::Relaxed) % LOOK_UPS == LOOK_UPS - 1 {
        forget();
    }
}

#[cold]
fn forget() {
    for (_, bytes, again) in mapped() {
        let within_page = again % PAGE;
        let Some(start) = NonNull::new((again - within_page) as *mut u8) else { continue };
        // SAFETY: pages of a mapping of ours that nobody writes to: who reads them has the file's
        // contents again.
        unsafe { sys::discard(start, within_page + bytes) };
    }
}

/// Start and length of what is loaded, and where it is mapped again.
fn mapped() -> impl Iterator<Item = (usize, usize, usize)> {
    let all = MAPPED.iter().map(|place| {
        let loaded = place.loaded.load(Ordering::Acquire);
        (loaded, place.bytes.load(Ordering::Relaxed), place.again.load(Ordering::Relaxed))
    });
    all.take_while(|(loaded, ..)| *loaded != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::vec::Vec;

    /// A file of `bytes` random bytes, and the same as a module would have it.
    fn module(name: &str, bytes: usize) -> (CString, &'static [u8], Vec<u8>) {
        let mut random = lifetrace_agent::random::Random::new(5, 5);
        let contents: Vec<u8> = (0..bytes).map(|_| random.word() as u8).collect();
        let path = std::env::temp_dir().join(std::format!("{name}.{}", std::process::id()));
        std::fs::File::create(&path).unwrap().write_all(&contents).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let (null, kind) = (core::ptr::null_mut(), libc::MAP_PRIVATE);
        let write = libc::PROT_READ | libc::PROT_WRITE;
        let loaded = unsafe { libc::mmap(null, bytes, write, kind, file.as_raw_fd(), 0) };
        let loaded = unsafe { core::slice::from_raw_parts(loaded.cast::<u8>(), bytes) };
        (CString::new(path.into_os_string().into_encoded_bytes()).unwrap(), loaded, contents)
    }

    fn resident(part: &[u8]) -> usize {
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let start = std::format!("{:x}-", part.as_ptr() as usize & !(PAGE - 1));
        let mut lines = smaps.lines().skip_while(|line| !line.starts_with(&start));
        let line = lines.find(|line| line.starts_with("Rss:")).unwrap();
        line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
    }

    #[test]
    fn what_is_read_is_the_same_and_is_forgotten() {
        let (path, loaded, contents) = module("again", 3 * LEAST_BYTES);
        let part = &loaded[5000..];
        map_again(&path, 5000, part);
        std::fs::remove_file(path.to_str().unwrap()).unwrap();
        let tables = [&part[..LEAST_BYTES], &part[LEAST_BYTES + 4..]];
        let [header, frames] = where_to_read(tables);
        assert_ne!(header.as_ptr(), tables[0].as_ptr());
        for _ in 0..2 {
            assert!(header == &contents[5000..][..LEAST_BYTES]);
            assert!(frames == &contents[5004 + LEAST_BYTES..]);
            (0..LOOK_UPS).for_each(|_| looked_up());
            // Other tests look frames up, but not in this.
            assert_eq!(resident(header), 0);
        }
        // Another module, loaded at the same place.
        unsafe { loaded[5000..5008].as_ptr().cast_mut().write_bytes(0x55, 8) };
        assert_eq!(where_to_read(tables).map(<[u8]>::as_ptr), tables.map(<[u8]>::as_ptr));
    }

    #[test]
    fn what_cannot_be_mapped_again_is_read_where_it_is() {
        let (path, loaded, _) = module("left", 2 * LEAST_BYTES);
        map_again(c"/no/such/file", 0, loaded);
        map_again(&path, 4096, loaded);
        map_again(&path, 0, &loaded[1..]);
        map_again(&path, 0, &loaded[..LEAST_BYTES - 1]);
        std::fs::remove_file(path.to_str().unwrap()).unwrap();
        let tables = [&loaded[..100], &loaded[100..]];
        assert_eq!(where_to_read(tables).map(<[u8]>::as_ptr), tables.map(<[u8]>::as_ptr));
    }
}
