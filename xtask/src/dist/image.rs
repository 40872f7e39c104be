//! The collector's image, as `packaging/Containerfile` has it: no engine is needed, for all that it does is copy.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::root::Root;
use super::source::Source;
use super::stage::Stage;
use super::tarball;
use crate::shell;

const PATIENCE: Duration = Duration::from_secs(20);

/// What image and programs share.
const SHARED: [&str; 2] = ["run/lifetrace", "usr/lib/lifetrace"];

/// Follows the recipe, has the collector run in what comes of it, and a program in a system beside it find it.
///
/// # Errors
/// If that leaves no trace of the program.
pub fn check(source: &Source, programs: &Root) -> Result<()> {
    let recipe = source.text("packaging/Containerfile")?;
    let image = Root { folder: source.work().join("image") };
    let context = source.work().join("tarball").join(tarball::name(source));
    follow(&recipe, &context, &Stage::fresh(image.folder.clone())?)?;
    for folder in SHARED {
        fs::create_dir_all(programs.folder.join(folder))?;
    }
    let collector = collector(&recipe, &image, programs)?;
    let result = programs.script(
        "env LD_PRELOAD=/usr/lib/lifetrace/liblifetrace.so LIFETRACE_SOCKET=standing:/run/lifetrace/socket \
         perl -e '$h{$_} = \"x\" x 1000 for 1..100_000'",
    );
    end(collector)?;
    result?;
    has_trace(&image)
}

/// The lines of a recipe that matter to the files of an image.
fn follow(recipe: &str, context: &Path, stage: &Stage) -> Result<()> {
    ensure!(recipe.lines().any(|line| line == "FROM scratch"), "the image is made of nothing");
    for line in recipe.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["COPY", ref files @ .., to] => copy(files, context, stage, to)?,
            ["VOLUME", ref folders @ ..] => {
                for folder in folders {
                    fs::create_dir_all(stage.folder.join(folder.trim_start_matches('/')))?;
                }
            }
            _ => {}
        }
    }
    // An engine mounts these, and a socket's folder must not be for others to write to.
    for folder in ["proc", "usr/lib/lifetrace"] {
        fs::create_dir_all(stage.folder.join(folder))?;
    }
    Ok(())
}

fn copy(files: &[&str], context: &Path, stage: &Stage, to: &str) -> Result<()> {
    for file in files {
        let name = if to.ends_with('/') { format!("{to}{file}") } else { to.to_owned() };
        let content = fs::read(context.join(file)).with_context(|| (*file).to_owned())?;
        stage.put_program(name.trim_start_matches('/'), content)?;
    }
    Ok(())
}

/// Runs what the recipe says, once for the library and once to collect.
fn collector(recipe: &str, image: &Root, programs: &Root) -> Result<Child> {
    let entry = words(recipe, "ENTRYPOINT ")?;
    shell::run(inside(image, programs, &entry, &["library", "--install", "/usr/lib/lifetrace"]))?;
    let arguments = words(recipe, "CMD ")?;
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut child = inside(image, programs, &entry, &arguments).stdin(Stdio::null()).spawn()?;
    let result = wait_for(&programs.folder.join("run/lifetrace/socket"), &mut child);
    if result.is_err() {
        let _ = child.kill();
    }
    result.map(|()| child)
}

fn wait_for(socket: &Path, collector: &mut Child) -> Result<()> {
    let started = Instant::now();
    while !socket.exists() {
        let ended = collector.try_wait()?;
        ensure!(ended.is_none(), "the collector has ended: {ended:?}");
        ensure!(started.elapsed() < PATIENCE, "the collector makes no socket");
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// A list of words in JSON, behind an instruction.
fn words(recipe: &str, instruction: &str) -> Result<Vec<String>> {
    let line = recipe.lines().find_map(|line| line.strip_prefix(instruction));
    Ok(serde_json::from_str(line.with_context(|| format!("there is no {instruction}"))?)?)
}

/// As an engine runs an image that sees all processes (`--pid host`), with two folders from outside.
fn inside(image: &Root, programs: &Root, entry: &[String], arguments: &[&str]) -> Command {
    let at = |root: &Root, folder: &str| root.folder.join(folder).display().to_string();
    let mut script = format!("mount --bind /proc '{}'; ", at(image, "proc"));
    for folder in SHARED {
        script += &format!("mount --bind '{}' '{}'; ", at(programs, folder), at(image, folder));
    }
    script += &format!("exec chroot '{}' \"$@\"", image.folder.display());
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-euc", &script, "sh"]).args(entry).args(arguments);
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command
}

/// As engines end a container.
fn end(mut collector: Child) -> Result<()> {
    let mut kill = Command::new("kill");
    kill.args(["-TERM", &collector.id().to_string()]);
    shell::run(kill)?;
    let status = collector.wait()?;
    ensure!(status.success(), "the collector: {status}");
    Ok(())
}

fn has_trace(image: &Root) -> Result<()> {
    let traces = fs::read_dir(image.folder.join("var/lib/lifetrace"))?;
    let names = traces.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let names: Vec<String> = names.collect::<Result<_>>()?;
    let trace = names.iter().find(|name| name.starts_with("lifetrace.perl."));
    let trace = trace.with_context(|| format!("no trace of perl in {names:?}"))?;
    let report =
        image.command("/usr/bin/lifetrace", &["report", &format!("/var/lib/lifetrace/{trace}")]);
    let report = shell::output(report)?;
    ensure!(report.contains("Perl_sv_grow"), "no names in the image's report:\n{report}");
    Ok(())
}
