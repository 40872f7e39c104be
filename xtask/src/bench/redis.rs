//! Talks to the redis-server that is measured, in its own protocol, over a unix socket.
//!
//! The client is this process, so what is measured is the server alone.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// A recorded server on a busy machine is up long before.
const PATIENCE: Duration = Duration::from_secs(20);

/// What is asked of a server that keeps nothing on disk.
pub struct Client {
    socket: PathBuf,
    script: String,
    rounds: u64,
}

impl Client {
    /// A client that has the server evaluate `script` with `rounds` as its argument.
    pub fn new(script: String, rounds: u64) -> Client {
        let name = format!("lifetrace-bench-{}.sock", std::process::id());
        Client { socket: std::env::temp_dir().join(name), script, rounds }
    }

    /// The command that starts the server.
    pub fn server(&self) -> Vec<OsString> {
        let options = ["--save", "", "--appendonly", "no", "--port", "0", "--lua-time-limit", "0"];
        let mut words: Vec<OsString> = vec!["redis-server".into()];
        words.extend(options.map(OsString::from));
        words.extend(["--unixsocket".into(), self.socket.clone().into()]);
        words
    }

    /// Waits for the server, gives it its work, and ends it.
    ///
    /// # Errors
    /// If there is no server after a while, or it refuses.
    pub fn run(&self) -> Result<()> {
        let mut stream = self.connect()?;
        let answer = call(&mut stream, &["EVAL", &self.script, "0", &self.rounds.to_string()])?;
        if !answer.starts_with(':') {
            bail!("redis-server answers {answer}");
        }
        call(&mut stream, &["SHUTDOWN", "NOSAVE"])?;
        Ok(())
    }

    fn connect(&self) -> Result<UnixStream> {
        let start = Instant::now();
        loop {
            match UnixStream::connect(&self.socket) {
                Ok(stream) => return Ok(stream),
                Err(_) if start.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(error) => return Err(error).context("no redis-server at its socket"),
            }
        }
    }
}

/// Sends a command; gives the answer, which is shorter than a kilobyte, or nothing if the server
/// has ended.
pub(super) fn call(stream: &mut UnixStream, words: &[&str]) -> Result<String> {
    stream.write_all(encode(words).as_bytes())?;
    let mut answer = [0; 1024];
    let length = stream.read(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer[..length]).trim().to_owned())
}

fn encode(words: &[&str]) -> String {
    let bodies = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len()));
    format!("*{}\r\n{}", words.len(), bodies.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_arrays_of_strings() {
        assert_eq!(encode(&["GET", "ab"]), "*2\r\n$3\r\nGET\r\n$2\r\nab\r\n");
    }
}
