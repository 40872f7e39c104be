//! Debug information that comes from a server, on loopback, while a program is being recorded.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread;

use tempfile::TempDir;

use crate::support::births;
use crate::support::fixture;
use crate::support::run::{Target, lifetrace_verb};

const EXACT: &[&str] = &["--rate", "1"];

/// A program whose debug information is elsewhere, and what else a test leaves.
struct Program {
    folder: TempDir,
    build_id: String,
    debug_info: Vec<u8>,
}

impl Program {
    fn new() -> Program {
        let folder = tempfile::tempdir().unwrap();
        let (whole, apart) = (fixture::c("big"), folder.path().join("big.debug"));
        let stripped = folder.path().join("bare");
        run(Command::new("objcopy").arg("--only-keep-debug").arg(&whole).arg(&apart));
        run(Command::new("objcopy").arg("--strip-debug").arg(&whole).arg(&stripped));
        let notes = run(Command::new("readelf").arg("-n").arg(&whole));
        let build_id = notes.split("Build ID: ").nth(1).unwrap().lines().next().unwrap().to_owned();
        let debug_info = fs::read(&apart).unwrap();
        fs::remove_file(apart).unwrap();
        Program { folder, build_id, debug_info }
    }

    /// Records it with these servers; whether the function that allocates has a line, and what the page says.
    fn record(&self, servers: &str) -> (bool, String) {
        let environment = [
            ("DEBUGINFOD_URLS", servers.to_owned()),
            ("DEBUGINFOD_CACHE_PATH", self.cache().to_str().unwrap().to_owned()),
            ("DEBUGINFOD_TIMEOUT", "1".to_owned()),
        ];
        let target = Target::new(&[&self.folder.path().join("bare")]);
        let recording = target.environment(&environment).record(EXACT);
        let trace = recording.trace_of("bare");
        let births = births::of(&trace);
        let mut places = births.iter().flat_map(|birth| birth.frames.iter().flatten());
        let place = places.find(|place| &*place.defname == "hazard_big").unwrap();
        let has_line = place.filename.ends_with("big.c") && place.line > 0;
        (has_line, lifetrace_verb(&["info".as_ref(), trace.as_os_str()]).stdout_text())
    }

    fn cache(&self) -> std::path::PathBuf {
        self.folder.path().join("cache")
    }

    fn kept(&self) -> std::path::PathBuf {
        self.cache().join(&self.build_id).join("debuginfo")
    }
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The address of a server that answers requests so.
fn server(answer: impl Fn(&str, TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let request: Vec<_> =
                lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
            answer(&request[0], stream);
        }
    });
    address
}

/// A server that has the debug information of one build, and nothing else.
fn server_of(program: &Program) -> String {
    let wanted = format!("GET /buildid/{}/debuginfo ", program.build_id);
    let content = program.debug_info.clone();
    server(move |request, mut stream| {
        let (status, body) = match request.starts_with(&wanted) {
            true => ("200 OK", &content[..]),
            false => ("404 Not Found", &[][..]),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    })
}

#[test]
fn lines_come_from_a_server_and_then_from_the_cache() {
    let program = Program::new();
    let (has_line, _) = program.record("");
    assert!(!has_line && !program.cache().exists(), "nothing is fetched unasked");
    let (has_line, page) = program.record(&server_of(&program));
    assert!(has_line, "{page}");
    assert_eq!(fs::read(program.kept()).unwrap(), program.debug_info);
    // There is nobody.
    let (has_line, page) = program.record("http://127.0.0.1:1");
    assert!(has_line, "{page}");
}

#[test]
fn debug_information_of_another_build_is_not_believed() {
    let program = Program::new();
    let other = fs::read(fixture::c("fork")).unwrap();
    let liar = server(move |_, mut stream| {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            other.len()
        );
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&other));
    });
    let (has_line, page) = program.record(&liar);
    assert!(!has_line && !program.kept().exists(), "{page}");
    assert!(said_of(&page, program.folder.path()), "{page}");
}

#[test]
fn a_server_that_is_silent_is_not_waited_for() {
    let program = Program::new();
    let silent = server(|_, stream| _ = Box::leak(Box::new(stream)));
    let (has_line, page) = program.record(&silent);
    assert!(!has_line && said_of(&page, program.folder.path()), "{page}");
}

/// Whether the page has the notice about the program.
fn said_of(page: &str, folder: &Path) -> bool {
    let words: Vec<_> = page.split_whitespace().collect();
    let said = words.join(" ");
    said.contains(&format!(
        "{}/bare, whose debug information could not be fetched",
        folder.display()
    ))
}
