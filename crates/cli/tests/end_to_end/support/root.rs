//! What only root may do.

/// Whether this is root, who alone can do what a test is about. The project's own runs are root's.
pub fn only_root_can(what: &str) -> bool {
    let is_root =
        std::process::Command::new("id").arg("-u").output().is_ok_and(|it| it.stdout == b"0\n");
    if !is_root {
        assert!(std::env::var_os("CI").is_none(), "CI must be root");
        eprintln!("skipped: only root can {what}");
    }
    is_root
}
