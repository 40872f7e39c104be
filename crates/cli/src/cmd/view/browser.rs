//! Shows a file in a browser.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

/// How long to wait for a browser to say that it cannot be shown. One that is itself started by this runs on.
const PATIENCE: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(20);

/// What opens files where nobody says which browser to take.
const USUAL: &str = "xdg-open";

/// Opens a file in the browser of the environment's choice.
///
/// # Errors
/// If there is none, or it fails at once.
pub fn open(path: &Path) -> anyhow::Result<()> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    if let Some(browsers) = variable("BROWSER") {
        return open_with_first(&browsers, path);
    }
    if variable("DISPLAY").or_else(|| variable("WAYLAND_DISPLAY")).is_none() {
        bail!("there is no display here to show it on");
    }
    start(Command::new(USUAL).arg(path), USUAL)
}

/// `BROWSER` is a list with colons between; each is a command, `%s` in it stands for the address.
fn open_with_first(browsers: &str, path: &Path) -> anyhow::Result<()> {
    let mut outcome = Err(anyhow::anyhow!("BROWSER names no browser"));
    for browser in browsers.split(':').filter(|browser| !browser.trim().is_empty()) {
        outcome = start(&mut command(browser, path)?, browser);
        if outcome.is_ok() {
            return outcome;
        }
    }
    outcome
}

fn command(browser: &str, path: &Path) -> anyhow::Result<Command> {
    let path = path.to_str().context("the page's path is no text")?;
    let mut words: Vec<_> =
        browser.split_whitespace().map(|word| word.replace("%s", path)).collect();
    if !browser.contains("%s") {
        words.push(path.to_owned());
    }
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    Ok(command)
}

fn start(command: &mut Command, name: &str) -> anyhow::Result<()> {
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = silent.spawn().with_context(|| format!("{name}: cannot be started"))?;
    match has_failed(&mut child) {
        Some(status) => bail!("{name}: ended with {status}"),
        None => Ok(()),
    }
}

/// Its status, if it ends soon, and with a failure.
fn has_failed(child: &mut Child) -> Option<std::process::ExitStatus> {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if let Ok(Some(status)) = child.try_wait() {
            return (!status.success()).then_some(status);
        }
        sleep(STEP);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(browser: &str) -> Vec<String> {
        let command = command(browser, Path::new("/a b.html")).unwrap();
        let words = [command.get_program()].into_iter().chain(command.get_args());
        words.map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn browsers_are_commands() {
        assert_eq!(words("firefox"), ["firefox", "/a b.html"]);
        assert_eq!(words("x --new %s --y"), ["x", "--new", "/a b.html", "--y"]);
    }

    #[test]
    fn the_first_that_works_is_taken() {
        let open = |browsers| open_with_first(browsers, Path::new("/x"));
        assert!(open("/no/such/browser:true").is_ok());
        assert!(open("false:true").is_ok());
        let failed = open("true-or-not:false").unwrap_err().to_string();
        assert!(failed.starts_with("false: ended with"), "{failed}");
        assert!(open(":").is_err());
    }
}
