//! The head of a request. Nobody is to send more.

use std::borrow::Cow;

/// Longer heads, in bytes, and heads of more headers are refused.
pub const LONGEST: usize = 16 << 10;
const MOST_HEADERS: usize = 64;

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// What is to be done.
    pub method: Method,
    /// From the first slash on, as it was sent, without the query.
    pub path: String,
    /// Names and values behind the question mark, decoded.
    pub query: Vec<(String, String)>,
    /// What the server is called by who asks; nothing if that is not said exactly once.
    pub host: Option<String>,
    /// What shows that one may ask.
    pub authorization: Option<String>,
    /// The site whose page asks, if a browser says so.
    pub origin: Option<String>,
    /// Whether a page of another site asks, in a browser's words.
    pub fetch_site: Option<String>,
    /// What is understood.
    pub accept: Option<String>,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// To tell something.
    #[default]
    Get,
    /// To tell how it would be told.
    Head,
    /// To do something.
    Post,
    /// What is never done here.
    Other,
}

/// What has been sent so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// There is more to come.
    Partial,
    /// It is no request, or one with a body.
    Malformed,
    /// A whole one.
    Whole(Box<Request>),
}

/// Reads what has been sent so far.
pub fn read(bytes: &[u8]) -> Head {
    if bytes.len() > LONGEST {
        return Head::Malformed;
    }
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => {
            understand(&parsed).map_or(Head::Malformed, |it| Head::Whole(Box::new(it)))
        }
        Ok(httparse::Status::Partial) if bytes.len() < LONGEST => Head::Partial,
        _ => Head::Malformed,
    }
}

fn understand(parsed: &httparse::Request<'_, '_>) -> Option<Request> {
    let of = |name: &str| {
        let named = parsed.headers.iter().filter(|it| it.name.eq_ignore_ascii_case(name));
        named.map(|it| str::from_utf8(it.value).ok()).collect::<Vec<_>>()
    };
    let has_body = of("content-length").iter().any(|it| it.map(str::trim) != Some("0"));
    if has_body || !of("transfer-encoding").is_empty() {
        return None;
    }
    // Nothing for what is there twice: which one is meant is not guessed.
    let once = |name: &str| match of(name)[..] {
        [] => Some(None),
        [Some(only)] => Some(Some(only.to_owned())),
        _ => None,
    };
    let target = parsed.path?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let pairs = form_urlencoded::parse(query.as_bytes());
    Some(Request {
        method: method(parsed.method?),
        path: path.to_owned(),
        query: pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect(),
        host: once("host").flatten(),
        authorization: once("authorization")?,
        origin: once("origin")?,
        fetch_site: once("sec-fetch-site")?,
        accept: of("accept").into_iter().flatten().next().map(str::to_owned),
    })
}

fn method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        _ => Method::Other,
    }
}

impl Request {
    /// The value of that name in the query: the last one, if there are several.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values(name).last()
    }

    /// All values of that name in the query.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.query.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The path's parts between slashes.
    pub fn parts(&self) -> Vec<Cow<'_, str>> {
        let path = self.path.strip_prefix('/').unwrap_or(&self.path);
        path.split('/').map(Cow::from).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Request {
        match read(text.as_bytes()) {
            Head::Whole(request) => *request,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_head_is_understood() {
        let request = whole(
            "GET /processes/7/report?view=hot&filter=size+%3E+1KiB HTTP/1.1\r\nHOST: localhost:1\r\n\
             Authorization: Bearer x\r\nAccept: */*\r\n\r\n",
        );
        assert_eq!((request.method, request.parts().len()), (Method::Get, 3));
        assert_eq!(request.value("filter"), Some("size > 1KiB"));
        assert_eq!(request.host.as_deref(), Some("localhost:1"));
        assert_eq!(request.authorization.as_deref(), Some("Bearer x"));
    }

    #[test]
    fn what_is_said_twice_is_not_guessed() {
        assert_eq!(whole("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n").host, None);
        let twice = "GET / HTTP/1.1\r\nAuthorization: a\r\nAuthorization: a\r\n\r\n";
        assert_eq!(read(twice.as_bytes()), Head::Malformed);
    }

    #[test]
    fn bodies_are_refused() {
        for header in ["Content-Length: 1", "Content-Length: x", "Transfer-Encoding: chunked"] {
            let text = format!("POST / HTTP/1.1\r\n{header}\r\n\r\n");
            assert_eq!(read(text.as_bytes()), Head::Malformed, "{header}");
        }
        assert_eq!(whole("POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n").method, Method::Post);
    }

    #[test]
    fn what_is_not_whole_may_become_it_unless_it_is_too_long() {
        assert_eq!(read(b"GET / HTTP/1.1\r\nHost: loc"), Head::Partial);
        assert_eq!(read(b""), Head::Partial);
        assert_eq!(read(b"nonsense\r\n\r\n"), Head::Malformed);
        let long = format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(LONGEST));
        assert_eq!(read(long.as_bytes()), Head::Malformed);
    }
}
