//! With servers on loopback that answer as the real ones do, or do not.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use lifetrace_debuginfod::{Client, Failure, MISS_COUNTS};

const CONTENT: &str = "debug information";
const ID: [u8; 3] = [0xab, 0xcd, 0x01];
const LONG: Duration = Duration::from_secs(60);

/// A server that gives everybody the same answer.
struct Server {
    address: String,
    asked: Arc<AtomicUsize>,
}

impl Server {
    fn new(answer: impl Fn(&str, TcpStream) + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::Relaxed);
                let lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let request: Vec<_> =
                    lines.map_while(Result::ok).take_while(|it| !it.is_empty()).collect();
                answer(&request[0], stream);
            }
        });
        Server { address, asked }
    }

    fn saying(status: &'static str, body: &'static str) -> Server {
        Server::new(move |_, mut stream| {
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
        })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

fn client(servers: &[&Server], folder: &Path, patience: Duration) -> Client {
    let servers = servers.iter().map(|server| server.address.clone()).collect();
    Client::new(servers, folder.join("cache"), patience, 1 << 20)
}

fn anything(_: &Path) -> bool {
    true
}

#[test]
fn a_file_is_fetched_once_and_kept_as_others_keep_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::new(|request, mut stream| {
        assert_eq!(request, "GET /buildid/abcd01/debuginfo HTTP/1.1");
        let _ = write!(stream, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{CONTENT}");
    });
    let without = Server::saying("404 Not Found", "");
    for _ in 0..2 {
        let client = client(&[&without, &server], folder.path(), LONG);
        let path = client.debug_info(&ID, &anything).unwrap();
        assert_eq!(path, folder.path().join("cache/abcd01/debuginfo"));
        assert_eq!(fs::read_to_string(path).unwrap(), CONTENT);
    }
    assert_eq!((without.asked(), server.asked()), (1, 1));
}

#[test]
fn that_nobody_has_a_file_is_believed_for_a_while() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::saying("404 Not Found", "");
    let ask = || client(&[&server], folder.path(), LONG).debug_info(&ID, &anything);
    assert!(matches!(ask(), Err(Failure::Nowhere)));
    assert!(matches!(ask(), Err(Failure::Nowhere)));
    assert_eq!(server.asked(), 1);
    let note = fs::File::open(folder.path().join("cache/abcd01/debuginfo")).unwrap();
    note.set_modified(std::time::SystemTime::now() - 2 * MISS_COUNTS).unwrap();
    assert!(matches!(ask(), Err(Failure::Nowhere)));
    assert_eq!(server.asked(), 2);
}

#[test]
fn what_is_of_another_build_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::saying("200 OK", CONTENT);
    let client = client(&[&server], folder.path(), LONG);
    let refused = client.debug_info(&ID, &|_| false);
    assert!(
        matches!(&refused, Err(Failure::Trouble(why)) if why.contains("another build")),
        "{refused:?}"
    );
    assert_eq!(fs::read_dir(folder.path().join("cache/abcd01")).unwrap().count(), 0);
}

#[test]
fn a_server_in_trouble_is_told_of_and_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::saying("503 Service Unavailable", "");
    let gone = Server { address: "http://127.0.0.1:1".to_owned(), asked: Arc::default() };
    for server in [&server, &gone] {
        let failed = client(&[server], folder.path(), LONG).debug_info(&ID, &anything);
        assert!(
            matches!(&failed, Err(Failure::Trouble(why)) if why.starts_with(&server.address)),
            "{failed:?}"
        );
    }
    let _ = client(&[&server], folder.path(), LONG).debug_info(&ID, &anything);
    assert_eq!(server.asked(), 2);
}

/// One that says nothing, and one that begins to send and stops: both cost the patience, and then nobody waits any more.
#[test]
fn nobody_waits_for_longer_than_the_patience() {
    let silent = Server::new(|_, stream| _ = Box::leak(Box::new(stream)));
    let halting = Server::new(|_, mut stream| {
        let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf");
        Box::leak(Box::new(stream));
    });
    for server in [silent, halting] {
        let folder = tempfile::tempdir().unwrap();
        let client = client(&[&server], folder.path(), Duration::from_millis(200));
        for _ in 0..20 {
            assert!(matches!(client.debug_info(&ID, &anything), Err(Failure::Late)));
        }
        assert_eq!(server.asked(), 1);
        let left = folder.path().join("cache/abcd01");
        assert_eq!(fs::read_dir(left).map_or(0, Iterator::count), 0, "nothing is kept of a part");
    }
}

#[test]
fn a_file_that_is_too_long_is_not_fetched() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::saying("200 OK", CONTENT);
    let client = Client::new(vec![server.address.clone()], folder.path().into(), LONG, 5);
    let started = Instant::now();
    assert!(
        matches!(client.debug_info(&ID, &anything), Err(Failure::Trouble(why)) if why.contains("MAXSIZE"))
    );
    assert!(started.elapsed() < LONG);
}

#[test]
fn ids_that_nobody_has_are_not_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::saying("200 OK", CONTENT);
    let client = client(&[&server], folder.path(), LONG);
    for id in [&[][..], &[1; 65]] {
        assert!(matches!(client.debug_info(id, &anything), Err(Failure::Nowhere)));
    }
    assert_eq!(server.asked(), 0);
}
