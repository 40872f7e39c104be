//! An answer, and how it is sent.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Who takes longer for an answer goes without the rest of it.
const LONGEST: Duration = Duration::from_secs(600);

/// Bytes that are sent at a time.
const PIECE: usize = 64 << 10;

/// What browsers may do with an answer that is no page: nothing.
const NO_PAGE: &str = "default-src 'none'";

/// An answer.
#[derive(Debug)]
pub struct Response {
    /// As in RFC 9110.
    pub status: u16,
    /// The body's media type.
    pub kind: &'static str,
    /// What the body may do in a browser.
    pub policy: String,
    /// Headers that not every answer has.
    pub headers: Vec<(&'static str, String)>,
    /// What is told.
    pub body: Body,
}

/// What is told.
#[derive(Debug)]
pub enum Body {
    /// All of it.
    Bytes(Vec<u8>),
    /// Something that is told again and again.
    Shared(Arc<[u8]>),
    /// A file, from where it is read on, and the number of bytes from there.
    File(File, u64),
}

impl Body {
    /// In bytes.
    fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Shared(bytes) => bytes.len() as u64,
            Self::File(_, length) => *length,
        }
    }
}

impl Response {
    /// All is well, and this is it.
    pub fn ok(kind: &'static str, body: Vec<u8>) -> Self {
        Self::new(200, kind, Body::Bytes(body))
    }

    /// A document.
    pub fn json(text: String) -> Self {
        Self::ok("application/json", text.into_bytes())
    }

    /// Of any kind.
    pub fn new(status: u16, kind: &'static str, body: Body) -> Self {
        Self { status, kind, policy: NO_PAGE.to_owned(), headers: Vec::new(), body }
    }

    /// What is wrong, and what to do: `error` is a sentence without its full stop.
    pub fn refusal(status: u16, error: &str) -> Self {
        let text = serde_json::json!({ "error": error }).to_string() + "\n";
        Self::new(status, "application/json", Body::Bytes(text.into_bytes()))
    }

    /// It may be asked again after some seconds.
    pub fn later(error: &str, seconds: u32) -> Self {
        Self::refusal(503, error).with("Retry-After", seconds.to_string())
    }

    /// A header more.
    pub fn with(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Sends it; without its body, if only the head is asked for.
    ///
    /// # Errors
    /// The output's; of one that takes too long, that it has timed out.
    pub fn write(self, output: &mut impl Write, has_body: bool) -> io::Result<()> {
        output.write_all(self.head().as_bytes())?;
        if has_body {
            match self.body {
                Body::Bytes(bytes) => send(&mut &bytes[..], output)?,
                Body::Shared(bytes) => send(&mut &bytes[..], output)?,
                Body::File(file, length) => send(&mut file.take(length), output)?,
            }
        }
        output.flush()
    }

    /// What keeps other sites and caches away is in each.
    fn head(&self) -> String {
        let Self { status, kind, policy, headers, body } = self;
        let is_text = kind.starts_with("text/") && !kind.contains("charset");
        let charset = if is_text { "; charset=utf-8" } else { "" };
        let others: String =
            headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        format!(
            "HTTP/1.1 {status} {}\r\n\
             Content-Type: {kind}{charset}\r\n\
             Content-Length: {}\r\n\
             {others}\
             Content-Security-Policy: {policy}; frame-ancestors 'none'\r\n\
             X-Content-Type-Options: nosniff\r\n\
             X-Frame-Options: DENY\r\n\
             Referrer-Policy: no-referrer\r\n\
             Cross-Origin-Opener-Policy: same-origin\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\n\
             Cache-Control: no-store\r\n\
             Connection: close\r\n\r\n",
            reason(*status),
            body.length()
        )
    }
}

/// In pieces, each of which is to be taken in the connection's time, and all in [`LONGEST`].
fn send(body: &mut impl Read, output: &mut impl Write) -> io::Result<()> {
    let (begun, mut piece) = (Instant::now(), vec![0; PIECE]);
    loop {
        let read = body.read(&mut piece)?;
        if read == 0 {
            return Ok(());
        }
        output.write_all(&piece[..read])?;
        if begun.elapsed() > LONGEST {
            return Err(ErrorKind::TimedOut.into());
        }
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Answer",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(response: Response, has_body: bool) -> String {
        let mut bytes = Vec::new();
        response.write(&mut bytes, has_body).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn every_answer_keeps_others_away() {
        let said = sent(Response::ok("text/plain", b"x".to_vec()), true);
        for header in [
            "HTTP/1.1 200 OK\r\n",
            "Content-Type: text/plain; charset=utf-8\r\n",
            "Content-Length: 1\r\n",
            "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n",
            "Cache-Control: no-store\r\n",
            "X-Content-Type-Options: nosniff\r\n",
        ] {
            assert!(said.contains(header), "{header}{said}");
        }
        assert!(said.ends_with("\r\n\r\nx"));
    }

    #[test]
    fn a_head_has_the_length_of_what_is_not_sent() {
        let body = Body::Shared(b"twelve bytes".to_vec().into());
        let said = sent(Response::new(200, "text/html", body), false);
        assert!(said.contains("Content-Length: 12\r\n") && said.ends_with("\r\n\r\n"));
    }

    #[test]
    fn a_file_is_sent_as_far_as_it_was_meant() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        std::io::Seek::rewind(&mut file).unwrap();
        let said = sent(Response::new(200, "application/octet-stream", Body::File(file, 4)), true);
        assert!(said.ends_with("\r\n\r\n0123"), "{said}");
    }

    #[test]
    fn errors_are_documents() {
        let said = sent(Response::later("is \"busy\"", 2), true);
        assert!(
            said.contains("Retry-After: 2\r\n")
                && said.ends_with("{\"error\":\"is \\\"busy\\\"\"}\n")
        );
    }
}
