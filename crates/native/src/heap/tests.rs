//! The heap beside a naive twin: a list of what is alive, each block filled with a mark of its own.
//!
//! SAFETY, of every `unsafe` here: what is released, resized, read or written is a piece that the heap
//! has just given out to this test, which holds it alone, and at a place inside it. Where a test writes
//! into a piece after its release, that is the fault whose harmlessness it shows.

use std::vec::Vec;

use lifetrace_agent::random::Random;
use lifetrace_agent::sys;

use super::range::STEP;
use super::*;

fn heap() -> Heap {
    let heap = Heap::new(Area::of_its_own());
    assert!(heap.prepare());
    heap
}

/// What the twin knows.
struct Twin {
    heap: Heap,
    random: Random,
    live: Vec<(Piece, u8)>,
}

impl Twin {
    fn new(seed: u64) -> Self {
        Twin { heap: heap(), random: Random::new(seed, 1), live: Vec::new() }
    }

    /// A number below 2^`doublings`, every order of magnitude as likely as any other.
    fn size(&mut self, doublings: u64) -> usize {
        let doubling = self.random.word() % doublings;
        (self.random.word() % (2 << doubling)) as usize
    }

    fn allocate(&mut self, bytes: usize) {
        let piece = self.heap.allocate(bytes).unwrap();
        let start = piece.start.as_ptr() as usize;
        assert!(piece.bytes >= bytes && start.is_multiple_of(16));
        assert!(self.heap.contains(start) && self.heap.contains(start + piece.bytes - 1));
        assert_eq!(self.heap.bytes_at(start), Some(piece.bytes));
        let contents = contents(&piece);
        assert!(contents[piece.dirty..].iter().all(|byte| *byte == 0), "{piece:?}");
        let mark = self.random.word() as u8 | 1;
        contents.fill(mark);
        self.live.push((piece, mark));
    }

    fn release(&mut self) {
        if let Some((piece, mark)) = self.take() {
            assert!(contents(&piece).iter().all(|byte| *byte == mark), "{piece:?}");
            unsafe { self.heap.release(piece.start) };
        }
    }

    fn resize(&mut self, doublings: u64) {
        let bytes = self.size(doublings);
        let Some((mut piece, mark)) = self.take() else { return };
        let old = piece.bytes;
        if unsafe { self.heap.resize(piece.start, bytes) } {
            piece.bytes = self.heap.bytes_at(piece.start.as_ptr() as usize).unwrap();
            assert!(piece.bytes >= bytes && piece.bytes < bytes + PAGE);
            assert!(contents(&piece)[..old.min(piece.bytes)].iter().all(|byte| *byte == mark));
            contents(&piece).fill(mark);
        } else {
            assert_eq!(self.heap.bytes_at(piece.start.as_ptr() as usize), Some(old));
        }
        self.live.push((piece, mark));
    }

    fn take(&mut self) -> Option<(Piece, u8)> {
        let count = self.live.len() as u64;
        (count > 0).then(|| self.live.swap_remove((self.random.word() % count) as usize))
    }

    fn in_use(&self) -> usize {
        self.live.iter().map(|(piece, _)| piece.bytes).sum()
    }

    /// The heap's own account, run by run, is that of the twin, and free runs do not touch.
    fn check(&self) {
        let range = &self.heap.range;
        let (mut at, mut large, mut was_free) = (0, 0, false);
        while at < range.pages() {
            let page = range.page(page::PageNumber(at));
            let pages = page.pages.get();
            let is_free = page.kind() == Kind::Free;
            assert!(pages > 0 && page.kind() != Kind::Inside && !(is_free && was_free));
            assert_eq!(range.page(page::PageNumber(at + pages - 1)).first.get(), at);
            large += if page.kind() == Kind::Large { pages as usize * PAGE } else { 0 };
            (at, was_free) = (at + pages, is_free);
        }
        let expected: usize =
            self.live.iter().map(|(piece, _)| piece.bytes).filter(|&bytes| bytes > SMALL).sum();
        assert_eq!((at, large), (range.pages(), expected));
    }
}

fn contents(piece: &Piece) -> &'static mut [u8] {
    unsafe { core::slice::from_raw_parts_mut(piece.start.as_ptr(), piece.bytes) }
}

#[test]
fn pieces_do_not_overlap_and_are_zero_where_not_dirty() {
    for seed in 0..8 {
        let mut twin = Twin::new(seed);
        for round in 0..20_000 {
            match twin.random.word() % 8 {
                0..=3 => {
                    let bytes = twin.size(19);
                    twin.allocate(bytes);
                }
                4..=6 => twin.release(),
                _ => twin.resize(20),
            }
            twin.heap.age(10_000);
            if round % 500 == 0 {
                twin.check();
            }
        }
        while !twin.live.is_empty() {
            twin.release();
        }
        twin.check();
    }
}

/// What is free again is one run again, whatever it was used for.
#[test]
fn an_empty_heap_is_whole() {
    let mut twin = Twin::new(3);
    for _ in 0..2_000 {
        let bytes = twin.size(16);
        twin.allocate(bytes);
    }
    let length = twin.heap.range.length();
    while !twin.live.is_empty() {
        twin.release();
    }
    twin.allocate(length);
    assert_eq!(twin.heap.range.length(), length);
}

/// Large blocks of random sizes for long: the range stays within a small multiple of what was in use.
#[test]
fn the_range_does_not_grow_for_ever() {
    let (length, peak) = churn(&heap(), 40 << 30);
    assert!(length < peak * 3 / 2, "{length} for {peak}");
}

/// Keeps about `most` bytes in use for long; the range's length and the most that was in use.
fn churn(heap: &Heap, most: usize) -> (usize, usize) {
    let mut random = Random::new(0, 1);
    let mut live: Vec<Piece> = Vec::new();
    let (mut in_use, mut peak) = (0, 0);
    for _ in 0..200_000 {
        let bytes = 100_000 + (random.word() % (256 << 20)) as usize;
        while in_use + bytes > most {
            let piece = live.swap_remove((random.word() % live.len() as u64) as usize);
            in_use -= piece.bytes;
            unsafe { heap.release(piece.start) };
        }
        let piece = heap.allocate(bytes).unwrap();
        in_use += piece.bytes;
        peak = peak.max(in_use);
        live.push(piece);
    }
    (heap.range.length(), peak)
}

/// The same with small and large pieces mixed, all of them used.
#[test]
fn mixed_sizes_leave_few_holes() {
    let mut twin = Twin::new(11);
    let mut peak = 0;
    for _ in 0..60_000 {
        let bytes = twin.size(18);
        twin.allocate(bytes);
        while twin.in_use() > 16 << 20 {
            twin.release();
        }
        peak = peak.max(twin.in_use());
    }
    assert!(twin.heap.range.length() < 2 * peak, "{} for {peak}", twin.heap.range.length());
}

#[test]
fn small_pieces_are_packed() {
    let heap = heap();
    for _ in 0..16 * 1024 {
        heap.allocate(100).unwrap();
    }
    // 112 bytes each, 146 to a span of four pages.
    let last = heap.allocate(100).unwrap().start.as_ptr() as usize - heap.base();
    assert!(last < 16 * 1024 * 113, "{last}");
}

#[test]
fn a_release_never_waits_for_the_lock() {
    let heap = heap();
    for bytes in [100, 100_000] {
        let piece = heap.allocate(bytes).unwrap();
        unsafe { piece.start.cast::<u64>().write(4711) };
        let frozen = heap.freeze().unwrap();
        unsafe { heap.release(piece.start) };
        drop(frozen);
        assert_eq!(unsafe { piece.start.cast::<u64>().read() }, 4711);
        assert_eq!(heap.allocate(bytes).unwrap().start, piece.start);
    }
}

/// A signal handler that interrupts an allocation and allocates itself.
#[test]
fn the_holder_of_the_lock_does_not_wait_for_itself() {
    let heap = heap();
    let piece = heap.allocate(100).unwrap();
    let locked = heap.lock(Patience::None).unwrap();
    let start = std::time::Instant::now();
    assert!(heap.allocate(100).is_none() && heap.totals().is_none());
    unsafe { heap.release(piece.start) };
    assert!(start.elapsed().as_millis() < u128::from(Patience::Long.millis()) / 2);
    drop(locked);
    assert_eq!(heap.allocate(100).unwrap().start, piece.start);
}

#[test]
fn a_full_heap_says_so_and_recovers() {
    let heap = heap();
    // Somebody else maps what follows the range.
    assert!(sys::map_at(heap.base() + STEP, 4096));
    let pieces: Vec<Piece> = core::iter::from_fn(|| heap.allocate(1000)).collect();
    assert!(pieces.len() > 4000 && heap.allocate(1 << 30).is_none());
    assert!(!heap.contains(heap.base() + STEP));
    unsafe { heap.release(pieces[0].start) };
    assert_eq!(heap.allocate(1000).unwrap().start, pieces[0].start);
    assert!(heap.allocate(1000).is_none() && heap.allocate(50).is_none());
    // Pieces of a whole span become pieces of another size.
    pieces[..100].iter().for_each(|piece| unsafe { heap.release(piece.start) });
    assert!(heap.allocate(50).is_some() && heap.allocate(16_000).is_some());
}

#[test]
fn memory_goes_back_beyond_the_budget() {
    let heap = heap();
    let piece = heap.allocate(100 << 20).unwrap();
    unsafe {
        piece.start.as_ptr().add(50 << 20).write(7);
        heap.release(piece.start);
    }
    let again = heap.allocate(100 << 20).unwrap();
    assert_eq!((again.start, again.dirty), (piece.start, 32 << 20));
    assert_eq!(unsafe { again.start.as_ptr().add(50 << 20).read() }, 0);
}

#[test]
fn a_large_piece_grows_where_it_is() {
    let heap = heap();
    let piece = heap.allocate(100_000).unwrap();
    let start = piece.start;
    assert!(unsafe { heap.resize(start, 20 << 20) });
    let next = heap.allocate(50_000).unwrap();
    assert!(unsafe { !heap.resize(start, 30 << 20) && heap.resize(start, 10_000) });
    assert!(unsafe { heap.resize(start, 1 << 20) });
    assert_eq!(heap.bytes_at(start.as_ptr() as usize), Some(1 << 20));
    assert_eq!(heap.bytes_at(next.start.as_ptr() as usize), Some(13 * PAGE));
    let small = heap.allocate(100).unwrap();
    assert!(!unsafe { heap.resize(small.start, 100_000) });
}

#[test]
fn only_the_start_of_a_piece_is_one() {
    let heap = heap();
    let (small, large) = (heap.allocate(48).unwrap(), heap.allocate(50_000).unwrap());
    let (small, large) = (small.start.as_ptr() as usize, large.start.as_ptr() as usize);
    assert_eq!((heap.bytes_at(small), heap.bytes_at(small + 16)), (Some(48), None));
    assert_eq!(heap.bytes_at(small + 48), None, "not cut yet");
    assert_eq!((heap.bytes_at(large + PAGE), heap.bytes_at(large + 16)), (None, None));
    assert_eq!(heap.bytes_at(heap.base() + STEP - PAGE), None);
}

/// An overflow of a block may destroy a free neighbour's link: what it leads to is not believed.
#[test]
fn a_damaged_link_ends_its_list() {
    let heap = heap();
    let pieces: Vec<Piece> = (0..10).map(|_| heap.allocate(64).unwrap()).collect();
    for piece in &pieces[2..6] {
        unsafe { heap.release(piece.start) };
    }
    unsafe { pieces[5].start.cast::<u64>().add(1).write(u64::MAX) };
    let mut starts: Vec<_> = (0..100).map(|_| heap.allocate(64).unwrap().start).collect();
    let kept = [0, 1, 6, 7, 8, 9].map(|index: usize| pieces[index].start);
    starts.extend(kept);
    starts.sort_unstable();
    starts.dedup();
    assert_eq!(starts.len(), 106);
}

#[test]
fn threads_release_what_others_allocate() {
    let heap = heap();
    let (sender, receiver) = std::sync::mpsc::sync_channel::<(usize, usize)>(100);
    let receiver = std::sync::Mutex::new(receiver);
    std::thread::scope(|scope| {
        for seed in 0..2 {
            let (heap, sender) = (&heap, sender.clone());
            scope.spawn(move || {
                let mut random = Random::new(seed, 1);
                for _ in 0..20_000 {
                    let bytes = 16 + (random.word() % (1 << (random.word() % 16 + 1))) as usize;
                    let piece = heap.allocate(bytes).unwrap();
                    let start = piece.start.as_ptr() as usize;
                    contents(&piece).fill(start.to_ne_bytes()[1]);
                    sender.send((start, piece.bytes)).unwrap();
                }
            });
            scope.spawn(|| {
                while let Ok((start, bytes)) = { receiver.lock().unwrap().recv() } {
                    let start = NonNull::new(start as *mut u8).unwrap();
                    let mark = (start.as_ptr() as usize).to_ne_bytes()[1];
                    let piece = Piece { start, bytes, dirty: bytes };
                    assert!(contents(&piece).iter().all(|byte| *byte == mark));
                    unsafe { heap.release(start) };
                }
            });
        }
        drop(sender);
    });
    assert!(heap.allocate(16).is_some());
}
