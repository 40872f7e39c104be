//! The frame of every packet.
//!
//! ```text
//! offset  size  field
//!      0     4  sync mark, the format's
//!      4     1  kind
//!      5     3  length of the payload, little-endian, at most 4 MiB
//!      8     4  CRC-32 (IEEE) of bytes 4 to 7 and the payload, little-endian
//!     12        payload
//! ```
//!
//! A reader that has lost its way looks for the next mark whose checksum is right.

/// How every packet of a format begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark(pub(crate) [u8; 4]);

/// Bytes before the payload.
pub(crate) const HEAD: usize = 12;

/// Longest payload.
pub(crate) const MAX_PAYLOAD: usize = 1 << 22;

/// What a packet is about. Others are passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind(pub(crate) u8);

impl Mark {
    /// Appends a packet.
    ///
    /// # Panics
    /// If the payload is too long; writers see to it that it never is.
    pub(crate) fn put(self, kind: Kind, payload: &[u8], out: &mut Vec<u8>) {
        assert!(payload.len() <= MAX_PAYLOAD, "a packet of {} bytes", payload.len());
        let [low, middle, high, _] = (payload.len() as u32).to_le_bytes();
        let covered = [kind.0, low, middle, high];
        out.extend_from_slice(&self.0);
        out.extend_from_slice(&covered);
        out.extend_from_slice(&checksum(covered, payload).to_le_bytes());
        out.extend_from_slice(payload);
    }

    /// A packet's head, if this is one; its checksum is not looked at.
    pub(crate) fn head(self, bytes: &[u8; HEAD]) -> Option<(Kind, usize)> {
        let len = u32::from_le_bytes([bytes[5], bytes[6], bytes[7], 0]) as usize;
        let is_head = bytes[..4] == self.0 && len <= MAX_PAYLOAD;
        is_head.then_some((Kind(bytes[4]), len))
    }
}

/// Whether a whole packet is what was written.
pub(crate) fn is_intact(packet: &[u8]) -> bool {
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

    const MARK: Mark = Mark(*b"\xf5LT\x1a");

    #[test]
    fn a_packet_is_known_again_unless_a_bit_is_wrong() {
        let mut packet = Vec::new();
        MARK.put(Kind(3), b"payload", &mut packet);
        for bit in 0..packet.len() * 8 {
            let mut flipped = packet.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let head = MARK.head(flipped.first_chunk().unwrap());
            let is_same = head == Some((Kind(3), 7)) && is_intact(&flipped);
            assert!(!is_same, "bit {bit}");
        }
        assert_eq!(MARK.head(packet.first_chunk().unwrap()), Some((Kind(3), 7)));
        assert!(is_intact(&packet));
    }
}
