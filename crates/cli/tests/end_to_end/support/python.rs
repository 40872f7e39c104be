//! CPython: the system's, or one that lies in a folder like a root directory, with the C library that it came with
//! (`cargo xtask python-versions`), or like `/usr/local`, without one.

use super::run::Target;

/// The folder of another Python, its version, and whether it came with a C library.
fn other() -> Option<(String, String, bool)> {
    let root = std::env::var("LIFETRACE_PYTHON").ok()?;
    let version = std::env::var("LIFETRACE_PYTHON_VERSION").expect("as the folder");
    let has_libraries = std::path::Path::new(&loader(&root)).exists();
    Some((root, version, has_libraries))
}

fn loader(root: &str) -> String {
    format!("{root}/usr/lib64/ld-linux-x86-64.so.2")
}

pub fn python() -> Target {
    match other() {
        None => Target::new(&["/usr/bin/python3"]),
        Some((root, version, false)) => Target::new(&[&format!("{root}/bin/python{version}")]),
        Some((root, version, true)) => {
            let libraries = format!("{root}/usr/lib/x86_64-linux-gnu");
            let program = format!("{root}/usr/bin/python{version}");
            let words = [&loader(&root), "--library-path", &libraries, &program];
            Target::new(&words).environment(&home().map_or(vec![], |home| vec![home]))
        }
    }
}

/// What its environment has to say.
pub fn home() -> Option<(&'static str, String)> {
    let (root, ..) = other().filter(|(.., has_libraries)| *has_libraries)?;
    Some(("PYTHONHOME", format!("{root}/usr")))
}
