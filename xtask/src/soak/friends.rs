//! Other libraries that are preloaded too: programs look as they do bare, whoever stands beside us.
//!
//! Each program runs with each library, bare and recorded at three densities, over and over: samples are
//! by chance, and so are addresses. A failure is another output or another exit code than that of the bare
//! run, or one that does not end.

use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};

use super::workshop::Workshop;
use crate::shell;

/// Of each program with each library at each density.
const RUNS: usize = 20;

/// Seconds after which a run is taken to hang.
const PATIENCE: &str = "120";

const LIBRARIES: &str = "/usr/lib/x86_64-linux-gnu";

const DENSITIES: [&[&str]; 3] = [&["--rate", "1"], &["--interval", "4KiB"], &[]];

const PYTHON: &str = "
import ctypes, json, os, threading
# Of another allocator libc's own free cannot take blocks, bare as recorded.
brings_malloc = 'jemalloc' in os.environ['LD_PRELOAD']
libc = ctypes.CDLL(None if brings_malloc else 'libc.so.6')
libc.strdup.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
for i in range(200):
    libc.free(libc.strdup(b'x' * 3000))
words = []
def work(n):
    words.append(len(json.dumps([{'id': i, 'name': 'n' * (i % 50)} for i in range(n)])))
threads = [threading.Thread(target=work, args=(2000,)) for _ in range(4)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
print(sorted(words))
";

const JAVA: &str = "
public class Friends {
    public static void main(String[] arguments) throws Exception {
        long sum = 0;
        for (int i = 0; i < 200; i++) {
            java.util.zip.Deflater deflater = new java.util.zip.Deflater();
            deflater.setInput(new byte[10000 + i]);
            deflater.finish();
            sum += deflater.deflate(new byte[20000]);
            deflater.end();
        }
        System.out.println(sum);
    }
}
";

/// A program, and the words that start it.
struct Target {
    name: &'static str,
    words: Vec<String>,
}

/// A library, and what it wants to find in the environment.
struct Friend {
    name: &'static str,
    library: PathBuf,
    variable: Option<(&'static str, &'static str)>,
}

/// Runs all of them, or those with the libraries that are named.
///
/// # Errors
/// If one differs, or something cannot be built or run.
pub fn run(names: &[&str]) -> Result<()> {
    let workshop = Workshop::open("friends")?;
    let folder = workshop.fresh_folder("work")?;
    let targets = targets(&folder)?;
    let (mut runs, mut failures) = (0, 0);
    let is_wanted = |friend: &Friend| names.is_empty() || names.contains(&friend.name);
    for friend in friends(&folder)?.into_iter().filter(is_wanted) {
        for target in &targets {
            let (tried, failed) = together(&workshop, target, &friend, &folder)?;
            (runs, failures) = (runs + tried, failures + failed);
            println!("{} with {}: {tried} runs, {failed} failures", target.name, friend.name);
        }
    }
    ensure!(failures == 0, "{failures} of {runs} runs differ from the bare run");
    println!("{runs} runs, each as it is bare");
    Ok(())
}

/// A program with a library: how many runs there were, and how many of these failed.
fn together(
    workshop: &Workshop,
    target: &Target,
    friend: &Friend,
    folder: &Path,
) -> Result<(usize, usize)> {
    let run = |recording: &[String]| {
        let words: Vec<_> =
            recording.iter().chain(&friend.shell()).chain(&target.words).cloned().collect();
        finish(Command::new("timeout").args(["-k", "5", PATIENCE]).args(words), folder)
    };
    let bare = run(&[])?;
    ensure!(bare.status.success(), "{} does not run bare with {}", target.name, friend.name);
    let (mut runs, mut failures) = (0, 0);
    for density in DENSITIES {
        let lifetrace = workshop.lifetrace().to_string_lossy().into_owned();
        let options = ["record", "-q", "-f", "-o", "%e.lt"].iter().chain(density).chain(&["--"]);
        let recording: Vec<_> =
            iter::once(lifetrace).chain(options.map(|&word| word.to_owned())).collect();
        for _ in 0..RUNS {
            let recorded = run(&recording)?;
            runs += 1;
            if (recorded.status, &recorded.stdout) != (bare.status, &bare.stdout) {
                failures += 1;
                eprintln!("{} with {}, {density:?}: {recorded:?}", target.name, friend.name);
            }
        }
    }
    Ok((runs, failures))
}

fn finish(command: &mut Command, folder: &Path) -> Result<Output> {
    command.current_dir(folder).stdin(Stdio::null());
    command.output().with_context(|| format!("{command:?}"))
}

impl Friend {
    /// The beginning of a command that has the library beside what is preloaded already, which the recorder
    /// has not.
    fn shell(&self) -> Vec<String> {
        let library = self.library.display();
        let variable =
            self.variable.map_or(String::new(), |(name, value)| format!("{name}='{value}' "));
        let script =
            format!("{variable}LD_PRELOAD=\"${{LD_PRELOAD:+$LD_PRELOAD:}}{library}\" exec \"$@\"");
        ["sh", "-c", &script, "sh"].map(str::to_owned).into()
    }
}

fn targets(folder: &Path) -> Result<Vec<Target>> {
    let build = |compiler: &str, source: &str, name: &str| -> Result<String> {
        let program = folder.join(name);
        let mut command = Command::new(compiler);
        command.args(["-O1", "-g", "-w", "-pthread", "-fno-builtin", "-ldl"]);
        command.arg(fixture(source)).arg("-o").arg(&program);
        shell::run(command)?;
        Ok(program.to_string_lossy().into_owned())
    };
    let c = build("gcc", "c/interposed.c", "interposed")?;
    let cpp = build("g++", "cpp/exceptions.cpp", "exceptions")?;
    let java = folder.join("Friends.java");
    std::fs::write(&java, JAVA)?;
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let mut targets = vec![
        Target { name: "C", words: vec![c] },
        Target { name: "C++", words: vec![cpp] },
        Target { name: "Python", words: words(&["/usr/bin/python3", "-c", PYTHON]) },
    ];
    if Command::new("javac").current_dir(folder).arg(&java).status().is_ok_and(|it| it.success()) {
        let class = folder.to_string_lossy();
        targets.push(Target { name: "JVM", words: words(&["java", "-cp", &class, "Friends"]) });
    } else {
        println!("no Java compiler: the JVM is left out");
    }
    Ok(targets)
}

fn friends(folder: &Path) -> Result<Vec<Friend>> {
    let interposer = folder.join("libinterposer.so");
    let mut compiler = Command::new("gcc");
    compiler.args(["-O1", "-w", "-fno-builtin", "-shared", "-fPIC"]);
    compiler.arg(fixture("c/interposer.c")).arg("-o").arg(&interposer).arg("-ldl");
    shell::run(compiler)?;
    let debian = |name, file: &str, variable| Friend {
        name,
        library: Path::new(LIBRARIES).join(file),
        variable,
    };
    let then = Some(("FAKETIME", "@2000-01-01 00:00:00"));
    let friends = vec![
        debian("torsocks", "torsocks/libtorsocks.so", None),
        debian("faketime", "faketime/libfaketimeMT.so.1", then),
        debian("eatmydata", "libeatmydata.so", None),
        debian("jemalloc", "libjemalloc.so.2", None),
        Friend { name: "shim", library: interposer, variable: None },
    ];
    for friend in &friends {
        ensure!(friend.library.exists(), "no {}", friend.library.display());
    }
    Ok(friends)
}

fn fixture(source: &str) -> PathBuf {
    shell::root().join("fixtures/targets").join(source)
}
