//! What is tried: this command records a shell, and attaches to a program that sleeps.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, anyhow, ensure};

use super::finding::{Finding, State};

/// Allocates a little, as every shell does.
const PROGRAM: &str = "sh";

/// Longer than attaching takes on a busy machine.
const NAP: &str = "60";

pub fn recording() -> Finding {
    const SUBJECT: &str = "recording a program from its start";
    match record() {
        Ok(samples) => {
            let told = format!("`{PROGRAM}` was recorded here: {samples} allocations, all of them sampled.");
            Finding::new(SUBJECT, State::Works, told)
        }
        Err(error) => Finding::new(SUBJECT, State::Fails, format!("`{PROGRAM}`: {error:#}")).with_remedy(
            "`lifetrace record -- CMD` says of any other program whether it is so there, too; in a container try \
             `--tmpfs /tmp`, or a home directory that can be written to.",
        ),
    }
    .needed()
}

pub fn attaching() -> Finding {
    const SUBJECT: &str = "attaching to a process that runs";
    match attach() {
        Ok(()) => Finding::new(
            SUBJECT,
            State::Works,
            "A program of this user's was attached to, and let go of again.",
        ),
        Err(error) => Finding::new(SUBJECT, State::Limited, format!("{error:#}"))
            .with_remedy("What is started by `lifetrace record`, or finds `lifetrace collect`, needs nothing of this."),
    }
}

/// The number of samples.
fn record() -> Result<u64> {
    let folder = tempfile::Builder::new().prefix("lifetrace-doctor-").tempdir()?;
    let trace = folder.path().join("trial.lt");
    let words = ["record", "--quiet", "--no-children", "--rate", "1", "-o"];
    ours(&words, &trace, &["--", PROGRAM, "-c", "x=$PATH; : $x"])?;
    let report = ours(&["info", "--json"], &trace, &[])?;
    let facts: serde_json::Value = serde_json::from_str(&report)?;
    let samples =
        facts["trace"]["samples"].as_u64().context("its trace says nothing of samples")?;
    ensure!(samples > 0, "it ran, and nothing of it was heard");
    Ok(samples)
}

fn attach() -> Result<()> {
    let folder = tempfile::Builder::new().prefix("lifetrace-doctor-").tempdir()?;
    let sleeper = Sleeper::start()?;
    let words = ["attach", "--quiet", "--no-leak-check", "--duration", "50ms", "-o"];
    ours(&words, &folder.path().join("trial.lt"), &[&sleeper.0.id().to_string()])?;
    Ok(())
}

/// Runs this very command; its complaint is the error.
fn ours(before: &[&str], trace: &Path, after: &[&str]) -> Result<String> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(before).arg(trace).args(after).stdin(Stdio::null());
    let output = command.output()?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    let complaint = complaint.trim().trim_start_matches("lifetrace: ");
    ensure!(output.status.success() && complaint.is_empty(), "{}", said(complaint, &output.status));
    String::from_utf8(output.stdout).map_err(|_| anyhow!("its answer is no text"))
}

fn said(complaint: &str, status: &std::process::ExitStatus) -> String {
    if complaint.is_empty() { status.to_string() } else { complaint.to_owned() }
}

/// A program that does nothing, and ends with us.
struct Sleeper(Child);

impl Sleeper {
    fn start() -> Result<Self> {
        let child =
            Command::new("sleep").arg(NAP).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        Ok(Self(child.context("sleep")?))
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
