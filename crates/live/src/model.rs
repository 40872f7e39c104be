//! What of all that is known is on the page, and what keys do to that.

use std::rc::Rc;

use lifetrace_analysis::filter::Filter;

use crate::board::{Detail, Shown, View};
use crate::process::{Aspect, ProcessKey, Screen};
use crate::rows::{Holding, Row};

/// A key, or several that mean one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Backspace.
    Backspace,
    /// Up by one row.
    Up,
    /// Down by one row.
    Down,
    /// To the left.
    Left,
    /// To the right.
    Right,
    /// Up by a page.
    PageUp,
    /// Down by a page.
    PageDown,
    /// To the first row.
    Home,
    /// To the last row.
    End,
    /// Tabulator.
    Tab,
    /// What interrupts a program.
    Interrupt,
}

/// What somebody else is to do after a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Draw the page again.
    Draw,
    /// Look at something else, and draw that.
    Look,
    /// Mark this moment.
    Mark,
    /// Forget the mark.
    Unmark,
    /// Look at other blocks.
    Filter(Filter),
    /// End.
    Quit,
}

/// What rows are ordered by, the greatest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// What lives.
    #[default]
    Live,
    /// By how much that has grown of late.
    Growth,
    /// By how much it has grown since the mark.
    Marked,
    /// What is allocated a second.
    Rate,
    /// What was ever allocated.
    Allocated,
    /// The name.
    Name,
}

/// What is on the page.
#[derive(Clone, Debug)]
pub struct Model {
    screen: Screen,
    /// The row that is chosen: on each of the three levels.
    cursors: [usize; 3],
    order: Order,
    /// The filter that is being typed.
    typed: Option<String>,
    /// What was wrong, or has been done.
    message: Option<String>,
    is_helping: bool,
    is_paused: bool,
    /// Asked before the end, if something would end with it.
    question: Option<String>,
    is_asking: bool,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            screen: Screen::Processes,
            cursors: [0; 3],
            order: Order::default(),
            typed: None,
            message: None,
            is_helping: false,
            is_paused: false,
            question: None,
            is_asking: false,
        }
    }
}

impl Model {
    /// What is looked at.
    pub fn screen(&self) -> &Screen {
        &self.screen
    }

    /// What rows are ordered by.
    pub fn order(&self) -> Order {
        self.order
    }

    /// The filter that is being typed, if one is.
    pub fn typed(&self) -> Option<&str> {
        self.typed.as_deref()
    }

    /// What was wrong, or has been done, or is asked.
    pub fn message(&self) -> Option<&str> {
        self.question.as_deref().filter(|_| self.is_asking).or(self.message.as_deref())
    }

    /// Whether the keys are explained.
    pub fn is_helping(&self) -> bool {
        self.is_helping
    }

    /// Whether the page stays as it is.
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// The chosen row among so many.
    pub fn cursor(&self, rows: usize) -> usize {
        self.cursors[self.level()].min(rows.saturating_sub(1))
    }

    /// Looks at the callsites of a process.
    pub fn enter(&mut self, process: ProcessKey) {
        self.screen = Screen::Callsites(process);
        self.cursors[1] = 0;
    }

    /// Says something at the foot of the page.
    pub fn say(&mut self, message: impl Into<String>) {
        self.message = Some(message.into());
    }

    /// What is to be asked before the end; nothing if it can be left as it is.
    pub fn ask_before_end(&mut self, question: Option<String>) {
        self.is_asking &= question.is_some();
        self.question = question;
    }

    /// Takes a key; `view` is what the page shows, and `height` how many rows of it.
    pub fn key(&mut self, key: Key, view: &View, height: usize) -> Effect {
        self.message = None;
        if self.typed.is_some() {
            return self.type_key(key);
        }
        if std::mem::take(&mut self.is_asking) {
            let ends = matches!(key, Key::Char('y' | 'Y' | 'q') | Key::Interrupt);
            return if ends { Effect::Quit } else { Effect::Draw };
        }
        if std::mem::take(&mut self.is_helping) {
            return if key == Key::Interrupt { self.quit() } else { Effect::Draw };
        }
        match key {
            Key::Char('q') | Key::Interrupt => self.quit(),
            Key::Char('?' | 'h') => self.help(),
            Key::Char('f' | '/') => {
                self.typed = Some(view.filter.clone().unwrap_or_default());
                Effect::Draw
            }
            Key::Char('m') => Effect::Mark,
            Key::Char('M') => Effect::Unmark,
            Key::Char(' ') => {
                self.is_paused = !self.is_paused;
                Effect::Look
            }
            Key::Tab => self.turn(),
            Key::Enter | Key::Right => self.descend(view),
            Key::Escape | Key::Left | Key::Backspace => self.ascend(),
            Key::Char(character) if order_of(character).is_some() => self.sort(character),
            key => self.step(key, rows_of(self, view), height),
        }
    }

    fn quit(&mut self) -> Effect {
        self.is_asking = self.question.is_some();
        if self.is_asking { Effect::Draw } else { Effect::Quit }
    }

    fn help(&mut self) -> Effect {
        self.is_helping = true;
        Effect::Draw
    }

    fn type_key(&mut self, key: Key) -> Effect {
        let Some(typed) = &mut self.typed else { return Effect::Draw };
        match key {
            Key::Char(character) => typed.push(character),
            Key::Backspace => drop(typed.pop()),
            Key::Escape | Key::Interrupt => self.typed = None,
            Key::Enter => return self.filter(),
            _ => {}
        }
        Effect::Draw
    }

    /// What is wrong with it is told, and can be mended.
    fn filter(&mut self) -> Effect {
        let texts = self.typed.iter().filter(|text| !text.trim().is_empty());
        match Filter::parse_all(texts) {
            Ok(filter) => {
                self.typed = None;
                Effect::Filter(filter)
            }
            Err(error) => {
                self.message = Some(error.to_string());
                Effect::Draw
            }
        }
    }

    fn sort(&mut self, character: char) -> Effect {
        self.order = order_of(character).unwrap_or_default();
        self.cursors[self.level()] = 0;
        Effect::Draw
    }

    fn turn(&mut self) -> Effect {
        let Screen::Callsite(.., aspect) = &mut self.screen else { return Effect::Draw };
        *aspect = match aspect {
            Aspect::Tree => Aspect::Lifetimes,
            Aspect::Lifetimes => Aspect::Tree,
        };
        self.cursors[2] = 0;
        Effect::Look
    }

    fn descend(&mut self, view: &View) -> Effect {
        match (&self.screen, &view.detail) {
            (Screen::Processes, _) => {
                let shown = processes(self, view);
                let Some(process) = shown.get(self.cursor(shown.len())) else {
                    return Effect::Draw;
                };
                let key = process.key;
                self.enter(key);
                Effect::Look
            }
            (Screen::Callsites(key), Detail::Callsites(page)) => {
                let rows = callsites(self, &page.rows);
                let Some(row) = rows.get(self.cursor(rows.len())) else { return Effect::Draw };
                self.screen = Screen::Callsite(*key, Rc::clone(&row.name), Aspect::Tree);
                self.cursors[2] = 0;
                Effect::Look
            }
            (Screen::Callsite(..), _) => self.turn(),
            _ => Effect::Draw,
        }
    }

    fn ascend(&mut self) -> Effect {
        self.screen = match &self.screen {
            Screen::Processes | Screen::Callsites(_) => Screen::Processes,
            Screen::Callsite(key, ..) => Screen::Callsites(*key),
        };
        Effect::Look
    }

    fn step(&mut self, key: Key, rows: usize, height: usize) -> Effect {
        let (now, last) = (self.cursor(rows), rows.saturating_sub(1));
        let next = match key {
            Key::Up | Key::Char('k') => now.saturating_sub(1),
            Key::Down | Key::Char('j') => now + 1,
            Key::PageUp => now.saturating_sub(height),
            Key::PageDown => now + height,
            Key::Home => 0,
            Key::End => last,
            _ => now,
        };
        self.cursors[self.level()] = next.min(last);
        Effect::Draw
    }

    fn level(&self) -> usize {
        match self.screen {
            Screen::Processes => 0,
            Screen::Callsites(_) => 1,
            Screen::Callsite(..) => 2,
        }
    }
}

fn order_of(character: char) -> Option<Order> {
    Some(match character {
        'l' => Order::Live,
        'g' => Order::Growth,
        'd' => Order::Marked,
        'a' => Order::Rate,
        't' => Order::Allocated,
        'n' => Order::Name,
        _ => return None,
    })
}

/// How many rows there are to step through.
fn rows_of(model: &Model, view: &View) -> usize {
    match (&model.screen, &view.detail) {
        (Screen::Processes, _) => view.processes.len(),
        (_, Detail::Callsites(page)) => page.rows.len(),
        (_, Detail::Tree(branches)) => branches.len(),
        (_, Detail::Lifetimes(..) | Detail::None) => 0,
    }
}

/// What rows are ordered by; nothing for names.
fn value(order: Order, has: &Holding) -> f64 {
    match order {
        Order::Live => has.live.bytes.value,
        Order::Growth => has.recent.change(),
        Order::Marked => has.marked.as_ref().unwrap_or(&has.recent).change(),
        Order::Rate => has.recent.rate().value,
        Order::Allocated => has.allocated.bytes.value,
        Order::Name => 0.0,
    }
}

/// The callsites in their order.
pub fn callsites<'r>(model: &Model, rows: &'r [Row]) -> Vec<&'r Row> {
    let mut sorted: Vec<_> = rows.iter().collect();
    let value = |row: &Row| value(model.order, &row.has);
    sorted.sort_by(|a, b| value(b).total_cmp(&value(a)).then_with(|| a.name.cmp(&b.name)));
    sorted
}

/// The processes in their order; of those that cannot be compared the older first.
pub fn processes<'v>(model: &Model, view: &'v View) -> Vec<&'v Shown> {
    let mut sorted: Vec<_> = view.processes.iter().collect();
    let value = |shown: &Shown| shown.has.as_ref().map_or(f64::MIN, |has| value(model.order, has));
    let name = |shown: &Shown| match model.order {
        Order::Name => shown.session.program.clone(),
        _ => String::new(),
    };
    sorted.sort_by(|a, b| {
        value(b).total_cmp(&value(a)).then_with(|| (name(a), a.key).cmp(&(name(b), b.key)))
    });
    sorted
}
