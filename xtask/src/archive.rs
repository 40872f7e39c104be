//! Where packages of other systems than this one come from: a mirror that the machine's own apt knows, or
//! that a variable of the environment names. No address is written down here.

use std::fs;
use std::process::Command;

use anyhow::Result;

use crate::{shell, tools};

/// An archive of packages, by what it is called in its own lists.
pub struct Archive {
    name: &'static str,
    /// What names a mirror.
    variable: &'static str,
    /// What apt's sources have before and behind its address.
    options: &'static str,
    components: &'static str,
}

pub const DEBIAN: Archive = Archive {
    name: "Debian",
    variable: "LIFETRACE_DEBIAN_ARCHIVE",
    options: "",
    components: "main",
};

/// Debian has no keys of Ubuntu's, so nothing is verified: not for tests that run unasked.
pub const UBUNTU: Archive = Archive {
    name: "Ubuntu",
    variable: "LIFETRACE_UBUNTU_ARCHIVE",
    options: "[trusted=yes] ",
    components: "main universe",
};

/// What apt tells of each list of packages; without lists there is neither origin nor label.
const TARGET: &str = "$(CREATED_BY)|$(REPO_URI)|$(RELEASE)|$(ORIGIN)|$(LABEL)";

/// The system that this machine runs, by `/etc/os-release`.
struct System {
    id: String,
    codename: String,
}

impl Archive {
    /// A line for apt's sources, of `deb` or `deb-src` packages of a suite; if there is no mirror, a line says
    /// that `what` is skipped.
    ///
    /// # Errors
    /// If apt cannot be asked.
    pub fn source(&self, kind: &str, suite: &str, what: &str) -> Result<Option<String>> {
        let Some(mirror) = self.mirror()? else {
            eprintln!(
                "skipped: {what}: apt's sources have no mirror of {}; {} can name one, as apt's sources would",
                self.name, self.variable
            );
            return Ok(None);
        };
        let Archive { options, components, .. } = self;
        Ok(Some(format!("{kind} {options}{mirror} {suite} {components}\n")))
    }

    fn mirror(&self) -> Result<Option<String>> {
        if let Ok(named) = std::env::var(self.variable) {
            return Ok(Some(named));
        }
        if !tools::exists("apt-get") {
            return Ok(None);
        }
        let mut apt = Command::new("apt-get");
        apt.args(["indextargets", "--format", TARGET]);
        let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        Ok(self.mirror_of(&shell::output(apt)?, &System::of(&release)))
    }

    /// The first of the archive itself, rather than of its security updates, say.
    fn mirror_of(&self, targets: &str, system: &System) -> Option<String> {
        targets.lines().find_map(|line| {
            let fields: Vec<&str> = line.split('|').collect();
            let ["Packages", address, release, origin, label] = fields[..] else { return None };
            let is_known = origin == self.name && label == self.name;
            let is_ours = system.id.eq_ignore_ascii_case(self.name) && release == system.codename;
            (is_known || origin.is_empty() && is_ours).then(|| address.to_owned())
        })
    }
}

impl System {
    fn of(release: &str) -> System {
        let value = |key: &str| {
            let value = release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
            value.unwrap_or_default().trim_matches('"').to_owned()
        };
        System { id: value("ID"), codename: value("VERSION_CODENAME") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELEASE: &str = "NAME=\"Debian GNU/Linux\"\nVERSION_CODENAME=bookworm\nID=debian\n";

    fn check(archive: &Archive, targets: &str, expected: Option<&str>) {
        let mirror = archive.mirror_of(targets, &System::of(RELEASE));
        assert_eq!(mirror.as_deref(), expected, "{targets}");
    }

    #[test]
    fn lists_say_whose_they_are() {
        let targets = "Packages|http://a/nodes/|nodistro|. nodistro|. nodistro\n\
            Packages|http://a/security/|bookworm-security|Debian|Debian-Security\n\
            Sources|http://a/sources/|stable|Debian|Debian\n\
            Packages|http://a/debian/|stable|Debian|Debian\n\
            Packages|http://b/debian/|stable|Debian|Debian\n\
            Packages|http://a/ubuntu/|noble|Ubuntu|Ubuntu\n";
        check(&DEBIAN, targets, Some("http://a/debian/"));
        check(&UBUNTU, targets, Some("http://a/ubuntu/"));
    }

    #[test]
    fn without_lists_the_suite_does() {
        let targets = "Packages|http://a/security/|bookworm-security||\n\
            Packages|http://a/debian/|bookworm||\n";
        check(&DEBIAN, targets, Some("http://a/debian/"));
        check(&UBUNTU, targets, None);
        check(&DEBIAN, "", None);
    }
}
