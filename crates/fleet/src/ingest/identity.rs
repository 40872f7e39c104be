//! Numbers that are the same wherever and whenever they are made, of what they are of.

use sha2::{Digest, Sha256};

/// Made of these parts, in this order; not negative, as not every engine has numbers without a sign.
pub fn number(parts: &[&[u8]]) -> i64 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let bytes: [u8; 8] = hash.finalize()[..8].try_into().expect("32 bytes");
    i64::from_le_bytes(bytes) & i64::MAX
}

/// Two hexadecimal digits for each byte.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers are in datasets.
    #[test]
    fn numbers_never_change() {
        assert_eq!(number(&[b"main", b"a.c"]), 7_099_015_723_776_546_146);
        assert_ne!(number(&[b"ab", b"c"]), number(&[b"a", b"bc"]));
        assert_eq!(hexadecimal(&[0, 255, 16]), "00ff10");
    }
}
