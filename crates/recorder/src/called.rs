//! What a program is called: as it was run, not as the file is called that a link led to.
//!
//! `redis-server` is a link to `redis-check-rdb`, `sh` to `dash`, a virtual environment's `python` to
//! `python3.11`. Two witnesses say what was run: the first argument, which whoever runs a program chooses
//! freely (a login shell's is `-bash`), and the kernel's own name for the process, which is that of the
//! path that was executed, but for its end: it has room for 15 bytes. So the first argument is believed if
//! the kernel agrees. Of a script it does not: it names the script then, and the first argument is the
//! interpreter, which is the program.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Bytes of a name that the kernel keeps.
const KERNELS: usize = 15;

/// The kernel's name of what was executed as `/proc/self/exe`.
const ITSELF: &[u8] = b"exe";

/// The name of the program of this `file`, run with these `words`; `kernels` is how the kernel calls the
/// process.
pub(crate) fn name(file: &Path, words: &[impl AsRef<[u8]>], kernels: &[u8]) -> String {
    let file = file.file_name().map_or(&b"unknown"[..], |name| name.as_bytes());
    let is_kernels = |name: &[u8]| &name[..name.len().min(KERNELS)] == kernels;
    let first = words.first().and_then(|word| of_word(word.as_ref()));
    let is_script = || words.iter().skip(1).take(2).any(|word| is_kernels(base(word.as_ref())));
    let name = match first {
        Some(first) if first == file || is_kernels(first) || is_script() => first,
        _ if is_kernels(file) || !is_whole_name(kernels) => file,
        _ => kernels,
    };
    String::from_utf8_lossy(name).into_owned()
}

/// The name in a first argument, if it is one. A login shell's has a hyphen before it.
pub(crate) fn of_word(word: &[u8]) -> Option<&[u8]> {
    let word = word.strip_prefix(b"-").unwrap_or(word);
    Some(base(word)).filter(|name| !name.is_empty() && !word.starts_with(b"/proc/"))
}

/// What was executed by its descriptor has that number for a name.
fn is_whole_name(kernels: &[u8]) -> bool {
    let is_number = kernels.iter().all(u8::is_ascii_digit);
    !is_number && kernels != ITSELF && kernels.len() < KERNELS
}

fn base(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(file: &str, words: &[&str], kernels: &str, expected: &str) {
        let found = name(Path::new(file), words, kernels.as_bytes());
        assert_eq!(found, expected, "{file} {words:?} {kernels}");
    }

    #[test]
    fn links_are_called_as_they_were_run() {
        check("/usr/bin/redis-check-rdb", &["redis-server", "x"], "redis-server", "redis-server");
        check("/usr/bin/dash", &["/bin/sh", "-c", "true"], "sh", "sh");
        check("/usr/bin/python3.11", &["venv/bin/python"], "python", "python");
        check(
            "/usr/bin/a",
            &["/bin/a-very-long-name-indeed"],
            "a-very-long-nam",
            "a-very-long-name-indeed",
        );
    }

    #[test]
    fn a_login_shell_is_a_shell() {
        check("/usr/bin/bash", &["-bash"], "bash", "bash");
        check("/usr/bin/dash", &["-sh"], "sh", "sh");
    }

    #[test]
    fn scripts_are_run_by_their_interpreter() {
        check("/usr/bin/dash", &["/bin/sh", "./configure", "-q"], "configure", "sh");
        check("/usr/bin/python3.11", &["/usr/bin/python3", "-u", "/srv/app"], "app", "python3");
        check("/usr/bin/env", &["/usr/bin/env", "python3", "./app"], "app", "env");
    }

    #[test]
    fn what_is_chosen_freely_is_no_name() {
        check("/usr/bin/vim.basic", &["my editor"], "vi", "vi");
        check("/usr/bin/bash", &["nginx: worker process"], "bash", "bash");
        check("/usr/bin/redis-check-rdb", &["redis-server *:6379"], "redis-server", "redis-server");
        check("/opt/chrome", &["/proc/self/exe", "--type=zygote"], "exe", "chrome");
        check("/usr/bin/dockerd", &["docker-untar"], "exe", "dockerd");
        check("/memfd:x", &["anything"], "3", "memfd:x");
        check("/usr/bin/server", &["./server"], "main loop", "server");
    }

    #[test]
    fn without_witnesses_the_file_has_a_name() {
        check("/usr/bin/dash", &[], "", "dash");
        check("/usr/bin/dash", &[""], "sh", "sh");
        check("/usr/bin/dash", &["/bin/"], "", "dash");
        check("", &[], "", "unknown");
    }
}
