//! Where to listen: this machine alone can come there.

use std::fmt::{self, Display, Formatter};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// A place that only programs of this machine can reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A port of the loopback interface; 0 is any that is free.
    Loopback(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

/// How a path is told from a port.
const UNIX: &str = "unix:";

impl FromStr for Address {
    type Err = String;

    /// `127.0.0.1:PORT`, `[::1]:PORT` or `unix:PATH`.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix(UNIX) {
            return match path {
                "" => Err("which path? as in unix:/run/lifetrace/http".to_owned()),
                path => Ok(Self::Unix(path.into())),
            };
        }
        match text.parse::<SocketAddr>() {
            Ok(address) if address.ip().is_loopback() => Ok(Self::Loopback(address)),
            Ok(_) => Err("is reached from elsewhere: only loopback (127.0.0.1:PORT, [::1]:PORT) and unix:PATH are \
                          listened to; `ssh -L` brings it to another machine"
                .to_owned()),
            Err(_) => Err("is no address such as 127.0.0.1:4040, [::1]:4040 or unix:/run/lifetrace/http".to_owned()),
        }
    }
}

impl Display for Address {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loopback(address) => write!(formatter, "http://{address}/"),
            Self::Unix(path) => write!(formatter, "{UNIX}{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_comes_from_elsewhere() {
        for text in ["127.0.0.1:80", "127.8.8.8:0", "[::1]:4040", "unix:/run/x"] {
            assert!(text.parse::<Address>().is_ok(), "{text}");
        }
        for text in [
            "0.0.0.0:80",
            "[::]:80",
            "192.168.1.1:80",
            "[::ffff:127.0.0.1]:80",
            "localhost:80",
            "127.0.0.1",
            ":80",
            "unix:",
            "",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
