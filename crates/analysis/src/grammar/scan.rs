//! A place in a text, and how it moves on.

use std::ops::Range;

/// Reads a text from left to right. A clone reads ahead.
#[derive(Clone, Debug)]
pub(crate) struct Scanner<'t> {
    text: &'t str,
    at: usize,
    /// What a mistake that is made next is about; else it is about what comes next.
    marked: Option<Range<usize>>,
}

impl<'t> Scanner<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, at: 0, marked: None }
    }

    /// In bytes from the start.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Goes past `token` if that comes next.
    pub(crate) fn eat(&mut self, token: &str) -> bool {
        let is_next = self.rest().starts_with(token);
        if is_next {
            self.at += token.len();
        }
        is_next
    }

    /// Goes past one character, if there is any.
    pub(crate) fn take_one(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
    }

    /// What has been read since it was at `from`.
    pub(crate) fn since(&self, from: usize) -> &'t str {
        &self.text[from..self.at]
    }

    /// Whether there was any.
    pub(crate) fn skip_space(&mut self) -> bool {
        !self.take_while(char::is_whitespace).is_empty()
    }

    pub(crate) fn take_while(&mut self, accepts: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let len = rest.find(|next| !accepts(next)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    /// The word that comes next; empty if there is none.
    pub(crate) fn word(&mut self) -> &'t str {
        self.take_while(is_word)
    }

    /// The word that comes next, after any space, is `word`: goes past it.
    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let mut ahead = self.clone();
        ahead.skip_space();
        let is_next = ahead.word().eq_ignore_ascii_case(word);
        if is_next {
            *self = ahead;
        }
        is_next
    }

    /// All up to the next space.
    pub(crate) fn up_to_space(&mut self) -> &'t str {
        self.take_while(|next| !next.is_whitespace())
    }

    /// The next mistake is about this.
    pub(crate) fn mark(&mut self, span: Range<usize>) {
        self.marked = Some(span);
    }

    /// A mistake was made in what was read since `from`, unless it was already told where.
    pub(crate) fn blame_since(&mut self, from: usize) {
        if self.marked.is_none() && from < self.at {
            self.marked = Some(from..self.at);
        }
    }

    /// What a mistake is about that is made here.
    pub(crate) fn blame(&self) -> Range<usize> {
        let next = self.peek().map_or(0, char::len_utf8);
        self.marked.clone().unwrap_or(self.at..self.at + next)
    }
}

/// Whether a character may be in a keyword.
pub(crate) fn is_word(next: char) -> bool {
    next.is_ascii_alphanumeric() || next == '-' || next == '_'
}
