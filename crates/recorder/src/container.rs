//! Which container a process is in, as far as its control groups say.
//!
//! Container engines name a group after the container's id of 64 hexadecimal digits:
//! `…/docker-<id>.scope`, `/docker/<id>`, `/kubepods/…/<id>`, `…/libpod-<id>.scope`.

use std::fs;
use std::path::Path;

const DIGITS: usize = 64;

/// The id in the text of `/proc/<pid>/cgroup`; empty if there is none.
pub(crate) fn id(cgroups: &str) -> &str {
    let is_id = |word: &&str| word.len() == DIGITS && word.bytes().all(|it| it.is_ascii_hexdigit());
    let words = |line| str::rsplit(line, |c: char| !c.is_ascii_alphanumeric());
    cgroups.lines().flat_map(words).find(is_id).unwrap_or_default()
}

/// Whether this process is in one, as far as can be seen.
pub(crate) fn is_in_container() -> bool {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    Path::new("/.dockerenv").exists()
        || Path::new("/run/.containerenv").exists()
        || !id(&groups).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_id_of_a_group() {
        let (outer, inner) = ("a".repeat(64), "0123456789abcdef".repeat(4));
        for group in [
            format!("0::/system.slice/docker-{inner}.scope\n"),
            format!("12:pids:/docker/{inner}\n11:cpu:/\n"),
            format!("0::/kubepods/besteffort/pod1-2-3/{outer}/cri-containerd-{inner}.scope/init"),
        ] {
            assert_eq!(id(&group), inner);
        }
        for group in ["", "0::/\n", "0::/user.slice/user-0.slice/session-1.scope"] {
            assert_eq!(id(group), "");
        }
    }
}
