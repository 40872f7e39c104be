//! How much resident memory is the agent's, in a process and its descendants.
//!
//! Ours are the mappings of the preload library and of the shared segments. The agent's private memory, in
//! which are its table of samples and what it knows of modules, has no name by which it could be told from
//! the program's.

use std::fs;

const OUR_NAME: &str = "lifetrace";

/// Resident bytes of the agent in the descendants of `ancestor`, itself left out.
pub fn agents_bytes(ancestor: u32) -> u64 {
    let bytes = |pid| fs::read_to_string(format!("/proc/{pid}/smaps")).map_or(0, |it| ours(&it));
    descendants(ancestor).into_iter().map(bytes).sum()
}

/// Resident bytes of a process; 0 when it is gone.
pub fn resident_bytes(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().find_map(|line| kibibytes(line, "VmRSS:")).unwrap_or(0)
}

/// Processor time of a process, in hundredths of a second; 0 when it is gone.
pub fn processor_ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields = after_name.split_whitespace().skip(11).take(2);
    fields.filter_map(|field| field.parse::<u64>().ok()).sum()
}

/// Everyone whose parent, or parent's parent and so on, is `ancestor`.
pub fn descendants(ancestor: u32) -> Vec<u32> {
    let children = children(ancestor);
    let further: Vec<u32> = children.iter().flat_map(|&child| descendants(child)).collect();
    [children, further].concat()
}

/// The kernel lists those of each thread.
fn children(parent: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|it| fs::read_to_string(it.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace().filter_map(|it| it.parse().ok()).collect::<Vec<_>>()
        })
        .collect()
}

fn ours(smaps: &str) -> u64 {
    let (mut is_ours, mut bytes) = (false, 0);
    for line in smaps.lines() {
        if is_mapping(line) {
            is_ours = line.contains(OUR_NAME);
        } else if is_ours {
            bytes += kibibytes(line, "Rss:").unwrap_or(0);
        }
    }
    bytes
}

/// Whether it is the first line about a mapping: `start-end rwxp offset device inode path`.
fn is_mapping(line: &str) -> bool {
    let range = line.split(' ').next().and_then(|range| range.split_once('-'));
    range.is_some_and(|(start, _)| u64::from_str_radix(start, 16).is_ok())
}

/// Of a line `name   N kB`.
fn kibibytes(line: &str, name: &str) -> Option<u64> {
    let number = line.strip_prefix(name)?.trim().strip_suffix(" kB")?;
    Some(number.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_mappings_are_known_by_their_names() {
        let smaps = "\
7f1297000000-7f1297400000 r-xp 00000000 00:00 0                          /var/cache/lifetrace/0/liblifetrace.so
Size:               4096 kB
Rss:                  12 kB
55b2bb18a000-55b2bb18c000 r--p 00000000 fe:00 247030                     /usr/bin/cat
Rss:                 100 kB
7f1298155000-7f129825a000 rw-s 00000000 00:01 28385                      /memfd:lifetrace (deleted)
Rss:                   4 kB
";
        assert_eq!(ours(smaps), 16 * 1024);
    }

    #[test]
    fn a_process_is_not_its_own_descendant() {
        let own = std::process::id();
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        assert!(descendants(own).contains(&child.id()) && !descendants(own).contains(&own));
        assert!(resident_bytes(own) > 0);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
