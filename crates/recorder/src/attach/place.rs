//! What of a process's object files is the C library, and what the allocator.

use super::borrow::Functions;
use super::error::AttachError;
use super::memory::Module;

/// Both, among the modules.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) libc: usize,
    /// As far as can be told from outside: what defines malloc, and is not the C library, comes before it.
    pub(super) allocator: usize,
    /// Where `malloc` most likely is.
    pub(super) malloc: u64,
    /// The C library's `prctl`.
    pub(super) prctl: u64,
    pub(super) functions: Functions,
}

impl Place {
    /// Finds both.
    ///
    /// # Errors
    /// [`AttachError`], if there is no C library that is known.
    pub(super) fn find(modules: &[Module]) -> Result<Place, AttachError> {
        if modules.iter().any(|it| it.name().starts_with("ld-musl")) {
            return Err(AttachError::Musl);
        }
        let is_libc = |it: &Module| {
            it.symbol("__libc_start_main").is_some() && it.symbol("gnu_get_libc_version").is_some()
        };
        let libc = modules.iter().position(is_libc).ok_or(AttachError::NoLibc)?;
        let functions = functions(&modules[libc])?;
        let brings_malloc = |it: &Module| {
            it.symbol("malloc").is_some()
                && it.symbol("free").is_some()
                && !is_libc(it)
                && !it.name().starts_with("ld-")
                && it.symbol(lifetrace_transport::attach::TABLE).is_none()
        };
        let allocator = modules.iter().position(brings_malloc).unwrap_or(libc);
        let malloc = modules[allocator].symbol("malloc").ok_or(AttachError::NoLibc)?;
        let prctl = modules[libc].symbol("prctl").ok_or(AttachError::OldLibc("prctl"))?;
        Ok(Place { libc, allocator, malloc, prctl, functions })
    }
}

fn functions(libc: &Module) -> Result<Functions, AttachError> {
    let function = |name: &'static str| libc.symbol(name).ok_or(AttachError::OldLibc(name));
    Ok(Functions {
        create: function("pthread_create")?,
        this: function("pthread_self")?,
        detach: function("pthread_detach")?,
        errno: function("__errno_location")?,
        syscall: function("syscall")?,
        dlopen: function("dlopen")?,
        dlerror: function("dlerror")?,
        dlsym: function("dlsym")?,
    })
}
