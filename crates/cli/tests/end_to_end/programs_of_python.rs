//! Programs of other people's, and their packages, in a virtual environment that `cargo xtask python-programs` makes.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::python::{EXACT, check, told};
use crate::support::births;
use crate::support::fixture;
use crate::support::run::{Outcome, Target, files, lifetrace, lifetrace_verb};

/// A command of the environment's.
fn command(name: &str) -> PathBuf {
    let folder =
        std::env::var_os("LIFETRACE_PYTHON_PROGRAMS").expect("cargo xtask python-programs");
    Path::new(&folder).join("bin").join(name)
}

fn script(name: &str) -> PathBuf {
    fixture::source(&format!("python/programs/{name}.py"))
}

fn program(name: &str) -> Target {
    Target::new(&[&command("python"), &script(name)])
}

/// The page of a trace, of what has this function.
fn of_function(trace: &Path, function: &str, options: &[&str]) -> Value {
    let filter = format!("fn={function}");
    let words = ["report", "--json", "--filter", &filter, trace.to_str().unwrap()];
    let page = lifetrace_verb(&[&words[..], options].concat());
    assert_eq!(page.code, 0, "{page:?}");
    serde_json::from_slice(&page.stdout).unwrap()
}

fn bytes(page: &Value, metric: &str) -> f64 {
    page["totals"][metric]["bytes"].as_f64().unwrap()
}

#[test]
#[ignore = "needs packages: cargo xtask python-programs"]
fn arrays_and_tables() {
    let recording = program("tables").record(&["--interval", "128KiB", "--seed", "1"]);
    let outcome = &recording.outcome;
    assert_eq!((outcome.code, &*outcome.stdout_text()), (0, "10 (100, 2)\n"), "{outcome:?}");
    let trace = recording.traces().remove(0);
    let arrays = of_function(&trace, "tables.arrays", &["--metric", "live"]);
    // Ten of eight million bytes, and all at the line of the program's.
    let live = bytes(&arrays, "live_at_end");
    assert!((live - 8e7).abs() < 2e6, "{live}");
    let first = &arrays["callsites"][0];
    assert!(first["function"].as_str().unwrap().starts_with("tables.arrays"), "{first}");
    assert_eq!(first["line"], 8, "{first}");
    let column = of_function(&trace, "tables.column", &["--metric", "live"]);
    let live = bytes(&column, "live_at_end");
    assert!((live - 3.2e7).abs() < 2e6, "{live}");
}

#[test]
#[ignore = "needs packages: cargo xtask python-programs"]
fn greenlets_whose_stacks_are_moved() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stacks");
    let recording = program("greenlets").arguments(&[file.to_str().unwrap()]).record(EXACT);
    let outcome = &recording.outcome;
    assert_eq!((outcome.code, outcome.stderr_text()), (0, String::new()));
    let births = births::of(&recording.traces()[0]);
    let blocks: HashMap<_, _> = births.into_iter().map(|it| (8 * it.words, it)).collect();
    let told = told(&file);
    assert_eq!(told.len(), 21);
    check(&blocks, told);
}

/// The kernel is another process than the notebook's.
#[test]
#[ignore = "needs packages: cargo xtask python-programs"]
fn a_kernel_of_jupyter() {
    let recording = program("notebook").record(&["--interval", "64KiB"]);
    let outcome = &recording.outcome;
    assert_eq!((outcome.code, &*outcome.stdout_text()), (0, "300000\n"), "{outcome:?}");
    let made = |trace: &PathBuf| bytes(&of_function(trace, "keep", &[]), "allocated");
    let made: f64 = recording.traces().iter().map(made).sum();
    // Texts of at least 49 bytes and twenty times their number.
    assert!(made > 4e7, "{made}");
}

#[test]
#[ignore = "needs packages: cargo xtask python-programs"]
fn the_tests_of_a_package() {
    let words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs"];
    let target = Target::new(&[&command("python")]).arguments(&words);
    let target = target.arguments(&["numpy.lib.tests.test_arraypad"]);
    let passed = |outcome: &Outcome| {
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let said = outcome.stdout_text();
        said.lines().last().unwrap().split(" in ").next().unwrap().to_owned()
    };
    let bare = passed(&target.bare());
    let recording = target.record(&["--interval", "64KiB"]);
    assert_eq!(passed(&recording.outcome), bare);
    let trace = recording.traces().remove(0);
    let page = of_function(&trace, "_pytest.python.pytest_pyfunc_call", &[]);
    assert!(bytes(&page, "allocated") > 1e6, "{page:#}");
}

#[test]
#[ignore = "needs packages: cargo xtask python-programs"]
fn pip_itself() {
    let target =
        Target::new(&[&command("pip")]).arguments(&["--disable-pip-version-check", "list"]);
    let bare = target.bare();
    assert!(bare.stdout_text().contains("gunicorn"), "{bare:?}");
    let recording = target.record(&["--interval", "64KiB"]);
    assert_eq!(recording.outcome, bare);
    let page = of_function(&recording.traces()[0], "pip._internal.cli.main.main", &[]);
    assert!(bytes(&page, "allocated") > 1e6, "{page:#}");
}

/// Of each worker: the line that keeps something is named.
#[test]
#[ignore = "needs packages: cargo xtask python-programs"]
fn a_server_with_workers() {
    const VISITS: usize = 4_000;
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    (0..VISITS).for_each(|visit| server.visit(visit));
    server.stop();
    let traces = files(folder.path());
    let live = |trace: &PathBuf| {
        let page = of_function(trace, "shop_in_flask.remember", &["--metric", "live"]);
        let first = &page["callsites"][0];
        assert!(first.is_null() || first["line"] == 11, "{first}");
        bytes(&page, "live_at_end")
    };
    let live: Vec<f64> = traces.iter().map(live).collect();
    // A list of a hundred texts, of some 60 bytes, for each visit.
    let all: f64 = live.iter().sum();
    let expected = VISITS as f64 * 100.0 * 72.0;
    assert!(all > 0.75 * expected && all < 1.25 * expected, "{live:?}, {expected}");
    assert_eq!(live.iter().filter(|it| **it > 0.0).count(), 2, "{live:?}");
}

/// gunicorn with two workers, which is recorded.
struct Server {
    recorder: Child,
    port: u16,
}

impl Server {
    fn start(folder: &Path) -> Server {
        let application = script("shop_in_flask");
        let mut recorder = Command::new(lifetrace())
            .args(["record", "-q", "--interval", "16KiB", "-o"])
            .arg(folder.join("%p.lt"))
            .args(["--".as_ref(), command("gunicorn").as_os_str()])
            .args(["--workers", "2", "--bind", "127.0.0.1:0", "--chdir"])
            .arg(application.parent().unwrap())
            .arg("shop_in_flask:app")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let port = port(recorder.stderr.as_mut().unwrap());
        Server { recorder, port }
    }

    /// Each on a connection of its own, which the workers share out.
    fn visit(&self, visit: usize) {
        let mut connection = self.connect();
        write!(connection, "GET /visits/{visit} HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        assert!(answer.contains(&format!("\"visit\":{visit}")), "{answer}");
    }

    fn connect(&self) -> TcpStream {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            match TcpStream::connect(("127.0.0.1", self.port)) {
                Ok(connection) => return connection,
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
        }
    }

    /// As its user does: gunicorn hears SIGTERM, and ends its workers.
    fn stop(mut self) {
        let children = format!("/proc/{0}/task/{0}/children", self.recorder.id());
        let children = std::fs::read_to_string(children).unwrap();
        let server = children.split_whitespace().next().unwrap();
        assert!(Command::new("kill").arg(server).status().unwrap().success());
        let mut said = String::new();
        self.recorder.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(self.recorder.wait().unwrap().code(), Some(0), "{said}");
    }
}

/// What the server says that it listens at.
fn port(said: &mut impl Read) -> u16 {
    let (mut text, mut byte) = (String::new(), [0]);
    while said.read(&mut byte).unwrap() == 1 {
        text.push(char::from(byte[0]));
        if let Some(rest) = text.split_once("http://127.0.0.1:").map(|it| it.1)
            && let Some((port, _)) = rest.split_once(' ')
        {
            return port.parse().unwrap();
        }
    }
    panic!("{text}");
}
