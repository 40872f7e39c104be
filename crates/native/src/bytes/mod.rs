//! What the compiler calls to copy, to fill and to compare memory. \[UNSAFE\]
//!
//! Calls of `memcpy` and its like are the compiler's own doing. In a library that is loaded into other people's
//! programs they would lead to whoever has replaced these functions there; so it has its own, which nobody
//! else sees. They are in assembly because a compiler may take the loop of such a function for a call of it.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

/// Defines `memcpy`, `memmove`, `memset`, `memcmp`, `bcmp` and `strlen`, each with `$prefix` before its name, for
/// this library alone.
#[cfg(target_arch = "x86_64")]
#[macro_export]
macro_rules! byte_functions {
    ($prefix:literal) => {
        $crate::byte_functions_x86_64!($prefix);
    };
}

/// Defines `memcpy`, `memmove`, `memset`, `memcmp`, `bcmp` and `strlen`, each with `$prefix` before its name, for
/// this library alone.
#[cfg(target_arch = "aarch64")]
#[macro_export]
macro_rules! byte_functions {
    ($prefix:literal) => {
        $crate::byte_functions_aarch64!($prefix);
    };
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    byte_functions!("lifetrace_test_");

    unsafe extern "C" {
        fn lifetrace_test_memcpy(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8;
        fn lifetrace_test_memmove(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8;
        fn lifetrace_test_memset(to: *mut u8, byte: i32, bytes: usize) -> *mut u8;
        fn lifetrace_test_memcmp(one: *const u8, other: *const u8, bytes: usize) -> i32;
        fn lifetrace_test_bcmp(one: *const u8, other: *const u8, bytes: usize) -> i32;
        fn lifetrace_test_strlen(string: *const u8) -> usize;
    }

    const LENGTHS: [usize; 24] = [
        0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 100, 127, 128, 255, 1000, 2047,
        2048, 5000,
    ];

    fn contents(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|index| (index * 7 + index / 251 + 1) as u8).collect()
    }

    #[test]
    fn copies_are_the_same_and_nothing_else_changes() {
        for bytes in LENGTHS {
            for offset in 0..17 {
                let from = contents(bytes + 17);
                let mut to = std::vec![0xee; bytes + 40];
                let start = to[8 + offset % 5..].as_mut_ptr();
                // SAFETY: both have so many bytes behind these places, and are apart.
                let end = unsafe { lifetrace_test_memcpy(start, from[offset..].as_ptr(), bytes) };
                assert_eq!(end, start);
                let (before, rest) = to.split_at(8 + offset % 5);
                assert!(rest[..bytes] == from[offset..][..bytes], "{bytes} {offset}");
                assert!(before.iter().chain(&rest[bytes..]).all(|&byte| byte == 0xee));
            }
        }
    }

    #[test]
    fn moves_are_the_same_wherever_they_go() {
        for bytes in LENGTHS {
            for distance in [0, 1, 3, 8, 15, 16, 17, 40, 600] {
                for (from, to) in [(600, 600 + distance), (600 + distance, 600)] {
                    let mut memory = contents(bytes + 1300);
                    let mut expected = memory.clone();
                    expected.copy_within(from..from + bytes, to);
                    let start = memory.as_mut_ptr();
                    // SAFETY: the memory has so many bytes behind both places.
                    unsafe { lifetrace_test_memmove(start.add(to), start.add(from), bytes) };
                    assert!(memory == expected, "{bytes} from {from} to {to}");
                }
            }
        }
    }

    #[test]
    fn fills_end_where_they_end() {
        for bytes in LENGTHS {
            let mut memory = std::vec![0xee; bytes + 32];
            let start = memory[5..].as_mut_ptr();
            // SAFETY: the memory has so many bytes behind this place.
            assert_eq!(unsafe { lifetrace_test_memset(start, 0x1a7, bytes) }, start);
            assert!(memory[5..][..bytes].iter().all(|&byte| byte == 0xa7), "{bytes}");
            assert!(memory[..5].iter().chain(&memory[5 + bytes..]).all(|&byte| byte == 0xee));
        }
    }

    #[test]
    fn comparisons_see_each_byte_and_its_sign() {
        for bytes in LENGTHS {
            let one = contents(bytes + 8);
            let mut other = one.clone();
            other[bytes] ^= 1;
            let (at, compare) = (one.as_ptr(), lifetrace_test_memcmp);
            // SAFETY: both have more than so many bytes.
            unsafe {
                assert_eq!(lifetrace_test_bcmp(at, other.as_ptr(), bytes), 0);
                assert_eq!(compare(at, other.as_ptr(), bytes), 0);
            }
            for place in (0..bytes).step_by(1 + bytes / 20) {
                other[place] = one[place].wrapping_add(128);
                let order = one[place].cmp(&other[place]) as i32;
                // SAFETY: as above.
                unsafe {
                    assert_ne!(lifetrace_test_bcmp(at, other.as_ptr(), bytes), 0);
                    assert_eq!(compare(at, other.as_ptr(), bytes).signum(), order);
                }
                other[place] = one[place];
            }
        }
    }

    #[test]
    fn a_string_is_as_long_as_it_is() {
        for bytes in LENGTHS {
            let mut string = std::vec![b'x'; bytes];
            string.extend([0, 1]);
            // SAFETY: it ends with a zero.
            assert_eq!(unsafe { lifetrace_test_strlen(string.as_ptr()) }, bytes);
        }
    }
}
