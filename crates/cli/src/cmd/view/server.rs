//! Serves one page to browsers on this machine: for those who have the command elsewhere, behind `ssh -L`.
//!
//! Only loopback is listened to, only whoever knows the random token in the path gets the page, and only under a name of
//! this machine: a site that lets its own name point here (DNS rebinding) is refused. There is nothing else to ask for.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use lifetrace_viewer::Page;
use rustix::rand::{GetRandomFlags, getrandom};

/// A request that is longer, or has more headers, or comes more slowly, gets no answer.
const LONGEST_REQUEST: usize = 16 << 10;
const MOST_HEADERS: usize = 64;
const PATIENCE: Duration = Duration::from_secs(10);

/// More connections at once are closed.
const MOST_CONNECTIONS: usize = 32;

/// Names of this machine, for itself.
const HOSTS: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// A page that is served.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    site: Arc<Site>,
    address: String,
}

#[derive(Debug)]
struct Site {
    /// The path, which nobody can guess.
    path: String,
    headers: String,
    page: Vec<u8>,
    connections: AtomicUsize,
}

/// What is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Page { with_body: bool },
    BadRequest,
    Forbidden,
    NotFound,
    OtherMethod,
}

impl Server {
    /// Of a page, at this port; 0 is any that is free.
    ///
    /// # Errors
    /// If the port is taken.
    pub fn new(page: &Page<'_>, port: u16) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        let listener = listener.with_context(|| format!("port {port} of 127.0.0.1"))?;
        let path = format!("/{}/", token()?);
        let address = format!("http://{}{path}", listener.local_addr()?);
        let headers = headers(page.template.policy().as_str());
        let mut bytes = Vec::new();
        page.write(&mut bytes)?;
        let site = Site { path, headers, page: bytes, connections: AtomicUsize::new(0) };
        Ok(Self { listener, site: Arc::new(site), address })
    }

    /// Where the page is.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Answers until the process ends.
    pub fn serve(&self) {
        for stream in self.listener.incoming().flatten() {
            if self.site.connections.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
                self.site.connections.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let site = Arc::clone(&self.site);
            thread::spawn(move || {
                // Whoever goes away does without an answer.
                let _ = site.talk(stream);
                site.connections.fetch_sub(1, Ordering::Relaxed);
            });
        }
    }
}

impl Site {
    fn talk(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let answer = read_request(&mut stream, |request| self.answer(request))?;
        self.write(answer, &mut stream)
    }

    fn answer(&self, request: &httparse::Request<'_, '_>) -> Answer {
        let mut hosts = request.headers.iter().filter(|it| it.name.eq_ignore_ascii_case("host"));
        match (hosts.next(), hosts.next()) {
            (Some(host), None) if is_here(host.value) => {}
            _ => return Answer::Forbidden,
        }
        let is_known =
            request.path.is_some_and(|path| is_same(path.as_bytes(), self.path.as_bytes()));
        match request.method {
            _ if !is_known => Answer::NotFound,
            Some("GET") => Answer::Page { with_body: true },
            Some("HEAD") => Answer::Page { with_body: false },
            _ => Answer::OtherMethod,
        }
    }

    fn write(&self, answer: Answer, stream: &mut impl Write) -> io::Result<()> {
        let (status, body): (_, &[u8]) = match answer {
            Answer::Page { with_body: true } => ("200 OK", &self.page),
            Answer::Page { with_body: false } => ("200 OK", b""),
            Answer::BadRequest => ("400 Bad Request", b"This is no request.\n"),
            Answer::Forbidden => ("403 Forbidden", b"This machine is not called that.\n"),
            Answer::NotFound => ("404 Not Found", b"Here is nothing.\n"),
            Answer::OtherMethod => ("405 Method Not Allowed", b"A page can be read only.\n"),
        };
        let is_page = matches!(answer, Answer::Page { .. });
        let length = if is_page { self.page.len() } else { body.len() };
        let kind = if is_page { "text/html" } else { "text/plain" };
        let allow = if answer == Answer::OtherMethod { "Allow: GET, HEAD\r\n" } else { "" };
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {length}\r\n{allow}{}\r\n",
            self.headers
        )?;
        stream.write_all(body)?;
        stream.flush()
    }
}

/// The policy, and what keeps other sites and caches away.
fn headers(policy: &str) -> String {
    format!(
        "Content-Security-Policy: {policy}; frame-ancestors 'none'\r\n\
         X-Content-Type-Options: nosniff\r\n\
         X-Frame-Options: DENY\r\n\
         Referrer-Policy: no-referrer\r\n\
         Cross-Origin-Opener-Policy: same-origin\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\n\
         Cache-Control: no-store\r\n\
         Connection: close\r\n"
    )
}

/// Reads the head of a request; nobody is to send more.
fn read_request(
    stream: &mut impl Read,
    answer: impl FnOnce(&httparse::Request<'_, '_>) -> Answer,
) -> io::Result<Answer> {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 1 << 10]);
    loop {
        let read = stream.read(&mut buffer)?;
        bytes.extend_from_slice(&buffer[..read]);
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&bytes) {
            Ok(httparse::Status::Complete(_)) => return Ok(answer(&request)),
            Ok(httparse::Status::Partial) if read > 0 && bytes.len() < LONGEST_REQUEST => {}
            _ => return Ok(Answer::BadRequest),
        }
    }
}

/// Whether a host's name is this machine's for itself, at whatever port: behind `ssh -L` it is another.
fn is_here(host: &[u8]) -> bool {
    let Ok(host) = std::str::from_utf8(host) else { return false };
    let is_port = |port: &str| port.chars().all(|it| it.is_ascii_digit());
    let rest = |name: &&str| host.strip_prefix(*name);
    HOSTS
        .iter()
        .filter_map(rest)
        .any(|rest| rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port))
}

/// In a time that does not tell how much of it is the same.
fn is_same(given: &[u8], wanted: &[u8]) -> bool {
    let differing = given.iter().zip(wanted).fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == wanted.len() && differing == 0
}

/// 128 random bits.
fn token() -> anyhow::Result<String> {
    let mut bytes = [0_u8; 16];
    let read = getrandom(&mut bytes, GetRandomFlags::empty()).context("random numbers")?;
    anyhow::ensure!(read == bytes.len(), "the system has too few random numbers");
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> Site {
        Site {
            path: "/0123/".to_owned(),
            headers: headers("default-src 'none'"),
            page: b"<!doctype html>".to_vec(),
            connections: AtomicUsize::new(0),
        }
    }

    fn ask(request: &str) -> String {
        let site = site();
        let answer = read_request(&mut request.as_bytes(), |it| site.answer(it)).unwrap();
        let mut said = Vec::new();
        site.write(answer, &mut said).unwrap();
        String::from_utf8(said).unwrap()
    }

    fn status(request: &str) -> String {
        ask(request).split(' ').nth(1).unwrap().to_owned()
    }

    #[test]
    fn who_knows_the_path_gets_the_page() {
        let said = ask("GET /0123/ HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n");
        assert!(
            said.starts_with("HTTP/1.1 200 OK\r\n") && said.ends_with("\r\n\r\n<!doctype html>")
        );
        for header in [
            "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n",
            "Content-Length: 15\r\n",
            "Cache-Control: no-store\r\n",
            "X-Content-Type-Options: nosniff\r\n",
        ] {
            assert!(said.contains(header), "{header}{said}");
        }
        let head = ask("HEAD /0123/ HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert!(head.contains("Content-Length: 15") && head.ends_with("\r\n\r\n"));
    }

    #[test]
    fn all_others_are_refused() {
        for path in ["/", "/0123", "/0123/x", "/0124/", "/0123/?", "http://127.0.0.1/0123/"] {
            assert_eq!(
                status(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")),
                "404",
                "{path}"
            );
        }
        for host in [
            "",
            "Host: evil.example\r\n",
            "Host: localhost.evil.example\r\n",
            "Host: 127.0.0.1@evil:80\r\n",
            "Host: localhost\r\nHost: localhost\r\n",
        ] {
            assert_eq!(status(&format!("GET /0123/ HTTP/1.1\r\n{host}\r\n")), "403", "{host}");
        }
        assert_eq!(status("POST /0123/ HTTP/1.1\r\nHost: [::1]:1\r\n\r\n"), "405");
        assert_eq!(status("nonsense\r\n\r\n"), "400");
        assert_eq!(status("GET /0123/ HTTP/1.1\r\nHost: localhost"), "400");
        let long = format!("GET /0123/ HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(LONGEST_REQUEST));
        assert_eq!(status(&long), "400");
    }

    #[test]
    fn tokens_are_not_guessed() {
        let [one, other] = [token().unwrap(), token().unwrap()];
        assert!(one.len() == 32 && one != other);
    }
}
