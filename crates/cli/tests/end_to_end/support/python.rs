//! CPython: the system's, or one that lies in a folder like a root directory, with the C library that it came with
//! (`cargo xtask python-versions`), or like `/usr/local`, without one.

use super::run::Target;

pub fn python() -> Target {
    let Ok(root) = std::env::var("LIFETRACE_PYTHON") else {
        return Target::new(&["/usr/bin/python3"]);
    };
    let version = std::env::var("LIFETRACE_PYTHON_VERSION").expect("as the folder");
    let loader = format!("{root}/usr/lib64/ld-linux-x86-64.so.2");
    if !std::path::Path::new(&loader).exists() {
        return Target::new(&[&format!("{root}/bin/python{version}")]);
    }
    let libraries = format!("{root}/usr/lib/x86_64-linux-gnu");
    let program = format!("{root}/usr/bin/python{version}");
    let words = [&loader, "--library-path", &libraries, &program];
    Target::new(&words).environment(&[("PYTHONHOME", format!("{root}/usr"))])
}
