//! What a workload or a variant needs on the machine, and how Debian calls it.

use std::process::Command;

use crate::{shell, tools};

/// A program (in `PATH`, or by path) or a shared library (by its name, `lib*.so.N`), and the
/// Debian package that has it.
pub type Need = (&'static str, &'static str);

/// Whether all that `what` needs is there; says what to install if not.
pub fn is_met(what: &str, needs: &[Need]) -> bool {
    let missing = missing(needs);
    if !missing.is_empty() {
        eprintln!("skipped: {what}: apt-get install {}", missing.join(" "));
    }
    missing.is_empty()
}

/// The packages of what is not there.
fn missing(needs: &[Need]) -> Vec<&'static str> {
    needs.iter().filter(|(what, _)| !is_there(what)).map(|&(_, package)| package).collect()
}

fn is_there(what: &str) -> bool {
    if what.starts_with("lib") && what.contains(".so.") {
        return has_library(what);
    }
    tools::exists(what)
}

fn has_library(name: &str) -> bool {
    let mut list = Command::new("/sbin/ldconfig");
    list.arg("-p");
    shell::output(list).is_ok_and(|text| text.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_by_its_package() {
        let needs: &[Need] =
            &[("sh", "dash"), ("libc.so.6", "libc6"), ("libnobody.so.9", "nobody"), ("/x", "x")];
        assert_eq!(missing(needs), ["nobody", "x"]);
    }
}
