//! Pages for browsers: written, kept in private, opened and served. What is in them is tested where they are made.

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::Child;

use crate::*;

const BEGIN: &str = "<script type=\"application/json\" id=\"lifetrace-page\">";

/// What a page says of itself.
fn head(page: &str) -> Value {
    let (_, rest) = page.split_once(BEGIN).unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

fn page(arguments: &[&str]) -> String {
    stdout(&[&["export", "-F", "html"], arguments].concat())
}

fn traces_in(page: &str) -> usize {
    page.matches("class=\"lifetrace-trace\"").count()
}

/// `view`, with a folder for pages of its own.
fn view(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = lifetrace(&[&["view"], arguments].concat());
    command.env("XDG_RUNTIME_DIR", folder);
    for variable in ["BROWSER", "DISPLAY", "WAYLAND_DISPLAY"] {
        command.env_remove(variable);
    }
    command
}

#[test]
fn a_page_has_all_traces_that_are_named() {
    let one = page(&[SMALL]);
    assert!(one.starts_with("<!doctype html>") && one.contains("Content-Security-Policy"));
    assert_eq!((traces_in(&one), &head(&one)["title"]), (1, &Value::from("main.exe")));
    assert_eq!(head(&one)["options"], serde_json::json!({}));
    let three = page(&["forked.lt", "forked.2.lt", "forked.3.lt"]);
    assert_eq!((traces_in(&three), head(&three)["traces"].as_u64()), (3, Some(3)));
    assert_eq!(page(&[SMALL]), one);
}

#[test]
fn a_page_begins_with_what_is_asked() {
    let asked = [
        &["--filter", "size > 1KiB", "--filter", "not freed", "--hide", "fn~<x>"][..],
        &["--focus", "main;*;f", "--collapse-recursion", "--metric", "live", SAMPLE],
    ];
    let output = run(&[&["export", "-F", "html"], &asked.concat()[..]].concat());
    // None of these frames is there.
    assert_eq!(text(&output.stderr).lines().count(), 3);
    let asked = text(&output.stdout);
    let options = &head(&asked)["options"];
    assert_eq!(options["filter"], "size>1KiB not freed");
    assert_eq!(
        (&options["collapse_recursion"], &options["metric"]),
        (&true.into(), &"live".into())
    );
    assert!(options["hide"][0].as_str().unwrap().contains("<x>"), "{options}");
    assert!(options["focus"].as_str().unwrap().contains(";*;"), "{options}");
    assert!(!asked.split(BEGIN).nth(1).unwrap().split("</script>").next().unwrap().contains('<'));
    // What is in it is the same.
    let data = |page: &str| page.split("lifetrace-trace\">").nth(1).unwrap().to_owned();
    assert_eq!(data(&asked), data(&page(&[SAMPLE])));
}

#[test]
fn what_makes_no_page_is_refused() {
    let refused = |arguments: &[&str], code, what: &str| {
        let output = run(arguments);
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(code) && said.contains(what), "{arguments:?}: {said}");
        assert!(output.stdout.is_empty());
    };
    refused(&["export", "-F", "pprof", SMALL, SAMPLE], 1, "-F html");
    refused(&["export", "-F", "html", SMALL, SMALL], 1, "given twice");
    refused(&["export", "-F", "html", SMALL, "--metric", "samples"], 1, "is none of the page's");
    refused(&["export", "-F", "html", "no-such.lt"], 1, "no-such.lt");
    refused(&["view", "--no-open", SMALL, "--filter", "sise > 1"], 2, "sise");
    refused(&["view", SMALL, "--view", "flames"], 2, "flame");
    refused(&["view", SMALL, "--port", "80"], 2, "--serve");
    refused(&["view", SMALL, "--most-samples", "0"], 2, "most-samples");
}

#[test]
fn a_damaged_trace_has_a_page_and_a_failure() {
    let whole = fs::read(traces().join("leaking.lt")).unwrap();
    let scratch = Scratch::new(&whole[..whole.len() / 2]);
    let out = scratch.path().with_extension("html");
    let output = run(&["export", "-F", "html", argument(&scratch.path()), "-o", argument(&out)]);
    let page = fs::read_to_string(&out).unwrap();
    assert_eq!(traces_in(&page), 1);
    assert!(page.ends_with("</html>\n"));
    assert!(text(&output.stderr).contains("was not finished") || output.status.code() == Some(1));
}

#[test]
fn a_page_is_kept_where_nobody_else_looks() {
    let folder = tempfile::tempdir().unwrap();
    let output = view(folder.path(), &["--no-open", "--view", "flame", SMALL]).output().unwrap();
    assert_eq!((text(&output.stderr), output.status.code()), (String::new(), Some(0)));
    let path = PathBuf::from(text(&output.stdout).trim_end());
    assert!(path.starts_with(folder.path().join("lifetrace-pages")), "{}", path.display());
    assert!(path.file_name().unwrap().to_str().unwrap().starts_with("main.exe-"));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    let page = fs::read_to_string(&path).unwrap();
    assert_eq!(head(&page)["options"]["view"], "flame");
    fs::set_permissions(path.parent().unwrap(), Permissions::from_mode(0o777)).unwrap();
    let output = view(folder.path(), &["--no-open", SMALL]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("yours alone"), "{}", text(&output.stderr));
}

#[test]
fn a_page_is_opened_by_the_browser_of_ones_choice() {
    let folder = tempfile::tempdir().unwrap();
    let browser = folder.path().join("browser");
    fs::write(&browser, "#!/bin/sh\necho \"$1\" > \"$0.opened\"\n").unwrap();
    fs::set_permissions(&browser, Permissions::from_mode(0o755)).unwrap();
    let output = view(folder.path(), &[SMALL]).env("BROWSER", &browser).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let opened = fs::read_to_string(browser.with_extension("opened")).unwrap();
    assert_eq!(opened, text(&output.stdout));
    let without = view(folder.path(), &[SMALL]).output().unwrap();
    let said = text(&without.stderr);
    assert!(said.contains("no display") && said.contains("--serve"), "{said}");
    assert_eq!(without.status.code(), Some(0));
    assert!(Path::new(text(&without.stdout).trim_end()).exists());
}

/// A server that ends with the test.
struct Served {
    child: Child,
    host: String,
    path: String,
}

impl Served {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = view(folder.path(), &["--serve", SMALL]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let rest = address.trim_end().strip_prefix("http://").unwrap();
        let (host, path) = rest.split_once('/').unwrap();
        Self { child, host: host.to_owned(), path: format!("/{path}") }
    }

    fn ask(&self, path: &str, host: &str) -> String {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_page_is_served_to_those_who_know_where() {
    let served = Served::new();
    assert!(served.host.starts_with("127.0.0.1:") && served.path.len() > 32, "{}", served.path);
    let answer = served.ask(&served.path, &served.host);
    let (headers, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(headers.starts_with("HTTP/1.1 200 OK\r\n"), "{headers}");
    assert!(headers.contains("Content-Security-Policy: default-src 'none'"), "{headers}");
    assert!(body == page(&[SMALL]), "{} bytes", body.len());
    let status = |path: &str, host: &str| served.ask(path, host)[9..12].to_owned();
    assert_eq!(status("/", &served.host), "404");
    assert_eq!(status(&served.path, "evil.example"), "403");
    // Who says nothing keeps nobody waiting.
    let silent: Vec<_> = (0..8).map(|_| TcpStream::connect(&served.host).unwrap()).collect();
    assert_eq!(status(&served.path, "localhost:1"), "200");
    drop(silent);
}

#[test]
fn serving_ends_with_a_signal() {
    let mut served = Served::new();
    let pid = rustix::process::Pid::from_child(&served.child);
    // An interrupt does as well, where nobody has had it ignored, as shells do for what runs in the background.
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(!served.child.wait().unwrap().success());
    assert!(TcpStream::connect(&served.host).is_err());
}
