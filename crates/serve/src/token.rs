//! The word by which one may ask.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustix::fs::OFlags;
use rustix::process::geteuid;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::http::Request;

/// Shorter ones may be guessed, in characters; longer ones are no tokens.
const SHORTEST: usize = 16;
const LONGEST: u64 = 1024;

/// The word by which one may ask. It is never shown.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// 128 bits that nobody can guess, as hexadecimal digits.
    ///
    /// # Errors
    /// If the system has too few random numbers.
    pub fn random() -> anyhow::Result<Self> {
        let mut bytes = [0_u8; 16];
        let read = getrandom(&mut bytes, GetRandomFlags::empty()).context("random numbers")?;
        ensure!(read == bytes.len(), "the system has too few random numbers");
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// The one in a file that nobody but this user, and root, can read; a new one, if there is no such file.
    ///
    /// # Errors
    /// If it cannot be read or written, or others can, or it is too short.
    pub fn of_file(path: &Path) -> anyhow::Result<Self> {
        let token = Self::random()?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        match options.open(path) {
            Ok(mut file) => {
                writeln!(file, "{}", token.0).with_context(|| path.display().to_string())?;
                Ok(token)
            }
            Err(_) => Self::known(path).with_context(|| format!("{}: the token", path.display())),
        }
    }

    fn known(path: &Path) -> anyhow::Result<Self> {
        let mut options = OpenOptions::new();
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
        let file = options.read(true).custom_flags(flags).open(path)?;
        refuse_exposed(&file)?;
        let mut text = String::new();
        file.take(LONGEST).read_to_string(&mut text)?;
        let text = text.trim();
        let is_word = text.bytes().all(|byte| byte.is_ascii_graphic());
        ensure!(
            is_word && text.len() >= SHORTEST,
            "is to be one word of {SHORTEST} characters at least; remove the file to have a new one made"
        );
        Ok(Self(text.to_owned()))
    }

    /// The word itself, for an address that is for its user alone.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether a request has it: as `Authorization: Bearer TOKEN`, as the password of `Basic`, whatever the name, or as
    /// `?token=TOKEN`.
    pub fn is_in(&self, request: &Request) -> bool {
        match &request.authorization {
            Some(given) => password(given).is_some_and(|given| self.is(&given)),
            None => request.value("token").is_some_and(|given| self.is(given)),
        }
    }

    /// Whether it is this word, in a time that does not tell how much of it is the same.
    pub fn is(&self, given: &str) -> bool {
        let (given, wanted) = (given.as_bytes(), self.0.as_bytes());
        let differing = given.iter().zip(wanted).fold(0, |all, (a, b)| all | (a ^ b));
        given.len() == wanted.len() && std::hint::black_box(differing) == 0
    }
}

fn refuse_exposed(file: &File) -> anyhow::Result<()> {
    let metadata = file.metadata()?;
    let owner = metadata.uid();
    ensure!(metadata.is_file(), "is no file");
    ensure!(owner == geteuid().as_raw() || owner == 0, "belongs to user {owner}");
    ensure!(
        metadata.mode() & 0o077 == 0,
        "can be read by others than its owner: it is to have mode 0600"
    );
    Ok(())
}

fn password(authorization: &str) -> Option<String> {
    let (scheme, rest) = authorization.trim().split_once(' ')?;
    match scheme.to_ascii_lowercase().as_str() {
        "bearer" => Some(rest.trim().to_owned()),
        "basic" => {
            let pair = String::from_utf8(STANDARD.decode(rest.trim()).ok()?).ok()?;
            pair.split_once(':').map(|(_, password)| password.to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn with(authorization: &str) -> Request {
        Request { authorization: Some(authorization.to_owned()), ..Request::default() }
    }

    fn asking(token: &str) -> Request {
        Request { query: vec![("token".to_owned(), token.to_owned())], ..Request::default() }
    }

    #[test]
    fn it_is_shown_in_three_ways() {
        let token = Token("0123456789abcdef".to_owned());
        let basic = format!("Basic {}", STANDARD.encode("any:0123456789abcdef"));
        for request in [
            with("Bearer 0123456789abcdef"),
            with("bearer  0123456789abcdef "),
            with(&basic),
            asking(&token.0),
        ] {
            assert!(token.is_in(&request), "{request:?}");
        }
        for request in [
            with("Bearer 0123456789abcdeF"),
            with("Bearer 0123456789abcde"),
            with("Bearer "),
            with("0123456789abcdef"),
            with("Digest 0123456789abcdef"),
            with("Basic 0123456789abcdef"),
            asking(""),
            asking("0123456789abcdef0"),
            Request::default(),
        ] {
            assert!(!token.is_in(&request), "{request:?}");
        }
        // What is wrong in one place is not made good in another.
        assert!(!token.is_in(&Request { query: asking(&token.0).query, ..with("Bearer x") }));
    }

    #[test]
    fn it_stays_the_same_and_its_files_are_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let [one, other] = [(); 2].map(|()| Token::of_file(&path).unwrap());
        assert!(one.is(&other.0) && one.0.len() == 32);
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        assert!(!one.is(&Token::random().unwrap().0));
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        assert!(Token::of_file(&path).is_err());
        let link = folder.path().join("link");
        symlink(&path, &link).unwrap();
        assert!(Token::of_file(&link).is_err());
        for (name, text) in [("short", "secret"), ("two", "0123456789 0123456789"), ("empty", "")] {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            assert!(Token::of_file(&path).is_err(), "{name}");
        }
    }
}
