//! What kinds and places are called.

use std::sync::Arc;

use lifetrace_transport::stream::{Form, FramePlace};

use super::mapped::{Mapped, Place};
use crate::symbolizer::ocaml_function;

/// Names in one process.
#[derive(Debug)]
pub(super) struct Names(Mapped);

impl Names {
    /// In a process that is there.
    pub(super) fn of(pid: u32) -> Names {
        Names(Mapped::of(pid))
    }

    /// What a kind is called whose agent has told this of it.
    pub(super) fn kind(&self, form: Form, word: u64, name: &[u8]) -> Arc<str> {
        match form {
            Form::Fields => format!("tag {word}").into(),
            Form::Closure => self.function(word),
            Form::Custom => custom(&String::from_utf8_lossy(name)).into(),
            Form::Continuation if word != 0 => match name {
                // The call is before the address to which it returns.
                [] => format!("continuation in {}", self.function(word - 1)).into(),
                name => format!("continuation in {}", String::from_utf8_lossy(name)).into(),
            },
            Form::Instance | Form::Internal => String::from_utf8_lossy(name).into(),
            other => plain(other).into(),
        }
    }

    /// What holds a root.
    pub(super) fn slot(&self, slot: u64) -> Option<Arc<str>> {
        let Place { symbol, offset } = self.0.place(slot)?;
        let field = offset / 8;
        Some(match module(symbol) {
            Some(module) => format!("{module}, field {field}").into(),
            None if offset == 0 => symbol.into(),
            None => format!("{symbol} + {offset}").into(),
        })
    }

    /// What a frame is called: its function, and where in that its code is.
    pub(super) fn frame(
        &self,
        &FramePlace { code, line, function, file }: &FramePlace<'_>,
    ) -> Arc<str> {
        let (function, file) = (String::from_utf8_lossy(function), String::from_utf8_lossy(file));
        match (&*function, &*file) {
            // The call is before the address to which it returns, and may be the last of its function.
            ("", "") => self.function(code.saturating_sub(1)),
            ("", file) => format!("{file}:{line}").into(),
            (function, "") => function.into(),
            (function, file) => format!("{function} ({file}:{line})").into(),
        }
    }

    fn function(&self, code: u64) -> Arc<str> {
        match self.0.place(code) {
            Some(Place { symbol, .. }) => {
                ocaml_function(symbol).unwrap_or_else(|| symbol.to_owned()).into()
            }
            None => format!("{code:#x}").into(),
        }
    }
}

/// The module, or the value in it, that OCaml's compiler calls so. Modules alone have a capital first.
fn module(symbol: &str) -> Option<String> {
    let rest = symbol.strip_prefix("caml")?;
    let is_module = |name: &str| name.starts_with(|first: char| first.is_ascii_uppercase());
    let last = rest.rsplit("__").next().filter(|last| !last.contains('.'));
    match last {
        Some(last) if is_module(rest) && is_module(last) => Some(rest.to_owned()),
        _ => ocaml_function(symbol),
    }
}

/// What the runtime's custom blocks are, by their identifiers.
fn custom(identifier: &str) -> String {
    let known = match identifier {
        "_i" => "int32",
        "_j" => "int64",
        "_n" => "nativeint",
        "_chan" => "channel",
        "_mutex" => "mutex",
        "_condition" => "condition variable",
        "_bigarray" | "_bigarr02" => "bigarray",
        "_threads" => "thread",
        other => other,
    };
    known.to_owned()
}

fn plain(form: Form) -> &'static str {
    match form {
        Form::String => "string",
        Form::Float => "float",
        Form::Floats => "float array",
        Form::Object => "object",
        Form::Lazy => "lazy value",
        Form::Forward => "forwarded value",
        Form::Abstract => "abstract",
        Form::Continuation => "continuation",
        Form::Ephemeron => "ephemeron or weak array",
        Form::Fields | Form::Closure | Form::Custom | Form::Instance | Form::Internal => "block",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_frames_are_called() {
        let names = Names(Mapped::of(std::process::id()));
        let code = custom as *const () as u64 + 1;
        let frame = |function: &'static str, file: &'static str| {
            let (function, file) = (function.as_bytes(), file.as_bytes());
            names.frame(&FramePlace { code, line: 42, function, file })
        };
        assert_eq!(&*frame("Server.loop", "server.ml"), "Server.loop (server.ml:42)");
        assert_eq!((&*frame("", "server.ml"), &*frame("f", "")), ("server.ml:42", "f"));
        assert!(frame("", "").contains("custom"), "{}", frame("", ""));
    }

    #[test]
    fn what_continuations_are_called() {
        let names = Names(Mapped::of(std::process::id()));
        let name = |word, name| names.kind(Form::Continuation, word, name);
        assert_eq!(&*name(0, b""), "continuation");
        assert_eq!(&*name(8, b"Server.wait"), "continuation in Server.wait");
        let code = custom as *const () as u64 + 1;
        assert!(name(code, b"").contains("custom"), "{}", name(code, b""));
    }

    #[test]
    fn what_modules_and_custom_blocks_are_called() {
        assert_eq!(module("camlCache").as_deref(), Some("Cache"));
        assert_eq!(module("camlDune__exe__Main").as_deref(), Some("Dune__exe__Main"));
        assert_eq!(module("camlCache__table_12").as_deref(), Some("Cache.table"));
        assert_eq!(module("caml_globals"), None);
        assert_eq!((custom("_j"), custom("mine")), ("int64".into(), "mine".into()));
    }
}
