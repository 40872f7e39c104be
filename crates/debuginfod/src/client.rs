//! Who asks the servers.

use std::env;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ureq::http::StatusCode;
use ureq::tls::{RootCerts, TlsConfig};

use crate::cache::{Cache, Known};

/// How long all files together may take, if `DEBUGINFOD_TIMEOUT` does not say.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// A server that cannot be reached leaves time for the others.
const CONNECT: Duration = Duration::from_secs(3);

/// Longer ids are nobody's.
const LONGEST_BUILD_ID: usize = 64;

/// Fetches debug information, and keeps it.
#[derive(Debug)]
pub struct Client {
    servers: Vec<String>,
    cache: Cache,
    agent: ureq::Agent,
    most: u64,
    left: Mutex<Duration>,
}

/// Why there is no debug information. Only of the first two somebody should be told.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// There was not enough time.
    #[error("the time for fetching debug information is over (DEBUGINFOD_TIMEOUT)")]
    Late,
    /// A server or the disk made difficulties.
    #[error("{0}")]
    Trouble(String),
    /// No server has it.
    #[error("no server has it")]
    Nowhere,
}

impl Client {
    /// A client as the environment describes it; `None` if it names no servers, or there is no place for what is fetched.
    pub fn from_environment() -> Option<Client> {
        let servers = servers(&env::var("DEBUGINFOD_URLS").ok()?);
        let number = |name| env::var(name).ok()?.trim().parse::<u64>().ok().filter(|it| *it > 0);
        let patience = number("DEBUGINFOD_TIMEOUT").map_or(PATIENCE, Duration::from_secs);
        let most = number("DEBUGINFOD_MAXSIZE").unwrap_or(u64::MAX);
        (!servers.is_empty()).then_some(())?;
        Some(Client::new(servers, folder()?, patience, most))
    }

    /// A client of these servers, which keeps files in `folder`. All together may take so long, and each may have `most`
    /// bytes.
    pub fn new(servers: Vec<String>, folder: PathBuf, patience: Duration, most: u64) -> Client {
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .user_agent(concat!("lifetrace/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls)
            .build();
        let left = Mutex::new(patience);
        Client { servers, cache: Cache::new(folder), agent: agent.into(), most, left }
    }

    /// A file with the debug information of what has this build id. What is not acceptable is not kept.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn debug_info(
        &self,
        build_id: &[u8],
        is_acceptable: &dyn Fn(&Path) -> bool,
    ) -> Result<PathBuf, Failure> {
        if build_id.is_empty() || build_id.len() > LONGEST_BUILD_ID {
            return Err(Failure::Nowhere);
        }
        let id: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        match self.cache.look(&id) {
            Known::Here(path) if is_acceptable(&path) => Ok(path),
            Known::Nowhere => Err(Failure::Nowhere),
            Known::Here(_) | Known::Nothing => self.fetch(&id, is_acceptable),
        }
    }

    /// Asks one server after the other. One at a time does, as the time is that of all.
    fn fetch(&self, id: &str, is_acceptable: &dyn Fn(&Path) -> bool) -> Result<PathBuf, Failure> {
        let mut left = self.left.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut outcome = Failure::Nowhere;
        for server in &self.servers {
            let started = Instant::now();
            let asked = self.ask(server, id, *left, is_acceptable);
            *left = left.saturating_sub(started.elapsed());
            match asked {
                Ok(path) => return Ok(path),
                Err(Failure::Nowhere) => {}
                Err(failure) => outcome = failure,
            }
        }
        if matches!(outcome, Failure::Nowhere) {
            self.cache.note_miss(id);
        }
        Err(outcome)
    }

    fn ask(
        &self,
        server: &str,
        id: &str,
        left: Duration,
        is_acceptable: &dyn Fn(&Path) -> bool,
    ) -> Result<PathBuf, Failure> {
        if left.is_zero() {
            return Err(Failure::Late);
        }
        let url = format!("{}/buildid/{id}/debuginfo", server.trim_end_matches('/'));
        let trouble =
            |error: &dyn std::fmt::Display| Failure::Trouble(format!("{server}: {error}"));
        let request = self.agent.get(url).config().timeout_global(Some(left));
        let request = request.timeout_connect(Some(left.min(CONNECT))).build();
        let response = request.call().map_err(|error| failure(&error, &trouble))?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Err(Failure::Nowhere),
            status => return Err(trouble(&status)),
        }
        let length = response.body().content_length().unwrap_or(0);
        if length > self.most {
            return Err(trouble(&format_args!("{length} bytes are more than DEBUGINFOD_MAXSIZE")));
        }
        let mut content = response.into_body().into_reader().take(self.most);
        self.cache.keep(id, &mut content, is_acceptable).map_err(|error| {
            let from_server = error.get_ref().and_then(|inner| inner.downcast_ref());
            from_server.map_or_else(|| trouble(&error), |error| failure(error, &trouble))
        })
    }
}

fn failure(error: &ureq::Error, trouble: &dyn Fn(&dyn std::fmt::Display) -> Failure) -> Failure {
    match error {
        ureq::Error::Timeout(_) => Failure::Late,
        error => trouble(error),
    }
}

/// Those that are asked by HTTP; other words are settings of elfutils' client.
fn servers(words: &str) -> Vec<String> {
    let is_server = |word: &&str| word.starts_with("http://") || word.starts_with("https://");
    words.split_whitespace().filter(is_server).map(str::to_owned).collect()
}

fn folder() -> Option<PathBuf> {
    let named = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    named("DEBUGINFOD_CACHE_PATH").or_else(|| {
        let cache = named("XDG_CACHE_HOME").or_else(|| Some(env::home_dir()?.join(".cache")));
        Some(cache?.join("debuginfod_client"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_server_is_passed_over() {
        let words = " https://one.example/ ima:enforcing\thttp://localhost:8002 file:///usr";
        assert_eq!(servers(words), ["https://one.example/", "http://localhost:8002"]);
        assert!(servers("").is_empty());
    }
}
