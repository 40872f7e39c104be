//! Where the names and lines of the system's own functions come from.

use std::path::PathBuf;

use lifetrace_recorder::DebugInfo;

use super::finding::{Finding, State};

/// Servers of debug information, separated by blanks; set by some distributions.
const SERVERS: &str = "DEBUGINFOD_URLS";

/// Where distributions have the C library.
const LIBRARIES: [&str; 4] = [
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/lib/aarch64-linux-gnu/libc.so.6",
    "/lib64/libc.so.6",
    "/usr/lib/libc.so.6",
];

pub fn of_the_c_library() -> Finding {
    const SUBJECT: &str = "lines of the C library's functions";
    let library = LIBRARIES.iter().map(PathBuf::from).find(|path| path.exists());
    let Some(library) = library else {
        let told = "No GNU C library lies where distributions put it.";
        return Finding::new(SUBJECT, State::Limited, told)
            .with_remedy("Programs that are linked to musl, or statically, cannot be recorded; those that bring a GNU C library can.");
    };
    finding(SUBJECT, &library, DebugInfo::of(&library))
}

/// What is known of the lines of a program or library.
pub fn finding(
    subject: &'static str,
    path: &std::path::Path,
    info: std::io::Result<DebugInfo>,
) -> Finding {
    let path = path.display();
    match info {
        Ok(DebugInfo::Inside) => {
            Finding::new(subject, State::Works, format!("{path} has debug information in itself."))
        }
        Ok(DebugInfo::Beside(beside)) => {
            let told = format!("{path}: debug information is in {}.", beside.display());
            Finding::new(subject, State::Works, told)
        }
        Ok(DebugInfo::Nowhere { .. }) => {
            let told = format!(
                "{path} has no debug information: its functions have names only, as far as it has symbols."
            );
            Finding::new(subject, State::Limited, told).with_remedy(remedy())
        }
        Err(error) => Finding::new(subject, State::Limited, format!("{path}: {error}")),
    }
}

fn remedy() -> String {
    let servers = match std::env::var_os(SERVERS) {
        Some(servers) if !servers.is_empty() => {
            "it is fetched when it is needed, from the servers that DEBUGINFOD_URLS names"
        }
        _ => {
            "or set DEBUGINFOD_URLS to your distribution's server, from which it is fetched when it is needed"
        }
    };
    format!(
        "Install the package with its debug symbols (Debian's and Ubuntu's -dbg or -dbgsym, Fedora's -debuginfo), or build with -g; {servers}."
    )
}

/// Whether debug information may be fetched.
pub fn servers() -> Finding {
    const SUBJECT: &str = "servers of debug information";
    match std::env::var(SERVERS) {
        Ok(servers) if !servers.trim().is_empty() => {
            Finding::new(SUBJECT, State::Note, format!("DEBUGINFOD_URLS names {}.", servers.trim()))
        }
        _ => Finding::new(
            SUBJECT,
            State::Note,
            "DEBUGINFOD_URLS is not set: nothing is fetched from anywhere.",
        ),
    }
}
