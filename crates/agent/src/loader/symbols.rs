//! The symbol table of one module (ELF gABI, "Dynamic Linking"). \[UNSAFE\]

use core::ffi::{CStr, c_void};
use core::ptr::NonNull;

use super::image::Access;

const DT_NULL: u64 = 0;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
const DT_VERSYM: u64 = 0x6fff_fff0;

/// A dynamic section has not so many entries, nor a chain of symbols.
const MANY: u64 = 1 << 16;

/// The value of the first entry of this kind in a dynamic section.
pub(super) fn entry(dynamic: u64, kind: u64, access: Access) -> Option<u64> {
    let entries = (0..MANY).map_while(|index| access.read::<[u64; 2]>(dynamic + index * 16));
    let mut entries = entries.take_while(|[found, _]| *found != DT_NULL);
    entries.find_map(|[found, value]| (found == kind).then_some(value))
}

/// What a module defines under `name` in the version that a caller without one gets; what has to be asked for
/// its address (an indirect function) is asked.
pub fn find(bias: u64, dynamic: u64, name: &CStr, access: Access) -> Option<NonNull<c_void>> {
    let symbol = Table::of(bias, dynamic, access)?.find(name)?;
    let address = bias.wrapping_add(symbol.st_value);
    match symbol.st_info & 0xf {
        STT_TLS => None,
        STT_GNU_IFUNC => resolve(address),
        _ => NonNull::new(address as *mut c_void),
    }
}

/// Where a variable of each thread's that a module defines under `name` is, from the beginning of these.
pub fn find_of_threads(bias: u64, dynamic: u64, name: &CStr, access: Access) -> Option<u64> {
    let symbol = Table::of(bias, dynamic, access)?.find(name)?;
    (symbol.st_info & 0xf == STT_TLS).then_some(symbol.st_value)
}

const STT_TLS: u8 = 6;
const STT_GNU_IFUNC: u8 = 10;

fn resolve(resolver: u64) -> Option<NonNull<c_void>> {
    // SAFETY: the resolver of an indirect function has this type; it is made to be called by the dynamic
    // linker before anything else of its module.
    #[cfg(target_arch = "x86_64")]
    let found = unsafe {
        let resolver: extern "C" fn() -> *mut c_void = core::mem::transmute(resolver as *const ());
        resolver()
    };
    // SAFETY: as above; on this machine it is told what the processor can do.
    #[cfg(target_arch = "aarch64")]
    let found = unsafe {
        const HAS_MORE: u64 = 1 << 62;
        let bits =
            [libc::AT_HWCAP, libc::AT_HWCAP2].map(|it| crate::sys::auxiliary(it).unwrap_or(0));
        let more = [24, bits[0], bits[1]];
        let resolver: extern "C" fn(u64, *const u64) -> *mut c_void =
            core::mem::transmute(resolver as *const ());
        resolver(bits[0] | HAS_MORE, more.as_ptr())
    };
    NonNull::new(found)
}

/// The tables that a dynamic section names.
struct Table {
    names: u64,
    symbols: u64,
    versions: Option<u64>,
    hashes: Hashes,
    access: Access,
}

enum Hashes {
    Gnu(u64),
    Old(u64),
}

impl Table {
    fn of(bias: u64, dynamic: u64, access: Access) -> Option<Table> {
        // The dynamic linker writes addresses to where it may, and leaves offsets elsewhere.
        let table = |kind| {
            let value = entry(dynamic, kind, access)?;
            Some(if value < bias { value.wrapping_add(bias) } else { value })
        };
        let hashes = table(DT_GNU_HASH).map(Hashes::Gnu);
        Some(Table {
            names: table(DT_STRTAB)?,
            symbols: table(DT_SYMTAB)?,
            versions: table(DT_VERSYM),
            hashes: hashes.or_else(|| table(DT_HASH).map(Hashes::Old))?,
            access,
        })
    }

    fn find(&self, name: &CStr) -> Option<libc::Elf64_Sym> {
        match self.hashes {
            Hashes::Gnu(table) => self.find_by_gnu_hash(table, name),
            Hashes::Old(table) => self.find_by_old_hash(table, name),
        }
    }

    /// A filter, the first symbol of each bucket, and for each symbol its hash, of which the lowest bit says
    /// whether it is the bucket's last.
    fn find_by_gnu_hash(&self, table: u64, name: &CStr) -> Option<libc::Elf64_Sym> {
        const HEADER: u64 = 16;
        let hash = gnu_hash(name);
        let word = |at: u64| self.access.read::<u32>(at);
        let (buckets, first) = (word(table)?, word(table + 4)?);
        let (filter_words, shift) = (word(table + 8)?, word(table + 12)?);
        if buckets == 0 || filter_words == 0 {
            return None;
        }
        let place = u64::from(hash / 64 % filter_words) * 8;
        let filter: u64 = self.access.read(table + HEADER + place)?;
        if filter >> (hash % 64) & filter >> (hash.checked_shr(shift)? % 64) & 1 == 0 {
            return None;
        }
        let bucket_table = table + HEADER + u64::from(filter_words) * 8;
        let chains = bucket_table + u64::from(buckets) * 4;
        let start = word(bucket_table + u64::from(hash % buckets) * 4)?;
        for index in start.max(first)..start.checked_add(MANY as u32)? {
            let found = word(chains + u64::from(index - first) * 4)?;
            if (found ^ hash) >> 1 == 0
                && let Some(symbol) = self.named(index, name)
            {
                return Some(symbol);
            }
            if found & 1 != 0 {
                break;
            }
        }
        None
    }

    /// The first symbol of each bucket, and for each symbol the next.
    fn find_by_old_hash(&self, table: u64, name: &CStr) -> Option<libc::Elf64_Sym> {
        const HEADER: u64 = 8;
        let word = |index: u64| self.access.read::<u32>(table + HEADER + index * 4);
        let buckets = self.access.read::<u32>(table).filter(|&it| it > 0)?;
        let mut index = word(u64::from(old_hash(name) % buckets))?;
        for _ in 0..MANY {
            if index == 0 {
                break;
            }
            if let Some(symbol) = self.named(index, name) {
                return Some(symbol);
            }
            index = word(u64::from(buckets) + u64::from(index))?;
        }
        None
    }

    /// The symbol at `index` if it has this name, is defined, and may be had without a version.
    fn named(&self, index: u32, name: &CStr) -> Option<libc::Elf64_Sym> {
        const HIDDEN: u16 = 0x8000;
        let place = u64::from(index) * size_of::<libc::Elf64_Sym>() as u64;
        let symbol: libc::Elf64_Sym = self.access.read(self.symbols + place)?;
        let has_place = symbol.st_value != 0 || symbol.st_info & 0xf == STT_TLS;
        let is_defined = symbol.st_shndx != 0 && has_place;
        if !is_defined || !self.is_name(u64::from(symbol.st_name), name) {
            return None;
        }
        let version = self.versions.map(|it| self.access.read::<u16>(it + u64::from(index) * 2));
        let is_hidden = version.flatten().is_some_and(|version| version & HIDDEN != 0);
        (!is_hidden).then_some(symbol)
    }

    fn is_name(&self, offset: u64, name: &CStr) -> bool {
        let mut place = self.names + offset;
        name.to_bytes_with_nul().iter().all(|&byte| {
            let found = self.access.read::<u8>(place);
            place += 1;
            found == Some(byte)
        })
    }
}

fn gnu_hash(name: &CStr) -> u32 {
    let mix = |hash: u32, &byte: &u8| hash.wrapping_mul(33).wrapping_add(byte.into());
    name.to_bytes().iter().fold(5381, mix)
}

fn old_hash(name: &CStr) -> u32 {
    name.to_bytes().iter().fold(0u32, |hash, &byte| {
        let hash = (hash << 4).wrapping_add(byte.into());
        (hash ^ (hash >> 28 << 4)) & 0x0fff_ffff
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_specifications() {
        assert_eq!([c"", c"printf", c"syscall"].map(gnu_hash), [5381, 0x156b_2bb8, 0xbac2_12a0]);
        assert_eq!([c"", c"printf", c"syscall"].map(old_hash), [0, 0x0779_05a6, 0x0b09_985c]);
    }
}
