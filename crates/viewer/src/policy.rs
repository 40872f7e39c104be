//! What a page may do: run the application that is in it, and nothing else. No request goes anywhere.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

const KIND: &str = "sha256-";

/// A content security policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy(String);

impl Policy {
    /// Of a page with these scripts and styles in it, by what is between their tags, and with scripts that one of them
    /// unpacks, by their hashes.
    pub(crate) fn of<'a>(
        scripts: impl Iterator<Item = &'a str>,
        unpacked: impl Iterator<Item = &'a str>,
        styles: impl Iterator<Item = &'a str>,
    ) -> Self {
        let scripts = sources(scripts.map(hash).chain(unpacked.filter(is_hash).map(str::to_owned)));
        let styles = sources(styles.map(hash));
        Self(format!(
            "default-src 'none'; script-src{scripts}; style-src{styles}; img-src data:; base-uri 'none'; form-action 'none'"
        ))
    }

    /// As a header has it, or a meta element.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn sources(hashes: impl Iterator<Item = String>) -> String {
    let sources: String = hashes.map(|hash| format!(" '{hash}'")).collect();
    if sources.is_empty() { " 'none'".to_owned() } else { sources }
}

fn hash(text: &str) -> String {
    format!("{KIND}{}", STANDARD.encode(Sha256::digest(text)))
}

fn is_hash(text: &&str) -> bool {
    let digest = text.strip_prefix(KIND).and_then(|digest| STANDARD.decode(digest).ok());
    digest.is_some_and(|digest| digest.len() == Sha256::output_size())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_page_may_run() {
        let policy =
            Policy::of(["alert('Hello, world.');"].into_iter(), [].into_iter(), [].into_iter());
        // The example of the specification.
        let hash =
            "script-src 'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='; style-src 'none';";
        assert!(policy.as_str().contains(hash), "{}", policy.as_str());
    }
}
