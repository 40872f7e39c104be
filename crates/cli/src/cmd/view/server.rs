//! Serves one page to browsers on this machine: for those who have the command elsewhere, behind `ssh -L`.
//!
//! Only loopback is listened to, only whoever knows the random token in the path gets the page, and only under a name of
//! this machine: a site that lets its own name point here (DNS rebinding) is refused. There is nothing else to ask for.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use lifetrace_serve::guard::refuse_other_names;
use lifetrace_serve::http::{
    Address, Body, Listener, Method, Request, Response, Site, Stop, serve,
};
use lifetrace_serve::token::Token;
use lifetrace_viewer::Page;

/// A page that is served.
pub struct Server {
    listener: Listener,
    site: Arc<dyn Site>,
    address: String,
}

struct OnePage {
    /// In the path, which nobody can guess.
    token: Token,
    policy: String,
    page: Arc<[u8]>,
}

impl Server {
    /// Of a page, at this port; 0 is any that is free.
    ///
    /// # Errors
    /// If the port is taken.
    pub fn new(page: &Page<'_>, port: u16) -> anyhow::Result<Self> {
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener = Listener::bind(&Address::Loopback(loopback))?;
        let token = Token::random()?;
        let address = format!("{}{}/", listener.address(), token.reveal());
        let mut bytes = Vec::new();
        page.write(&mut bytes)?;
        let policy = page.template.policy().as_str().to_owned();
        let site = Arc::new(OnePage { token, policy, page: bytes.into() });
        Ok(Self { listener, site, address })
    }

    /// Where the page is.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Answers until the process ends.
    ///
    /// # Errors
    /// If there are no descriptors left.
    pub fn serve(&self) -> anyhow::Result<()> {
        serve(&self.listener, &self.site, &Stop::new()?);
        Ok(())
    }
}

impl Site for OnePage {
    /// Its path is a secret, and a browser may be another user's than the command.
    fn is_for_all_users(&self) -> bool {
        true
    }

    fn answer(&self, request: &Request) -> Response {
        if let Err(stranger) = refuse_other_names(request) {
            return stranger.response();
        }
        let given = request.path.strip_prefix('/').and_then(|path| path.strip_suffix('/'));
        let is_known = given.is_some_and(|given| self.token.is(given)) && request.query.is_empty();
        match request.method {
            _ if !is_known => Response::refusal(404, "here is nothing"),
            Method::Get | Method::Head => {
                let body = Body::Shared(Arc::clone(&self.page));
                let mut response = Response::new(200, "text/html", body);
                response.policy.clone_from(&self.policy);
                response
            }
            Method::Post | Method::Other => Response::refusal(405, "a page can be read only")
                .with("Allow", "GET, HEAD".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use lifetrace_serve::http::request::{Head, read};

    use super::*;

    /// The path is the token; what is said of it is the answer's status, policy and length.
    fn ask(method: &str, path: &str, headers: &str) -> Response {
        let token = Token::random().unwrap();
        let path = path.replace("TOKEN", token.reveal());
        let policy = "default-src 'none'".to_owned();
        let site = OnePage { token, policy, page: b"<!doctype html>".to_vec().into() };
        match read(format!("{method} {path} HTTP/1.1\r\n{headers}\r\n").as_bytes()) {
            Head::Whole(request) => site.answer(&request),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn who_knows_the_path_gets_the_page() {
        for method in ["GET", "HEAD"] {
            let response = ask(method, "/TOKEN/", "Host: 127.0.0.1:8080\r\n");
            assert_eq!((response.status, response.kind), (200, "text/html"));
            let mut said = Vec::new();
            response.write(&mut said, method == "GET").unwrap();
            let said = String::from_utf8(said).unwrap();
            assert!(said.contains("Content-Length: 15\r\n"), "{said}");
            assert_eq!(said.ends_with("\r\n\r\n<!doctype html>"), method == "GET", "{said}");
        }
    }

    #[test]
    fn all_others_are_refused() {
        for path in ["/", "/TOKEN", "/TOKEN/x", "/0TOKEN/", "/TOKEN/?x", "http://127.0.0.1/TOKEN/"]
        {
            assert_eq!(ask("GET", path, "Host: localhost\r\n").status, 404, "{path}");
        }
        for host in ["", "Host: evil.example\r\n", "Host: localhost\r\nHost: localhost\r\n"] {
            assert_eq!(ask("GET", "/TOKEN/", host).status, 403, "{host}");
        }
        assert_eq!(ask("POST", "/TOKEN/", "Host: [::1]:1\r\n").status, 405);
    }
}
