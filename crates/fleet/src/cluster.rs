//! A cluster of Ballista's on this machine: a scheduler, and executors that compute.
//!
//! They listen on loopback alone, as Ballista asks nobody who he is. A cluster of several machines is made of Ballista's own
//! programs of the same version: queries are plain, and nothing of ours is needed there.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use ballista::extension::{SessionConfigExt, SessionContextExt};
use ballista_core::config::BALLISTA_ADAPTIVE_PLANNER_ENABLED;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::start_server;
use datafusion::execution::SessionState;
use datafusion::prelude::{SessionConfig, SessionContext};

const LOOPBACK: &str = "127.0.0.1";

/// An executor that says nothing for so many seconds is gone, and what it had is computed again.
const SILENCE: u64 = 15;

/// How often it says that it is there, in seconds.
const HEARTBEAT: u64 = 3;

/// An executor of a cluster on this machine.
#[derive(Clone, Copy, Debug)]
pub struct Executor {
    /// Where its scheduler listens.
    pub scheduler: u16,
    /// Where it listens itself; the next port is its, too.
    pub port: u16,
    /// How many threads compute.
    pub threads: usize,
    /// Bytes of memory that queries may take.
    pub memory: u64,
}

/// What goes wrong in a cluster is told on standard error.
struct Complaints;

impl log::Log for Complaints {
    fn enabled(&self, of: &log::Metadata<'_>) -> bool {
        of.level() <= log::max_level()
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            eprintln!("lifetrace-fleet: {}: {}", record.target(), record.args());
        }
    }

    fn flush(&self) {}
}

fn complain() {
    if log::set_logger(&Complaints).is_ok() {
        log::set_max_level(log::LevelFilter::Warn);
    }
}

/// Is a scheduler, until it is ended.
///
/// # Errors
/// If it cannot listen.
pub async fn schedule(port: u16) -> Result<()> {
    complain();
    let config = SchedulerConfig {
        bind_host: LOOPBACK.to_owned(),
        external_host: LOOPBACK.to_owned(),
        bind_port: port,
        executor_timeout_seconds: SILENCE,
        expire_dead_executor_interval_seconds: HEARTBEAT,
        no_executors_grace_period_seconds: SILENCE,
        ..SchedulerConfig::default()
    };
    let cluster = BallistaCluster::new_from_config(&config).await?;
    let address = format!("{LOOPBACK}:{port}").parse().context("no address")?;
    Ok(start_server(cluster, address, Arc::new(config)).await?)
}

/// Is an executor, which keeps what it has computed in a folder, until it is ended.
///
/// # Errors
/// If it cannot listen, or finds no scheduler.
pub async fn execute(executor: Executor, folder: &Path) -> Result<()> {
    complain();
    let folder = folder.to_str().context("the folder's path must be UTF-8")?;
    let config = ExecutorProcessConfig {
        bind_host: LOOPBACK.to_owned(),
        external_host: Some(LOOPBACK.to_owned()),
        port: executor.port,
        grpc_port: executor.port.checked_add(1).context("there is no port after that")?,
        scheduler_host: LOOPBACK.to_owned(),
        scheduler_port: executor.scheduler,
        vcores: executor.threads,
        work_dir: Some(folder.to_owned()),
        executor_heartbeat_interval_seconds: HEARTBEAT,
        memory_pool_size: Some(executor.memory),
        ..ExecutorProcessConfig::default()
    };
    Ok(start_executor_process(Arc::new(config)).await?)
}

/// What queries are configured with that a cluster answers. Their plans stay as they are, rather than being changed while
/// they run: that an answer comes after an executor is lost and replaced is tested of these.
pub(crate) fn config() -> SessionConfig {
    SessionConfig::new_with_ballista().set_bool(BALLISTA_ADAPTIVE_PLANNER_ENABLED, false)
}

/// Has a cluster answer what this would.
pub(crate) async fn context(url: &str, state: SessionState) -> Result<SessionContext> {
    let context = SessionContext::remote_with_state(url, state).await;
    context.with_context(|| format!("{url}: cannot be asked (df://HOST:PORT)"))
}
