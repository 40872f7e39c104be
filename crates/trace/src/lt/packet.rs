//! The frame of every packet.
//!
//! ```text
//! offset  size  field
//!      0     4  sync mark f5 4c 54 1a
//!      4     1  kind
//!      5     3  length of the payload, little-endian, at most 4 MiB
//!      8     4  CRC-32 (IEEE) of bytes 4 to 7 and the payload, little-endian
//!     12        payload
//! ```
//!
//! A reader that has lost its way looks for the next mark whose checksum is right.

/// How every packet begins. UTF-8 has no byte f5; 1a ends a text file.
pub(super) const SYNC: [u8; 4] = [0xf5, b'L', b'T', 0x1a];

/// Bytes before the payload.
pub(super) const HEAD: usize = 12;

/// Longest payload.
pub(super) const MAX_PAYLOAD: usize = 1 << 22;

/// What a packet is about. Others are passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind(pub(super) u8);

impl Kind {
    /// What the trace says about itself; the first packet, and once more the second.
    pub(super) const HEADER: Self = Self(1);
    /// All that the packets up to the next one build on.
    pub(super) const CHECKPOINT: Self = Self(2);
    /// Events.
    pub(super) const DATA: Self = Self(3);
    /// Summary, and where the checkpoints are.
    pub(super) const INDEX: Self = Self(4);
    /// Where the index is; the last packet of a trace that was finished.
    pub(super) const END: Self = Self(5);
}

/// Appends a packet.
///
/// # Panics
/// If the payload is too long; writers see to it that it never is.
pub(super) fn put(kind: Kind, payload: &[u8], out: &mut Vec<u8>) {
    assert!(payload.len() <= MAX_PAYLOAD, "a packet of {} bytes", payload.len());
    let [low, middle, high, _] = (payload.len() as u32).to_le_bytes();
    let covered = [kind.0, low, middle, high];
    out.extend_from_slice(&SYNC);
    out.extend_from_slice(&covered);
    out.extend_from_slice(&checksum(covered, payload).to_le_bytes());
    out.extend_from_slice(payload);
}

/// A packet's head, if this is one; its checksum is not looked at.
pub(super) fn head(bytes: &[u8; HEAD]) -> Option<(Kind, usize)> {
    let len = u32::from_le_bytes([bytes[5], bytes[6], bytes[7], 0]) as usize;
    let is_head = bytes[..4] == SYNC && len <= MAX_PAYLOAD;
    is_head.then_some((Kind(bytes[4]), len))
}

/// Whether a whole packet is what was written.
pub(super) fn is_intact(packet: &[u8]) -> bool {
    let covered = [packet[4], packet[5], packet[6], packet[7]];
    packet[8..HEAD] == checksum(covered, &packet[HEAD..]).to_le_bytes()
}

fn checksum(covered: [u8; 4], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&covered);
    hasher.update(payload);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_known_again_unless_a_bit_is_wrong() {
        let mut packet = Vec::new();
        put(Kind::DATA, b"payload", &mut packet);
        for bit in 0..packet.len() * 8 {
            let mut flipped = packet.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let head = head(flipped.first_chunk().unwrap());
            let is_same = head == Some((Kind::DATA, 7)) && is_intact(&flipped);
            assert!(!is_same, "bit {bit}");
        }
        assert_eq!(head(packet.first_chunk().unwrap()), Some((Kind::DATA, 7)));
        assert!(is_intact(&packet));
    }
}
