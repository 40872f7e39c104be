//! What a collector answers over HTTP, beside its work.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use lifetrace_recorder::{Collector, Folder};
use lifetrace_serve::Collecting;
use lifetrace_serve::http::{Address, Listener, Site, Stop, serve};
use lifetrace_serve::token::Token;

use crate::terminal;

/// The file with the token, in the folder for traces.
pub(super) const TOKEN: &str = "http.token";

/// A place where it will answer, and to whom.
pub(super) struct Listening {
    listener: Listener,
    token: Token,
    /// Where the token is.
    path: PathBuf,
}

/// It answers, until this is dropped.
pub(super) struct Answering {
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

/// Takes the place.
///
/// # Errors
/// If it is taken, or there is no token.
pub(super) fn listen(address: &Address, token: &Path) -> anyhow::Result<Listening> {
    let path = std::path::absolute(token)?;
    Ok(Listening { token: Token::of_file(&path)?, listener: Listener::bind(address)?, path })
}

impl Answering {
    /// # Errors
    /// If there are no threads.
    pub(super) fn start(
        listening: Listening,
        collector: &Arc<Collector>,
        folder: &Folder,
        quiet: bool,
    ) -> anyhow::Result<Self> {
        let Listening { listener, token, path } = listening;
        let address = listener.address().clone();
        let site = Collecting::new(Arc::clone(collector), folder.clone(), token)?;
        let (site, stop): (Arc<dyn Site>, _) = (Arc::new(site), Stop::new()?);
        let told = stop.clone();
        let work = move || serve(&listener, &site, &told);
        let thread = Some(Builder::new().name("http".to_owned()).spawn(work)?);
        if !quiet {
            terminal::complain(format_args!(
                "answering at {address}, with the token in {}",
                path.display()
            ));
        }
        Ok(Self { stop, thread })
    }
}

/// Whoever asks now is not answered any more; who has asked before may be, until the process ends.
impl Drop for Answering {
    fn drop(&mut self) {
        self.stop.raise();
        // A panic has been printed.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
