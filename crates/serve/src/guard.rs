//! Who may ask.

use crate::http::{Request, Response};
use crate::token::Token;

/// Names of this machine, for itself.
const HOSTS: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Why somebody may not ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stranger {
    /// This machine is not called so: a site has its own name point here (DNS rebinding).
    Host,
    /// A page of another site asks.
    Origin,
    /// The token is wrong, or there is none.
    Token,
}

impl Stranger {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Host, Self::Origin, Self::Token];

    /// What metrics call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Origin => "origin",
            Self::Token => "token",
        }
    }

    /// What it is told: no more than that.
    pub fn response(self) -> Response {
        match self {
            Self::Host => Response::refusal(403, "this machine is not called that"),
            Self::Origin => Response::refusal(403, "pages of other sites may not ask"),
            Self::Token => Response::refusal(401, "the token is missing or wrong")
                .with("WWW-Authenticate", "Basic realm=\"lifetrace\"".to_owned()),
        }
    }
}

/// Refuses who may not ask.
///
/// # Errors
/// Why not.
pub fn admit(request: &Request, token: &Token) -> Result<(), Stranger> {
    refuse_other_names(request)?;
    refuse_other_sites(request)?;
    if token.is_in(request) { Ok(()) } else { Err(Stranger::Token) }
}

/// Refuses who calls this machine by a name that it does not have for itself.
///
/// # Errors
/// [`Stranger::Host`].
pub fn refuse_other_names(request: &Request) -> Result<(), Stranger> {
    let is_here = request.host.as_deref().is_some_and(is_here);
    if is_here { Ok(()) } else { Err(Stranger::Host) }
}

/// A browser says so: whose page asks, and whether that is of the same site. Others say nothing.
fn refuse_other_sites(request: &Request) -> Result<(), Stranger> {
    let is_same = |origin: &str| {
        let host = origin.strip_prefix("http://");
        host.is_some() && host == request.host.as_deref()
    };
    let is_ours = |site: &str| matches!(site, "same-origin" | "none");
    let is_foreign = request.origin.as_deref().is_some_and(|origin| !is_same(origin))
        || request.fetch_site.as_deref().is_some_and(|site| !is_ours(site));
    if is_foreign { Err(Stranger::Origin) } else { Ok(()) }
}

/// Whether a host's name is this machine's for itself, at whatever port: behind `ssh -L` it is another.
fn is_here(host: &str) -> bool {
    let is_port = |port: &str| port.chars().all(|it| it.is_ascii_digit());
    let mut rests = HOSTS.iter().filter_map(|name| host.strip_prefix(*name));
    rests.any(|rest| rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(host: Option<&str>, origin: Option<&str>, site: Option<&str>) -> Request {
        let owned = |it: Option<&str>| it.map(str::to_owned);
        Request {
            host: owned(host),
            origin: owned(origin),
            fetch_site: owned(site),
            ..Request::default()
        }
    }

    #[test]
    fn this_machine_has_few_names() {
        for host in ["127.0.0.1", "127.0.0.1:80", "localhost:4040", "[::1]:1", "localhost"] {
            assert_eq!(refuse_other_names(&asking(Some(host), None, None)), Ok(()), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1@evil:80",
            "127.0.0.1.evil.example:80",
            "localhost:80x",
            "192.168.1.1",
        ] {
            let refused = refuse_other_names(&asking(Some(host), None, None));
            assert_eq!(refused, Err(Stranger::Host), "{host}");
        }
        assert_eq!(refuse_other_names(&asking(None, None, None)), Err(Stranger::Host));
    }

    #[test]
    fn pages_of_other_sites_may_not_ask() {
        let host = Some("localhost:4040");
        for (origin, site) in [
            (None, None),
            (Some("http://localhost:4040"), Some("same-origin")),
            (None, Some("none")),
        ] {
            assert_eq!(refuse_other_sites(&asking(host, origin, site)), Ok(()));
        }
        for (origin, site) in [
            (Some("http://localhost:4041"), None),
            (Some("https://localhost:4040"), None),
            (Some("http://evil.example"), None),
            (Some("null"), None),
            (None, Some("cross-site")),
            (None, Some("same-site")),
        ] {
            let refused = refuse_other_sites(&asking(host, origin, site));
            assert_eq!(refused, Err(Stranger::Origin), "{origin:?} {site:?}");
        }
    }

    #[test]
    fn what_is_wrong_first_is_said() {
        let token = Token::random().unwrap();
        let mut request = asking(Some("evil.example"), Some("http://evil.example"), None);
        assert_eq!(admit(&request, &token), Err(Stranger::Host));
        request.host = Some("localhost".to_owned());
        assert_eq!(admit(&request, &token), Err(Stranger::Origin));
        request.origin = None;
        assert_eq!(admit(&request, &token), Err(Stranger::Token));
        request.authorization = Some(format!("Bearer {}", token.reveal()));
        assert_eq!(admit(&request, &token), Ok(()));
    }
}
