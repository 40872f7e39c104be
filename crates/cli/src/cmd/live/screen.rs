//! The page on a terminal: drawn once a second, and whenever a key is pressed. Whatever happens, the terminal is left as it
//! was: at the end, after an error, a signal or a panic.

use std::io::{self, IsTerminal, Stdout};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lifetrace_live::board::{Board, View};
use lifetrace_live::model::{Effect, Key, Model};
use lifetrace_live::page::{self, Theme};
use lifetrace_recorder::Recording;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::Size;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;

use super::PERIOD;
use super::source::Source;

/// A signal is noticed within this time.
const GLANCE: Duration = Duration::from_millis(250);

/// A trace that is long is read in portions, between which keys are heard.
const PORTION: Duration = Duration::from_millis(100);

/// The terminal, while the page is on it.
struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    theme: Theme,
    size: Size,
    /// Whether keys come from standard input; else they come from the terminal by its own name.
    reads_input: bool,
    ends: Arc<AtomicBool>,
}

/// What is shown.
struct Shown<'r> {
    board: Board,
    source: Source,
    model: Model,
    /// The program that ends with the page.
    recording: Option<&'r Recording>,
    first: Option<u32>,
    view: View,
}

impl Screen {
    fn open() -> io::Result<Self> {
        let ends = Arc::new(AtomicBool::new(false));
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
            flag::register(signal, Arc::clone(&ends))?;
        }
        restore_after_panics();
        enable_raw_mode()?;
        let theme =
            Theme { has_colours: std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty()) };
        let begun = execute!(io::stdout(), EnterAlternateScreen, Hide);
        let terminal = begun.and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        match terminal {
            Ok(terminal) => {
                let reads_input = io::stdin().is_terminal();
                Ok(Self { size: terminal.size()?, terminal, theme, reads_input, ends })
            }
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }

    fn draw(&mut self, model: &Model, view: &View) -> io::Result<()> {
        let theme = self.theme;
        self.terminal.draw(|frame| page::draw(frame, model, view, theme)).map(drop)
    }

    /// The next key until that time; nothing if there is none, or only the size has changed.
    fn key(&self, until: Instant) -> io::Result<Option<Key>> {
        let patience = until.saturating_duration_since(Instant::now()).min(GLANCE);
        let patience = if !self.reads_input {
            patience
        } else if has_hung_up(patience) {
            self.ends.store(true, Ordering::Relaxed);
            return Ok(None);
        } else {
            Duration::ZERO
        };
        if !event::poll(patience)? {
            return Ok(None);
        }
        Ok(match event::read()? {
            Event::Key(event) if event.kind != KeyEventKind::Release => key_of(&event),
            _ => None,
        })
    }

    fn has_another_size(&mut self) -> io::Result<bool> {
        let size = self.terminal.size()?;
        Ok(std::mem::replace(&mut self.size, size) != size)
    }

    fn ends(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Waits for so long until there is something to read, and says whether the terminal has gone: the library that reads keys
/// reads its end over and over.
fn has_hung_up(patience: Duration) -> bool {
    let input = rustix::stdio::stdin();
    let mut waiting = [PollFd::new(&input, PollFlags::IN)];
    let patience = Timespec::try_from(patience).ok();
    // Interrupted, for the terminal has another size: the caller looks.
    let is_heard = poll(&mut waiting, patience.as_ref()).is_ok();
    is_heard && waiting[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)
}

/// The terminal as it was. What cannot be written any more has nobody to read it.
fn restore() {
    let _ = disable_raw_mode();
    let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
}

/// The message of a panic is for the terminal as it was.
fn restore_after_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            hook(panic);
        }));
    });
}

fn key_of(event: &KeyEvent) -> Option<Key> {
    let is_control = event.modifiers.contains(KeyModifiers::CONTROL);
    Some(match event.code {
        KeyCode::Char('c' | 'd') if is_control => Key::Interrupt,
        KeyCode::Char(character) if !is_control => Key::Char(character),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Tab => Key::Tab,
        _ => return None,
    })
}

/// Shows what is recorded until the page is left. It begins with the process `first`; what `recording` has started is asked
/// for before the page is left.
///
/// # Errors
/// The terminal's.
pub fn show(
    mut board: Board,
    source: Source,
    first: Option<u32>,
    recording: Option<&Recording>,
) -> anyhow::Result<ExitCode> {
    let model = Model::default();
    let view = board.view(model.screen());
    let mut shown = Shown { board, source, model, recording, first, view };
    let mut screen = Screen::open()?;
    shown.run(&mut screen)?;
    Ok(ExitCode::SUCCESS)
}

impl Shown<'_> {
    fn run(&mut self, screen: &mut Screen) -> io::Result<()> {
        loop {
            let mut next = Instant::now() + PERIOD;
            if !self.look() {
                next = Instant::now();
            }
            screen.draw(&self.model, &self.view)?;
            loop {
                if screen.ends() {
                    return Ok(());
                }
                if let Some(key) = screen.key(next)? {
                    if self.take(key, screen)? {
                        return Ok(());
                    }
                    screen.draw(&self.model, &self.view)?;
                } else if Instant::now() >= next {
                    break;
                } else if screen.has_another_size()? {
                    screen.draw(&self.model, &self.view)?;
                }
            }
        }
    }

    /// Reads on; says whether all has been read that is there.
    fn look(&mut self) -> bool {
        self.board.take(self.source.sessions());
        let is_all = self.board.advance(PORTION);
        if !self.model.is_paused() {
            self.view = self.board.view(self.model.screen());
            self.enter_first();
        }
        if self.source.is_over() {
            self.model.say("the recorder has gone: this is what it knew last");
        }
        is_all
    }

    fn enter_first(&mut self) {
        let processes = &self.view.processes;
        let first = match self.first {
            Some(pid) => processes.iter().find(|it| it.session.pid == pid),
            None => return,
        };
        if let Some(shown) = first {
            self.first = None;
            self.model.enter(shown.key);
            self.view = self.board.view(self.model.screen());
        }
    }

    /// Whether the page is to be left.
    fn take(&mut self, key: Key, screen: &Screen) -> io::Result<bool> {
        self.model.ask_before_end(self.question());
        let height = page::list_height(screen.terminal.size()?.height);
        match self.model.key(key, &self.view, height) {
            Effect::Quit => return Ok(true),
            Effect::Draw => return Ok(false),
            Effect::Look => {}
            Effect::Mark => {
                self.board.mark();
                self.model.say("marked: SINCE MARK is what changed since now; M forgets it");
            }
            Effect::Unmark => self.board.unmark(),
            Effect::Filter(filter) => match self.board.choose(filter) {
                Ok(()) => drop(self.board.advance(PORTION)),
                Err(why) => self.model.say(why),
            },
        }
        self.view = self.board.view(self.model.screen());
        Ok(false)
    }

    fn question(&self) -> Option<String> {
        let living = self.recording.map_or(0, Recording::living_processes);
        (living > 0).then(|| {
            "the program still runs: y ends it and the page, any other key goes on".to_owned()
        })
    }
}
