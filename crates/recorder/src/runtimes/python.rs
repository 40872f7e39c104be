//! Python.
//!
//! Its small objects are not sampled as such; its frames stand in malloc's backtraces.

use std::path::Path;

use lifetrace_trace::frame::FrameKind;
use lifetrace_transport::sources::SourceName;

use super::Language;
use crate::notice::RuntimeNotice;

/// CPython, 3.9 to 3.14.
#[derive(Debug)]
pub(crate) struct Python;

const UNKNOWN: RuntimeNotice = RuntimeNotice::plain("python-unknown");
const FREE_THREADED: RuntimeNotice = RuntimeNotice::plain("python-free-threaded");
const SMALL_UNHEARD: RuntimeNotice = RuntimeNotice::unsampled("python-small-unheard");

static NOTICES: [RuntimeNotice; 3] = [UNKNOWN, FREE_THREADED, SMALL_UNHEARD];

/// What makes a folder a package.
const PACKAGE: &str = "__init__";

impl Language for Python {
    fn name(&self) -> SourceName {
        SourceName::new("python")
    }

    fn frame_kinds(&self) -> &'static [FrameKind] {
        &[FrameKind::Python]
    }

    fn is_interpreter(&self, file_name: &str) -> bool {
        let is_version = |rest: &str| rest.bytes().all(|it| it.is_ascii_digit() || it == b'.');
        file_name.starts_with("libpython")
            || file_name.strip_prefix("python").is_some_and(is_version)
    }

    fn full_name(&self, function: &str, file: &str) -> String {
        match module(file, |folder| folder.join("__init__.py").exists()) {
            Some(module) => format!("{module}.{function}"),
            None => function.to_owned(),
        }
    }

    fn notices(&self) -> &'static [RuntimeNotice] {
        &NOTICES
    }
}

/// The module that a file is, as programs import it: with the packages that it is in, as far up as folders are packages.
fn module(file: &str, is_package: impl Fn(&Path) -> bool) -> Option<String> {
    // What comes with the interpreter has no file: `<frozen importlib._bootstrap>`.
    if let Some(frozen) = file.strip_prefix("<frozen ") {
        return Some(frozen.trim_end_matches('>').to_owned());
    }
    let path = Path::new(file).with_extension("");
    let name = path.file_name()?.to_str()?;
    let is_none = !file.ends_with(".py") && !file.contains('/') || file.starts_with('<');
    // What is a number is a notebook's cell.
    if is_none || name.bytes().all(|it| it.is_ascii_digit()) {
        return None;
    }
    let folders = path.ancestors().skip(1).take_while(|folder| is_package(folder));
    let mut parts: Vec<&str> = folders.filter_map(|folder| folder.file_name()?.to_str()).collect();
    parts.reverse();
    if name != PACKAGE || parts.is_empty() {
        parts.push(name);
    }
    Some(parts.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_is_in_its_library_or_in_its_command() {
        let names =
            ["libpython3.11.so.1.0", "python3.11", "python", "pythonista", "_json.cpython-311.so"];
        assert!(names.iter().filter(|name| Python.is_interpreter(name)).eq(&names[..3]));
    }

    #[test]
    fn modules_are_called_as_they_are_imported() {
        let of = |file| {
            module(file, |folder| {
                ["/lib/django", "/lib/django/db"].iter().any(|it| folder == Path::new(it))
            })
        };
        for (file, expected) in [
            ("/lib/django/db/models.py", Some("django.db.models")),
            ("/lib/django/__init__.py", Some("django")),
            ("/srv/app.py", Some("app")),
            ("app.py", Some("app")),
            ("/usr/bin/pip", Some("pip")),
            ("<frozen importlib._bootstrap>", Some("importlib._bootstrap")),
            ("<string>", None),
            ("/tmp/ipykernel_12/3456.py", None),
            ("<attrs generated init a.b/C>", None),
            ("", None),
        ] {
            assert_eq!(of(file).as_deref(), expected, "{file}");
        }
    }
}
