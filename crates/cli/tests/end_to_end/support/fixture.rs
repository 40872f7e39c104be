//! The programs of `fixtures/targets`, compiled when first asked for.
//!
//! They are compiled with inlining off, so that each function in the source has a frame of its own,
//! into cargo's folder for tests, once per run of the tests.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

/// Also, the compiler must not know that `free(malloc(n))` is nothing.
const FRAME_PER_FUNCTION: &[&str] =
    &["-O1", "-g", "-w", "-pthread", "-fno-inline", "-fno-optimize-sibling-calls", "-fno-builtin"];

/// A program in C.
pub fn c(name: &str) -> PathBuf {
    compiled(&format!("c/{name}.c"), name, |source| gcc(source, &[]))
}

/// A program in C at a fixed place in memory, as some of Debian's are.
pub fn c_fixed(name: &str) -> PathBuf {
    compiled(&format!("c/{name}.c"), &format!("{name}-fixed"), |source| {
        gcc(source, &["-no-pie", "-fno-pie"])
    })
}

/// A program in C that is linked statically.
pub fn c_static(name: &str) -> PathBuf {
    compiled(&format!("c/{name}.c"), &format!("{name}-static"), |source| gcc(source, &["-static"]))
}

/// A program in C that exports what it has, as OCaml's do.
pub fn c_exporting(name: &str) -> PathBuf {
    compiled(&format!("c/{name}.c"), name, |source| gcc(source, &["-rdynamic"]))
}

/// A program in C with musl as its C library.
pub fn c_musl(name: &str) -> PathBuf {
    compiled(&format!("c/{name}.c"), &format!("{name}-musl"), |source| {
        let mut command = Command::new("musl-gcc");
        command.args(FRAME_PER_FUNCTION).arg(source);
        command
    })
}

/// A program in C for aarch64.
pub fn c_aarch64(name: &str) -> PathBuf {
    compiled(&format!("c/{name}.c"), &format!("{name}-aarch64"), |source| {
        let mut command = Command::new("aarch64-linux-gnu-gcc");
        command.args(FRAME_PER_FUNCTION).arg(source);
        command
    })
}

/// A program in C that has the system's Ruby in it.
pub fn c_with_ruby(name: &str) -> PathBuf {
    let library = "print File.join(RbConfig::CONFIG['archlibdir'] || RbConfig::CONFIG['libdir'], \
                   RbConfig::CONFIG['LIBRUBY_SO'])";
    let found = Command::new("ruby").args(["-rrbconfig", "-e", library]).output().unwrap();
    let library = String::from_utf8(found.stdout).unwrap();
    compiled(&format!("ruby/{name}.c"), &format!("{name}-ruby"), |source| {
        let mut command = gcc(source, &[]);
        command.arg(library);
        command
    })
}

/// A shared library in C.
pub fn c_library(name: &str) -> PathBuf {
    compiled(&format!("c/{name}.c"), &format!("lib{name}.so"), |source| {
        gcc(source, &["-shared", "-fPIC"])
    })
}

/// A shared library in C, compiled with one more option.
pub fn c_library_with(name: &str, option: &str) -> PathBuf {
    compiled(&format!("c/{name}.c"), &format!("lib{name}{option}.so"), |source| {
        gcc(source, &["-shared", "-fPIC", option])
    })
}

/// A program in C that is linked with a library.
pub fn c_with_library(name: &str, library: &str) -> PathBuf {
    let library = c_library(library);
    compiled(&format!("c/{name}.c"), name, |source| gcc(source, &[library.to_str().unwrap()]))
}

/// A program in C that is linked with a library of the system's.
pub fn c_with_installed_library(name: &str, library: &str) -> PathBuf {
    compiled(&format!("c/{name}.c"), name, |source| gcc(source, &[&format!("-l{library}")]))
}

/// A program in C, linked with a library of the system's, at fixed addresses, which are not its places in the file.
pub fn c_with_installed_library_fixed(name: &str, library: &str) -> PathBuf {
    compiled(&format!("c/{name}.c"), &format!("{name}-fixed"), |source| {
        gcc(source, &["-no-pie", &format!("-l{library}")])
    })
}

/// A program in C that calls an allocator of a library by names that begin with `prefix`.
pub fn c_by_other_names(prefix: &str, library: &Path, options: &[&str]) -> PathBuf {
    let output = format!("other_names-{prefix}{}", options.concat());
    compiled("c/other_names.c", &output, |source| {
        let mut command = gcc(source, &[&format!("-DPREFIX={prefix}"), library.to_str().unwrap()]);
        command.args(options);
        command
    })
}

/// A program in C that is linked with an archive.
pub fn c_with_archive(name: &str, output: &str, archive: &Path) -> PathBuf {
    compiled(&format!("c/{name}.c"), output, |source| gcc(source, &with_archive(archive)))
}

/// A program in C++ that is linked with an archive.
pub fn cpp_with_archive(name: &str, output: &str, archive: &Path) -> PathBuf {
    cpp_with(name, output, &with_archive(archive))
}

/// A program in C++ that is linked with a library, and wants this function of it.
pub fn cpp_that_wants(name: &str, function: &str, library: &Path) -> PathBuf {
    let (wants, library) = (format!("-Wl,-u,{function}"), library.to_str().unwrap());
    cpp_with(name, &format!("{name}-{function}"), &[&wants, library])
}

fn cpp_with(name: &str, output: &str, arguments: &[&str]) -> PathBuf {
    compiled(&format!("cpp/{name}.cpp"), output, |source| {
        let mut command = Command::new("g++");
        command.arg("-std=c++17").args(FRAME_PER_FUNCTION).arg(source).args(arguments);
        command
    })
}

/// What the archives of allocators need besides, which are written in C++.
fn with_archive(archive: &Path) -> [&str; 4] {
    [archive.to_str().unwrap(), "-lstdc++", "-lm", "-ldl"]
}

/// A program in C without the tables that are for debuggers and linkers.
pub fn c_stripped(name: &str) -> PathBuf {
    compiled(&format!("c/{name}.c"), &format!("{name}-stripped"), |source| gcc(source, &["-s"]))
}

/// A program in Rust with an allocator that is not the system's.
pub fn rust_with_allocator(name: &str) -> PathBuf {
    rust_of_package("allocators", name)
}

/// A program in Rust that makes profiles of what other profilers wrote.
pub fn rust_that_profiles() -> PathBuf {
    rust_of_package("profiles", "profiles")
}

fn rust_of_package(package: &str, name: &str) -> PathBuf {
    made(name, |unfinished| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(package);
        let manifest = source(&format!("{package}/Cargo.toml"));
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--release", "--locked", "--bin", name]);
        run(cargo.arg("--manifest-path").arg(manifest).arg("--target-dir").arg(&target));
        std::fs::copy(target.join("release").join(name), unfinished).unwrap();
    })
}

/// A program in Rust with an allocator of its own, without the tables that are for debuggers and linkers.
pub fn rust_with_allocator_stripped(name: &str) -> PathBuf {
    let whole = rust_with_allocator(name);
    made(&format!("{name}-stripped"), |unfinished| {
        run(Command::new("strip").arg("-o").arg(unfinished).arg(&whole));
    })
}

/// A program in C++.
pub fn cpp(name: &str) -> PathBuf {
    compiled(&format!("cpp/{name}.cpp"), name, |source| {
        let mut command = Command::new("g++");
        command.arg("-std=c++17").args(FRAME_PER_FUNCTION).arg(source);
        command
    })
}

/// A program in Rust.
pub fn rust(name: &str) -> PathBuf {
    compiled(&format!("rust/{name}.rs"), name, |source| {
        let mut command = Command::new("rustc");
        command.args(["--edition", "2024", "-O", "-g"]).arg(source);
        command
    })
}

/// Where a source of a fixture is.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/targets").join(name)
}

fn gcc(source: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("gcc");
    command.args(FRAME_PER_FUNCTION).arg(source).args(arguments);
    command
}

fn compiled(name: &str, output: &str, compiler: impl FnOnce(&Path) -> Command) -> PathBuf {
    made(output, |unfinished| run(compiler(&source(name)).arg("-o").arg(unfinished)))
}

/// The file `output`, which `make` writes where it is told, unless this run of the tests has made it.
pub(super) fn made(output: &str, make: impl FnOnce(&Path)) -> PathBuf {
    static MADE: LazyLock<Mutex<HashMap<String, Arc<OnceLock<PathBuf>>>>> =
        LazyLock::new(Mutex::default);
    // The lock is not held while one compiles: others wait for the same output only.
    let cell = Arc::clone(MADE.lock().unwrap().entry(output.to_owned()).or_default());
    cell.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures");
        let path = folder.join(output);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let unfinished = folder.join(format!("{output}.{}", std::process::id()));
        make(&unfinished);
        // Another run of the tests may use the old one just now.
        std::fs::rename(unfinished, &path).unwrap();
        path
    })
    .clone()
}

/// Runs a compiler.
pub(super) fn run(compiler: &mut Command) {
    let status = compiler.stdin(Stdio::null()).status();
    assert!(status.as_ref().is_ok_and(|status| status.success()), "{compiler:?}: {status:?}");
}
