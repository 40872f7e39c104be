//! What it costs to be attached to: redis-server evaluates a script before, while it is, and after it has been let go of.
//!
//! The medians come with their 95 % intervals. All three are of one process, one after the other, so that a round compares what has the same heap and the same place in
//! memory.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::program;
use super::record::Record;
use super::redis::call;
use super::spread::{median, median_interval};

const ROUNDS: usize = 15;

/// Makes and forgets strings and hashes.
const SCRIPT: &str = "for i = 1, 60000 do local k = 'k' .. (i % 5000); redis.call('SET', k, string.rep('x', i % 300)); \
                      redis.call('HSET', 'h' .. (i % 500), k, i) end return 1";

/// How often the script is evaluated in each state.
const TIMES: usize = 4;

/// A server on a busy machine is up long before.
const PATIENCE: Duration = Duration::from_secs(20);

/// Measures, and appends a row for each state.
///
/// # Errors
/// If something cannot be built or run.
pub fn run() -> Result<()> {
    let (lifetrace, folder) = (program::lifetrace()?, program::folder()?);
    let mut server = Server::start(&folder)?;
    let (mut again, mut attached, mut after) = (Vec::new(), Vec::new(), Vec::new());
    server.evaluate()?;
    for _ in 0..ROUNDS {
        let bare = server.evaluate()?;
        again.push(server.evaluate()? / bare);
        let recorder = attach(&lifetrace, server.child.id(), &folder)?;
        attached.push(server.evaluate()? / bare);
        detach(&lifetrace, server.child.id(), recorder)?;
        after.push(server.evaluate()? / bare);
    }
    let mut record =
        Record::open("attached", "state,rounds,cpu_ratio,cpu_ratio_low,cpu_ratio_high")?;
    for (state, ratios) in [("bare-again", &again), ("attached", &attached), ("detached", &after)] {
        let middle = median(ratios.iter().copied()).context("no rounds")?;
        let [low, high] = median_interval(ratios.iter().copied()).context("too few rounds")?;
        record.add(&format!("{state},{ROUNDS},{middle:.3},{low:.3},{high:.3}"))?;
    }
    Ok(())
}

/// redis-server, with a connection to it.
struct Server {
    child: Child,
    stream: UnixStream,
}

impl Server {
    fn start(folder: &Path) -> Result<Server> {
        let socket = folder.join("attached.sock");
        // One of a run that was cut short.
        let _ = fs::remove_file(&socket);
        let mut command = Command::new("redis-server");
        command.args(["--save", "", "--appendonly", "no", "--port", "0", "--lua-time-limit", "0"]);
        command.arg("--unixsocket").arg(&socket).stdout(Stdio::null());
        let child = command.spawn().context("redis-server")?;
        let begun = Instant::now();
        loop {
            match UnixStream::connect(&socket) {
                Ok(stream) => return Ok(Server { child, stream }),
                Err(_) if begun.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(error) => return Err(error).context("no redis-server at its socket"),
            }
        }
    }

    /// The processor time that it takes, in nanoseconds.
    fn evaluate(&mut self) -> Result<f64> {
        let before = self.processor_time()?;
        for _ in 0..TIMES {
            let answer = call(&mut self.stream, &["EVAL", SCRIPT, "0"])?;
            ensure!(answer == ":1", "redis-server answers {answer}");
        }
        Ok(self.processor_time()? - before)
    }

    fn processor_time(&self) -> Result<f64> {
        let told = fs::read_to_string(format!("/proc/{}/schedstat", self.child.id()))?;
        let first = told.split(' ').next().context("an empty schedstat")?;
        Ok(first.parse()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns when it has attached.
fn attach(lifetrace: &Path, process: u32, folder: &Path) -> Result<Child> {
    let mut command = Command::new(lifetrace);
    command.args(["attach", &process.to_string(), "-f", "-o"]).arg(folder.join("attached.lt"));
    let mut recorder = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(recorder.stderr.take().context("no messages")?).read_line(&mut line)?;
    ensure!(line.contains("attached to"), "{line}");
    Ok(recorder)
}

fn detach(lifetrace: &Path, process: u32, mut recorder: Child) -> Result<()> {
    let mut command = Command::new(lifetrace);
    let status = command.args(["detach", "-q", &process.to_string()]).status()?;
    ensure!(status.success(), "detach ends with {status}");
    recorder.wait()?;
    Ok(())
}
