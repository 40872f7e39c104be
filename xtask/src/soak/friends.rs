//! Other libraries that are preloaded too: programs look as they do bare, whoever stands beside us.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use super::alike::{Alike, Program};
use super::fixture;

const LIBRARIES: &str = "/usr/lib/x86_64-linux-gnu";

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
    let mut alike = Alike::open("friends")?;
    let programs = programs(alike.folder())?;
    let is_wanted = |friend: &Friend| names.is_empty() || names.contains(&friend.name);
    for friend in friends(alike.folder())?.into_iter().filter(is_wanted) {
        for program in &programs {
            let words = [friend.shell(), program.words.clone()].concat();
            alike.check(&format!("{} with {}", program.name, friend.name), &words)?;
        }
    }
    alike.verdict()
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

fn programs(folder: &Path) -> Result<Vec<Program>> {
    let mut programs = vec![
        Program::new("C", &[fixture::program(folder, "interposed", "c/interposed.c", &[])?]),
        Program::new("C++", &[fixture::program(folder, "exceptions", "cpp/exceptions.cpp", &[])?]),
        Program::new("Python", &["/usr/bin/python3", "-c", PYTHON]),
    ];
    let java = folder.join("Friends.java");
    std::fs::write(&java, JAVA)?;
    if Command::new("javac").current_dir(folder).arg(&java).status().is_ok_and(|it| it.success()) {
        programs.push(Program::new("JVM", &["java", "-cp", ".", "Friends"]));
    } else {
        println!("no Java compiler: the JVM is left out");
    }
    Ok(programs)
}

fn friends(folder: &Path) -> Result<Vec<Friend>> {
    let interposer = fixture::library(folder, "interposer", "c/interposer.c", &[])?;
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
