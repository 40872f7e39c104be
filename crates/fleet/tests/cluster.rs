//! A scheduler and two executors, as processes: they answer as this process does, and one that dies makes no answer wrong.

use std::cmp::Ordering;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use lifetrace_fleet::synthetic::Fleet;
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(120);

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lifetrace-fleet"));
    command.args(words);
    command
}

fn run(words: &[&str]) -> Output {
    command(words).output().unwrap()
}

/// One that is killed at the end.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Cluster {
    port: u16,
    executors: Vec<Running>,
    _scheduler: Running,
}

/// Ports that nobody listens at now, two after each other.
fn free_ports() -> u16 {
    loop {
        let first = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = first.local_addr().unwrap().port();
        if port < u16::MAX && TcpListener::bind(("127.0.0.1", port + 1)).is_ok() {
            return port;
        }
    }
}

fn started(words: &[&str], port: u16) -> Running {
    let child = command(words).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let running = Running(child);
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begun.elapsed() < PATIENCE, "{words:?} does not listen");
        std::thread::sleep(Duration::from_millis(50));
    }
    running
}

impl Cluster {
    fn start() -> Cluster {
        let port = free_ports();
        let number = port.to_string();
        let scheduler = started(&["scheduler", "--port", &number], port);
        let mut cluster = Cluster { port, executors: Vec::new(), _scheduler: scheduler };
        (0..2).for_each(|_| cluster.add());
        cluster
    }

    /// One more executor.
    fn add(&mut self) {
        let (own, number) = (free_ports(), self.port.to_string());
        let words =
            ["executor", "--scheduler", &number, "--port", &own.to_string(), "--threads", "1"];
        self.executors.push(started(&words, own));
    }

    fn url(&self) -> String {
        format!("df://127.0.0.1:{}", self.port)
    }

    fn ask(&self, dataset: &str, sql: &str) -> Output {
        run(&["query", dataset, sql, "--json", "--cluster", &self.url(), "--patience", "100"])
    }
}

/// In an order that does not depend on who has answered.
fn rows(output: &Output) -> Vec<Value> {
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let mut rows: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    rows.sort_by(|one, other| {
        let keys = |row: &Value| row.as_object().unwrap().values().map(key).collect::<Vec<_>>();
        let sums =
            |row: &Value| row.as_object().unwrap().values().filter_map(sum).collect::<Vec<_>>();
        let by_sums = || {
            sums(one).iter().zip(&sums(other)).map(|(a, b)| a.total_cmp(b)).find(|it| it.is_ne())
        };
        keys(one).cmp(&keys(other)).then_with(|| by_sums().unwrap_or(Ordering::Equal))
    });
    rows
}

/// A sum's number may differ in its last digits: it is of the same numbers in another order.
fn sum(value: &Value) -> Option<f64> {
    value.as_f64().filter(|_| value.is_f64())
}

fn key(value: &Value) -> String {
    sum(value).map_or_else(|| value.to_string(), |_| String::new())
}

fn assert_same(ours: &[Value], theirs: &[Value], name: &str) {
    assert_eq!(ours.len(), theirs.len(), "{name}");
    for (one, other) in ours.iter().zip(theirs) {
        let columns = one.as_object().unwrap().iter().zip(other.as_object().unwrap());
        for ((column, a), (other_column, b)) in columns {
            let is_same = match (sum(a), sum(b)) {
                (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()),
                _ => a == b,
            };
            assert!(is_same && column == other_column, "{name}: {one} {other}");
        }
    }
}

fn dataset(fleet: &Fleet, folder: &Path) -> String {
    let (traces, dataset) = (folder.join("traces"), folder.join("dataset"));
    std::fs::create_dir(&traces).unwrap();
    for run in 0..fleet.runs {
        fleet.write(run, std::fs::File::create(traces.join(fleet.name(run))).unwrap()).unwrap();
    }
    let dataset = dataset.to_str().unwrap().to_owned();
    let added = run(&["add", &dataset, "--watch", traces.to_str().unwrap(), "--once"]);
    assert!(added.status.success(), "{added:?}");
    dataset
}

#[test]
fn it_answers_as_this_process_does_whoever_dies() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = dataset(&Fleet { runs: 24, samples: 1_500, ..Fleet::default() }, folder.path());
    let mut cluster = Cluster::start();
    let queries: Value = serde_json::from_slice(&run(&["queries"]).stdout).unwrap();
    let questions = queries["questions"].as_object().unwrap();
    let here = |sql: &str| rows(&run(&["query", &dataset, sql, "--json"]));
    assert!(questions.len() >= 10);
    for (name, sql) in questions {
        let sql = sql.as_str().unwrap();
        assert_same(&here(sql), &rows(&cluster.ask(&dataset, sql)), name);
    }
    let leaks = |more: &[&str]| {
        let output = run(&[&["leaks", &dataset, "--json"], more].concat());
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let of = |leak: &Value| {
            (leak["function"].clone(), leak["leaking"].clone(), leak["since"].clone())
        };
        answer["leaks"].as_array().unwrap().iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(leaks(&[]), leaks(&["--cluster", &cluster.url()]));

    // Amid a query that takes a while.
    let sql = "SELECT a.site AS site, count(*) AS pairs, sum(b.bytes) AS bytes
        FROM samples AS a JOIN samples AS b ON a.source = b.source AND a.birth_us < b.birth_us
        GROUP BY a.site";
    let url = cluster.url();
    let words = ["query", &dataset, sql, "--json", "--cluster", &url, "--patience", "60"];
    let mut asked = command(&words);
    let mut asked = asked.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    assert!(asked.try_wait().unwrap().is_none(), "it was over too soon to be disturbed");
    drop(cluster.executors.pop());
    // Whoever keeps a cluster starts another.
    cluster.add();
    let mut told = String::new();
    asked.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    let answer = asked.wait_with_output().unwrap();
    if answer.status.success() {
        assert_same(&here(sql), &rows(&answer), "pairs");
    } else {
        assert!(told.contains("lifetrace-fleet: ") && told.len() < 4_000, "{told}");
    }
    let later = rows(&cluster.ask(&dataset, "SELECT count(*) AS samples FROM samples"));
    assert_eq!(later, here("SELECT count(*) AS samples FROM samples"));
}

#[test]
fn where_nobody_listens_that_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = dataset(&Fleet { runs: 1, samples: 100, ..Fleet::default() }, folder.path());
    let url = format!("df://127.0.0.1:{}", free_ports());
    let output = run(&["query", &dataset, "SELECT 1", "--cluster", &url]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && told.contains("lifetrace-fleet: "), "{told}");
}
