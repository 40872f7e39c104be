//! The recorder's side of a session's shared memory. \[UNSAFE\]
//!
//! This file makes the segment (an anonymous file, sealed against a change of size, so that no
//! access of ours can fault), maps it, and is the one place that knows addresses. The target can
//! write anything anywhere in it at any time; hence only atomics are read in place, records are
//! copied out before they are looked at, and the layout is computed from our own copy of the
//! settings.

use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::{Arc, Weak};

use lifetrace_transport::patch::{self, Patch};
use lifetrace_transport::ring::{Damaged, Ring, RingHeader};
use lifetrace_transport::segment::{
    SegmentHeader, Settings, patches_offset, ring_offsets, segment_bytes,
};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A mapped segment, whose only consumer is the holder of this value.
#[derive(Debug)]
pub(crate) struct Segment(Arc<Mapping>);

/// The memory of a segment, for all who may read and write its first page.
#[derive(Debug)]
pub(crate) struct Mapping {
    memory: NonNull<u8>,
    settings: Settings,
}

/// Of a segment that may be gone.
pub(crate) type WeakMapping = Weak<Mapping>;

// SAFETY: the mapping is owned by this value and is not tied to a thread; all that is shared with
// other processes is accessed by atomics or through `Ring`.
unsafe impl Send for Mapping {}
// SAFETY: of several threads, all but the segment's holder see its header alone, where what changes is atomic.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// The first page.
    pub(crate) fn header(&self) -> &SegmentHeader {
        // SAFETY: written by `create`, and as long-lived as `self`. Every field that may change
        // is atomic; `settings`, which is not, is never read through this reference.
        unsafe { self.memory.cast().as_ref() }
    }
}

/// Lets a process end that waits for it.
#[derive(Clone, Debug)]
pub(crate) struct ExitGate(Arc<Mapping>);

impl ExitGate {
    pub(crate) fn open(&self) {
        self.0.header().release_exit();
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `create` with this length; no reference outlives `self`.
        // A failure would leave it mapped, which harms nobody.
        let _ = unsafe { munmap(self.memory.as_ptr().cast(), segment_bytes(&self.settings)) };
    }
}

impl Segment {
    /// Makes a segment with its header and the `patches` that the settings count in place; the descriptor is
    /// the agent's way to it.
    pub(crate) fn create(settings: Settings, patches: &[Patch]) -> io::Result<(Segment, OwnedFd)> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        Segment::create_in(memfd_create(c"lifetrace", flags)?, settings, patches)
    }

    /// As [`create`](Self::create), in an anonymous file that is empty and can be sealed.
    pub(crate) fn create_in(
        file: OwnedFd,
        settings: Settings,
        patches: &[Patch],
    ) -> io::Result<(Segment, OwnedFd)> {
        ftruncate(&file, segment_bytes(&settings) as u64)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let memory = map(&file, segment_bytes(&settings))?;
        // SAFETY: fresh memory, page-aligned, longer than a header, seen by nobody else yet.
        unsafe { memory.cast::<SegmentHeader>().write(SegmentHeader::new(settings)) };
        for (index, patch) in patches.iter().take(settings.patches as usize).enumerate() {
            let offset = patches_offset(&settings) + index * patch::LEN;
            // SAFETY: the segment has room for as many behind the rings; as above.
            unsafe { memory.add(offset).cast::<[u8; patch::LEN]>().write(patch.to_bytes()) };
        }
        Ok((Segment(Arc::new(Mapping { memory, settings })), file))
    }

    /// The first page.
    pub(crate) fn header(&self) -> &SegmentHeader {
        self.0.header()
    }

    /// For others, as long as the segment is there.
    pub(crate) fn mapping(&self) -> WeakMapping {
        Arc::downgrade(&self.0)
    }

    pub(crate) fn exit_gate(&self) -> ExitGate {
        ExitGate(Arc::clone(&self.0))
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(crate) fn ring_count(&self) -> usize {
        self.0.settings.ring_count as usize
    }

    /// Room in each ring.
    pub(crate) fn ring_bytes(&self) -> u64 {
        self.0.settings.ring_bytes.into()
    }

    /// Bytes that wait in a ring.
    pub(crate) fn used(&self, ring: usize) -> u64 {
        self.ring(ring).used()
    }

    /// Takes a ring's oldest record into `buffer`.
    pub(crate) fn pop<'b>(
        &mut self,
        ring: usize,
        buffer: &'b mut [u8],
    ) -> Result<Option<&'b [u8]>, Damaged> {
        // SAFETY: this value is the segment's only consumer, and is borrowed exclusively.
        unsafe { self.ring(ring).pop(buffer) }
    }

    fn ring(&self, index: usize) -> Ring<'_> {
        // SAFETY: the mapping is `segment_bytes` of these settings long and lives as long as
        // `self`.
        unsafe { ring_at(self.0.memory, &self.0.settings, index) }
    }
}

fn map(file: &OwnedFd, bytes: usize) -> io::Result<NonNull<u8>> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
    let memory = unsafe { mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, file, 0)? };
    NonNull::new(memory.cast())
        .ok_or_else(|| io::Error::other("the segment is mapped at address 0"))
}

/// # Safety
/// `memory` is a mapped segment with these settings, valid for `'a`.
unsafe fn ring_at<'a>(memory: NonNull<u8>, settings: &Settings, index: usize) -> Ring<'a> {
    assert!(index < settings.ring_count as usize);
    let (header, data) = ring_offsets(settings, index);
    // SAFETY: both offsets are inside the segment, as `index` is below the count; the header is
    // zeroed memory (a valid empty ring) or in use as a ring, aligned as `ring_offsets` promises.
    unsafe {
        let header: &RingHeader = memory.add(header).cast().as_ref();
        Ring::new(header, memory.add(data).as_ptr(), settings.ring_bytes as usize)
    }
}

/// The agent's side, as the tests play it: maps the descriptor that came with the welcome.
#[cfg(test)]
pub(crate) struct AgentSegment {
    memory: NonNull<u8>,
    settings: Settings,
}

#[cfg(test)]
impl AgentSegment {
    pub(crate) fn map(file: &OwnedFd, bytes: u64) -> AgentSegment {
        let memory = map(file, bytes as usize).expect("the segment can be mapped");
        // SAFETY: a mapped segment begins with a header.
        let settings = unsafe { *memory.cast::<SegmentHeader>().as_ref().settings() };
        assert_eq!(segment_bytes(&settings) as u64, bytes);
        AgentSegment { memory, settings }
    }

    pub(crate) fn header(&self) -> &SegmentHeader {
        // SAFETY: as in `map`; never unmapped.
        unsafe { self.memory.cast().as_ref() }
    }

    pub(crate) fn push(
        &self,
        ring: usize,
        head: &[u8],
        tail: lifetrace_transport::ring::Tail<'_>,
    ) -> bool {
        // SAFETY: the mapping is never unmapped; the tests have one producer per ring.
        unsafe { ring_at(self.memory, &self.settings, ring).push(head, tail).is_ok() }
    }

    /// Writes an impossible position over a ring's head.
    pub(crate) fn damage(&self, ring: usize) {
        let (header, _) = ring_offsets(&self.settings, ring);
        // SAFETY: the head is the first word of the ring's header, inside the mapping.
        let head =
            unsafe { self.memory.add(header).cast::<std::sync::atomic::AtomicU64>().as_ref() };
        head.store(u64::MAX / 2, std::sync::atomic::Ordering::Release);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use lifetrace_transport::ring::Tail;
    use lifetrace_transport::sources::{Source, Sources};

    use super::*;

    pub(crate) const SETTINGS: Settings = Settings {
        ring_count: 2,
        ring_bytes: 4096,
        seed: 7,
        follow_children: 1,
        recorder_pid: 42,
        sources: Sources::NONE.with(Source::malloc(1.0)),
        stack_limit: 100,
        patches: 0,
        looks_for_lost: 0,
        is_standing: 0,
    };

    #[test]
    fn what_one_side_pushes_the_other_pops() {
        let (mut segment, file) = Segment::create(SETTINGS, &[]).unwrap();
        let agent = AgentSegment::map(&file, segment_bytes(&SETTINGS) as u64);
        assert_eq!(agent.settings, SETTINGS);
        assert!(agent.push(1, b"12345678", Tail::Words(&[9])));
        let mut buffer = [0; 64];
        assert_eq!(segment.pop(0, &mut buffer), Ok(None));
        assert_eq!(segment.used(1), 24);
        assert_eq!(segment.pop(1, &mut buffer).unwrap().unwrap().len(), 16);
        segment.header().beat();
        assert_eq!(agent.header().heartbeat(), 2);
    }

    #[test]
    fn the_size_is_sealed() {
        let (_segment, file) = Segment::create(SETTINGS, &[]).unwrap();
        assert!(ftruncate(&file, 0).is_err());
        assert!(ftruncate(&file, 1 << 30).is_err());
    }
}
