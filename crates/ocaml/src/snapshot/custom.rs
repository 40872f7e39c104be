//! Memory that custom blocks stand for. \[UNSAFE\]
//!
//! A bigarray's block has the address of its data, and says whether that is its own. A bigarray and its parts share their
//! data by a proxy, which knows where that begins and not how much it is: what begins there says so, if it lives.
//! (`runtime/bigarray.c`, 4.11 to 5.4)

use lifetrace_agent::snapshot::walk::Block;

/// The memory of a bigarray.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bigarray {
    /// So many bytes of its own.
    Own(u64),
    /// So many bytes from their beginning on, which it has in common with all that have this proxy.
    Shared {
        /// The proxy's address.
        proxy: u64,
        /// In bytes.
        bytes: u64,
    },
    /// None that came from malloc, or what another has.
    Elsewhere,
}

/// What that custom block's memory is, if its name is that of bigarrays.
///
/// # Safety
/// It is a custom block of that name.
pub(super) unsafe fn bigarray(name: &[u8], block: &Block) -> Option<Bigarray> {
    const MANAGED: u64 = 0x200;
    const DIMENSIONS: usize = 16;
    /// Behind the operations: data, number of dimensions, flags, proxy, dimensions.
    const FIRST: usize = 5;
    if !name.starts_with(b"_bigarr") {
        return None;
    }
    // SAFETY: by contract; without its header it has so many words.
    let fields = unsafe {
        core::slice::from_raw_parts(block.address as *const u64, (block.bytes / 8) as usize - 1)
    };
    let [_, data, count, flags, proxy] = *fields.first_chunk()?;
    if flags & MANAGED == 0 {
        return Some(Bigarray::Elsewhere);
    }
    let dimensions = fields.get(FIRST..)?.iter().take((count as usize).min(DIMENSIONS));
    let elements = dimensions.fold(1u64, |product, &length| product.saturating_mul(length));
    let bytes = elements.saturating_mul(element_bytes(flags));
    if proxy == 0 {
        return Some(Bigarray::Own(bytes));
    }
    // SAFETY: a proxy is a count of references, and the address of their data.
    let is_first = unsafe { (proxy as *const u64).add(1).read() } == data;
    Some(if is_first { Bigarray::Shared { proxy, bytes } } else { Bigarray::Elsewhere })
}

/// By the kind in the lowest bits.
fn element_bytes(flags: u64) -> u64 {
    const BYTES: [u64; 14] = [4, 8, 1, 1, 2, 2, 4, 8, 8, 8, 8, 16, 1, 2];
    BYTES.get((flags & 0xff) as usize).copied().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use lifetrace_transport::stream::Form;

    use super::*;

    fn told(fields: &[u64], name: &[u8]) -> Option<Bigarray> {
        let address = fields.as_ptr() as u64;
        let bytes = (fields.len() as u64 + 1) * 8;
        let block = Block { address, form: Form::Custom, word: 0, bytes, outside: 0 };
        // SAFETY: fields as a bigarray has them.
        unsafe { bigarray(name, &block) }
    }

    #[test]
    fn memory_is_told_once_and_only_if_it_is_malloc_s() {
        const FLOAT64_MANAGED: u64 = 0x201;
        let own = [1, 2, 2, FLOAT64_MANAGED, 0, 10, 20];
        assert_eq!(told(&own, b"_bigarr02"), Some(Bigarray::Own(1600)));
        assert_eq!(told(&own, b"_int64"), None);
        let proxy = [2u64, 4096];
        let address = proxy.as_ptr() as u64;
        let of = |data| [1, data, 1, FLOAT64_MANAGED, address, 10];
        let shared = Bigarray::Shared { proxy: address, bytes: 80 };
        assert_eq!(told(&of(4096), b"_bigarray"), Some(shared));
        assert_eq!(told(&of(4104), b"_bigarray"), Some(Bigarray::Elsewhere));
        let mapped = [1, 2, 1, 0x401, 0, 10];
        assert_eq!(told(&mapped, b"_bigarr02"), Some(Bigarray::Elsewhere));
        assert_eq!(told(&own[..3], b"_bigarr02"), None);
    }
}
