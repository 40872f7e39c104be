//! Ruby, and the gem for it, built as its users build it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use super::run::Target;

/// The system's Ruby, or one that lies in a folder like a root directory, with the C library that it came with
/// (`cargo xtask ruby-versions`).
pub fn ruby() -> Target {
    let Ok(root) = std::env::var("LIFETRACE_RUBY") else { return Target::new(&["ruby"]) };
    let version = std::env::var("LIFETRACE_RUBY_VERSION").expect("as the folder");
    let libraries = format!("{root}/usr/lib/x86_64-linux-gnu");
    let (loader, program) =
        (format!("{root}/usr/lib64/ld-linux-x86-64.so.2"), format!("{root}/usr/bin/ruby{version}"));
    let [own, native] =
        [format!("-I{root}/usr/lib/ruby/{version}.0"), format!("-I{libraries}/ruby/{version}.0")];
    let words = [&loader, "--library-path", &libraries, &program, &own, &native];
    Target::new(&words).arguments(&["--disable-gems"])
}

/// The test's program that has the gem, at a word, with a folder.
pub fn sampled(word: &str, folder: &Path) -> Target {
    static GEM: LazyLock<PathBuf> = LazyLock::new(library);
    let program = gem().join("test/sampled.rb");
    let library = format!("-I{}", GEM.display());
    let words = [&library, "-W:no-experimental", program.to_str().unwrap(), word];
    ruby().arguments(&words).arguments(&[folder.to_str().unwrap()])
}

/// The gem's sources.
pub fn gem() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../ruby")).to_owned()
}

/// The gem's native library.
pub fn native_library() -> PathBuf {
    static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
        let library = folder().join("liblifetrace_gem.so");
        let mut script = Command::new("sh");
        script.arg(gem().join("ext/lifetrace/build.sh")).arg(&library);
        run(script.env("CARGO_TARGET_DIR", folder().join("../..")));
        library
    });
    LIBRARY.clone()
}

/// Runs a command that must succeed; what it prints.
pub fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{told}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ruby-library");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The folder `lib`, with the native library in its place.
fn library() -> PathBuf {
    let lib = folder().join("lib");
    run(Command::new("cp").arg("-rT").arg(gem().join("lib")).arg(&lib));
    std::fs::copy(native_library(), lib.join("lifetrace/lifetrace.so")).unwrap();
    lib
}
