//! What a page may do: run the application that is in it, and nothing else. No request goes anywhere.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// A content security policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy(String);

impl Policy {
    /// Of a page with these scripts and styles in it, by what is between their tags.
    pub(crate) fn of<'a>(
        scripts: impl Iterator<Item = &'a str>,
        styles: impl Iterator<Item = &'a str>,
    ) -> Self {
        Self(format!(
            "default-src 'none'; script-src{}; style-src{}; img-src data:; base-uri 'none'; form-action 'none'",
            hashes(scripts),
            hashes(styles)
        ))
    }

    /// As a header has it, or a meta element.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn hashes<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let hash = |text: &str| format!(" 'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let hashes: String = texts.map(hash).collect();
    if hashes.is_empty() { " 'none'".to_owned() } else { hashes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_page_may_run() {
        let policy = Policy::of(["alert('Hello, world.');"].into_iter(), [].into_iter());
        // The example of the specification.
        let hash =
            "script-src 'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='; style-src 'none';";
        assert!(policy.as_str().contains(hash), "{}", policy.as_str());
    }
}
