//! Programs that recording has killed once, or made hang, and their relatives: they look as they do bare.
//!
//! Blocks from malloc are freed past the agent here, by libraries that are bound deeply and by functions
//! that are found by the handle of libc; threads allocate while others hold the dynamic linker's locks; and
//! programs have functions of their own in front of libc's. Nothing is preloaded but the agent: that is the
//! soak of friends.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::alike::{Alike, Program};
use super::fixture::{library, program, source};

/// The options of Java 17 for its foreign interface.
const FOREIGN: &[&str] = &["--add-modules", "jdk.incubator.foreign"];

/// Runs all of them, or those that are named.
///
/// # Errors
/// If one differs, or something cannot be built or run.
pub fn run(names: &[&str]) -> Result<()> {
    let mut alike = Alike::open("killers")?;
    let mut programs = in_c(alike.folder())?;
    programs.extend(in_scripts());
    programs.extend(in_java(alike.folder())?);
    for program in programs {
        if names.is_empty() || names.contains(&program.name) {
            alike.check(program.name, &program.words)?;
        }
    }
    alike.verdict()
}

fn in_c(folder: &Path) -> Result<Vec<Program>> {
    let past_us = program(folder, "past_us", "c/past_us.c", &[])?;
    let past_us = text(&past_us)?;
    let deep = library(folder, "deep", "c/past_us_plugin.c", &[])?;
    let next = library(folder, "next", "c/past_us_plugin.c", &["-DNEXT"])?;
    let walking = program(folder, "loader_lock", "c/loader_lock.c", &[])?;
    let opening = program(folder, "loader_opening", "c/loader_opening.c", &["-rdynamic"])?;
    let opened = library(folder, "opened", "c/loader_opening_plugin.c", &[])?;
    let interposer = library(folder, "interposer", "c/interposer.c", &[])?;
    let linked = program(folder, "linked", "c/interposed.c", &[text(&interposer)?])?;
    let own = source("c/interposer.c");
    let own = program(folder, "own", "c/interposed.c", &["-rdynamic", text(&own)?])?;
    Ok(vec![
        Program::new("deep", &[past_us, "deep", text(&deep)?]),
        Program::new("next", &[past_us, "next", text(&next)?]),
        Program::new("handle", &[past_us, "handle"]),
        Program::new("walking", &[walking]),
        Program::new("opening", &[opening, opened]),
        Program::new("linked", &[linked]),
        Program::new("own", &[own]),
    ])
}

/// Those whose interpreters are there, with the modules that they need.
fn in_scripts() -> Vec<Program> {
    let scripts = [
        script("Python", "/usr/bin/python3", ["-c", "import ctypes"], "python/past_us.py"),
        script("Ruby", "ruby", ["-e", "require 'fiddle'"], "ruby/past_us.rb"),
        script("PHP", "php", ["-r", "new PDO('sqlite::memory:');"], "php/past_us.php"),
    ];
    scripts.into_iter().flatten().collect()
}

fn script(name: &'static str, interpreter: &str, needs: [&str; 2], file: &str) -> Option<Program> {
    let mut probe = Command::new(interpreter);
    probe.args(needs);
    if !is_done(probe) {
        println!("{interpreter} cannot do `{}`: {name} is left out", needs[1]);
        return None;
    }
    Some(Program::new(name, &[interpreter.as_ref(), source(file).as_os_str()]))
}

fn in_java(folder: &Path) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    match java_home() {
        Some(home) if is_done(javac(folder, &[], "java/PastUs.java")) => {
            programs.push(jni(folder, &home)?);
        }
        _ => println!("no Java compiler, or no jni.h beside it: JNI is left out"),
    }
    if is_done(javac(folder, FOREIGN, "java/Foreign.java")) {
        let more = ["--enable-native-access=ALL-UNNAMED", "-cp", ".", "Foreign"];
        programs.push(Program::new("Foreign", &[&["java"], FOREIGN, &more].concat()));
    } else {
        println!("no compiler of Java 17: Foreign is left out");
    }
    Ok(programs)
}

fn jni(folder: &Path, home: &Path) -> Result<Program> {
    let include = format!("-I{}", text(&home.join("include"))?);
    let headers = [&include[..], &format!("{include}/linux")];
    let library = library(folder, "past_us_jni", "c/past_us_jni.c", &headers)?;
    Ok(Program::new("JNI", &["java", "-cp", ".", "PastUs", text(&library)?]))
}

/// The folder of the JDK whose compiler is `javac`, if it has what JNI needs.
fn java_home() -> Option<PathBuf> {
    let which = Command::new("sh").args(["-c", "command -v javac"]).output().ok()?;
    let javac = String::from_utf8(which.stdout).ok()?;
    let home = std::fs::canonicalize(javac.trim()).ok()?.parent()?.parent()?.to_owned();
    home.join("include/jni.h").exists().then_some(home)
}

fn javac(folder: &Path, options: &[&str], main: &str) -> Command {
    let mut command = Command::new("javac");
    command.args(options).arg("-d").arg(folder).arg(source(main));
    command
}

/// Whether a command is there and succeeds; what it says is not shown.
fn is_done(mut command: Command) -> bool {
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a path that is not UTF-8")
}
