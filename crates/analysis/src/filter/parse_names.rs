//! From text to what names must be like: functions, files, threads, sources, labels.

use lifetrace_trace::ids::ThreadId;

use super::error::{Mistake, clipped};
use super::parse::{Parser, is_frame_word};
use super::term::{
    FramePattern, KnownSource, LabelClaim, SourceClaim, ThreadClaim, is_key, is_number, split_line,
};
use super::text::{BARE_NEVER_BEGINS, Pattern, Text};

const A_NAME: &str = "a name";
const AN_OPERATOR: &str = "= (exactly), : (contains) or ~ (regular expression) and a name";

const QUOTE_IT: &str = "a name that begins with = : ~ or ! is written in quotes";
const QUOTE_COMMA: &str =
    "terms are separated by spaces; a name that ends with a comma is written in quotes";
const QUOTE_SAMPLER: &str = "sources are native, minor, major, external, ocaml, ruby, mmap, arena; any other name is written in quotes";

/// How a name is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operator {
    Exact,
    Contains,
    Regex,
}

/// A name as it was written.
struct Name {
    text: String,
    /// Where its text begins.
    from: usize,
    quote: Option<char>,
}

impl Name {
    /// Where a place of the name is in the filter: a quotation mark in quotes is doubled there.
    fn position(&self, offset: usize) -> usize {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        let doubled = self.quote.map_or(0, |quote| before.matches(quote).count());
        self.from + offset + doubled
    }
}

impl Parser<'_> {
    pub(super) fn thread(&mut self) -> Result<(bool, ThreadClaim), Mistake> {
        let (negated, operator) = self.operator()?;
        let name = self.name()?;
        if operator == Operator::Exact && name.quote.is_none() && is_number(&name.text) {
            let number = name.text.parse().map_err(|_| self.about(&name, Mistake::TooLarge))?;
            return Ok((negated, ThreadClaim::Number(ThreadId(number))));
        }
        Ok((negated, ThreadClaim::Name(self.text(operator, name)?)))
    }

    pub(super) fn source(&mut self) -> Result<(bool, SourceClaim), Mistake> {
        let (negated, operator) = self.operator()?;
        let name = self.name()?;
        if operator == Operator::Exact && name.quote.is_none() {
            let source = known_source(&name.text).ok_or_else(|| {
                self.hint = Some(QUOTE_SAMPLER);
                self.about(&name, Mistake::UnknownSource(clipped(&name.text)))
            })?;
            return Ok((negated, SourceClaim::Known(source)));
        }
        Ok((negated, SourceClaim::Sampler(self.text(operator, name)?)))
    }

    pub(super) fn label(&mut self) -> Result<(bool, LabelClaim), Mistake> {
        self.scanner.skip_space();
        let key = self.key()?;
        self.after_bare_name = false;
        let mut ahead = self.scanner.clone();
        ahead.skip_space();
        ahead.eat("!");
        if !ahead.peek().is_some_and(|next| "=:~".contains(next)) {
            return Ok((false, LabelClaim { key, value: None }));
        }
        let (negated, operator) = self.operator()?;
        let name = self.name()?;
        Ok((negated, LabelClaim { key, value: Some(self.text(operator, name)?) }))
    }

    fn key(&mut self) -> Result<String, Mistake> {
        if self.scanner.peek().is_some_and(|next| next == '"' || next == '\'') {
            return self.name().map(|name| name.text);
        }
        let key = self.scanner.take_while(is_key);
        if key.is_empty() { Err(Mistake::Expected("a label's key")) } else { Ok(key.to_owned()) }
    }

    /// The rest of a term about frames that begins with `word`.
    pub(super) fn frame_pattern(&mut self, word: &str) -> Result<(bool, FramePattern), Mistake> {
        let (negated, operator) = self.operator()?;
        let name = self.name()?;
        self.pattern(word, operator, name).map(|pattern| (negated, pattern))
    }

    fn pattern(
        &mut self,
        word: &str,
        operator: Operator,
        name: Name,
    ) -> Result<FramePattern, Mistake> {
        match word {
            "file" => {
                let (name, line) = self.line_after(operator, name)?;
                Ok(FramePattern::File(self.text(operator, name)?, line))
            }
            "module" => Ok(FramePattern::Module(self.text(operator, name)?)),
            "class" => Ok(FramePattern::Class(self.text(operator, name)?)),
            _ => Ok(FramePattern::Function(self.text(operator, name)?)),
        }
    }

    /// The line behind a file's name: in a name without quotes its end, unless that is a regular
    /// expression.
    fn line_after(
        &mut self,
        operator: Operator,
        name: Name,
    ) -> Result<(Name, Option<u32>), Mistake> {
        let digits = match name.quote {
            Some(_) => {
                let has_line = self.scanner.eat(":");
                let digits = self.scanner.take_while(|next| next.is_ascii_digit());
                if has_line && digits.is_empty() {
                    return Err(Mistake::Expected("a line's number"));
                }
                has_line.then_some(digits.to_owned())
            }
            None if operator == Operator::Regex => None,
            None => split_line(&name.text).1.map(str::to_owned),
        };
        let Some(digits) = digits else { return Ok((name, None)) };
        let line = digits.parse().map_err(|_| self.about(&name, Mistake::TooLarge))?;
        let text = match name.quote {
            Some(_) => name.text,
            None => split_line(&name.text).0.to_owned(),
        };
        if text.is_empty() {
            return Err(Mistake::EmptyName);
        }
        Ok((Name { text, ..name }, Some(line)))
    }

    /// `[fn|file|module|class] [=|:|~] NAME`, up to `;` if so, else to the end. Without an operator it is a
    /// function's exact name.
    pub(super) fn step(&mut self, ends_at_semicolon: bool) -> Result<FramePattern, Mistake> {
        self.scanner.skip_space();
        let word = self.step_word();
        let has_operator = self.scanner.rest().starts_with(['=', '~', ':'])
            && !self.scanner.rest().starts_with("::");
        let operator = if has_operator { self.operator()?.1 } else { Operator::Exact };
        self.scanner.skip_space();
        let name = if self.scanner.rest().starts_with(['"', '\'']) {
            self.quoted_name()?
        } else {
            self.rest_of_step(ends_at_semicolon)?
        };
        let pattern = self.pattern(&word, operator, name)?;
        self.scanner.skip_space();
        Ok(pattern)
    }

    /// What the step is about, if an operator follows: `file::open` is a function.
    fn step_word(&mut self) -> String {
        let mut ahead = self.scanner.clone();
        let word = ahead.word().to_ascii_lowercase();
        ahead.skip_space();
        let has_operator =
            ahead.rest().starts_with(['=', '~', ':']) && !ahead.rest().starts_with("::");
        if !has_operator || !is_frame_word(&word) {
            return "fn".to_owned();
        }
        self.scanner = ahead;
        word
    }

    fn rest_of_step(&mut self, ends_at_semicolon: bool) -> Result<Name, Mistake> {
        let from = self.scanner.at();
        let text = self.scanner.take_while(|next| !(ends_at_semicolon && next == ';')).trim_end();
        if text.is_empty() {
            return Err(Mistake::Expected(A_NAME));
        }
        Ok(Name { text: text.to_owned(), from, quote: None })
    }

    /// Reads an operator, and whether it is negated: `!=`.
    fn operator(&mut self) -> Result<(bool, Operator), Mistake> {
        self.scanner.skip_space();
        let mut ahead = self.scanner.clone();
        let negated = ahead.eat("!");
        let from = ahead.at();
        if ahead.eat("==") || ahead.eat("=~") {
            self.scanner.mark(from..ahead.at());
            return Err(Mistake::Expected(AN_OPERATOR));
        }
        let operator = match () {
            () if ahead.eat("~") => Operator::Regex,
            () if ahead.eat("=") => Operator::Exact,
            () if ahead.eat(":") => Operator::Contains,
            () => return Err(Mistake::Expected(AN_OPERATOR)),
        };
        self.scanner = ahead;
        Ok((negated, operator))
    }

    /// In quotes, or up to the next space.
    fn name(&mut self) -> Result<Name, Mistake> {
        self.scanner.skip_space();
        match self.scanner.peek() {
            Some('"' | '\'') => self.quoted_name(),
            Some(next) if BARE_NEVER_BEGINS.contains(&next) => {
                self.hinted(QUOTE_IT, Mistake::Expected(A_NAME))
            }
            Some(_) => self.bare_name(),
            None => Err(Mistake::Expected(A_NAME)),
        }
    }

    fn bare_name(&mut self) -> Result<Name, Mistake> {
        let from = self.scanner.at();
        let text = self.scanner.up_to_space().to_owned();
        if text.ends_with(',') {
            self.scanner.mark(self.scanner.at() - 1..self.scanner.at());
            return self.hinted(QUOTE_COMMA, Mistake::Comma);
        }
        self.after_bare_name = true;
        Ok(Name { text, from, quote: None })
    }

    /// Between quotation marks; one that is part of the name is doubled.
    fn quoted_name(&mut self) -> Result<Name, Mistake> {
        self.after_bare_name = false;
        let start = self.scanner.at();
        let quote = if self.scanner.peek() == Some('"') { '"' } else { '\'' };
        self.scanner.take_one();
        let (from, mut text) = (self.scanner.at(), String::new());
        let mut mark = [0; 1];
        let mark = &*quote.encode_utf8(&mut mark);
        loop {
            text += self.scanner.take_while(|next| next != quote);
            if !self.scanner.eat(mark) {
                self.scanner.mark(start..start + 1);
                return Err(Mistake::OpenQuote);
            }
            if !self.scanner.eat(mark) {
                break;
            }
            text.push(quote);
        }
        if text.is_empty() {
            self.scanner.mark(start..self.scanner.at());
            return Err(Mistake::EmptyName);
        }
        Ok(Name { text, from, quote: Some(quote) })
    }

    fn text(&mut self, operator: Operator, name: Name) -> Result<Text, Mistake> {
        match operator {
            Operator::Exact => Ok(Text::Exact(name.text)),
            Operator::Contains => Ok(Text::Contains(name.text)),
            Operator::Regex => match Pattern::new(&name.text) {
                Ok(pattern) => Ok(Text::Regex(pattern)),
                Err((mistake, Some(span))) => {
                    self.scanner.mark(name.position(span.start)..name.position(span.end));
                    Err(mistake)
                }
                Err((mistake, None)) => Err(self.about(&name, mistake)),
            },
        }
    }

    /// A mistake in all of a name.
    fn about(&mut self, name: &Name, mistake: Mistake) -> Mistake {
        self.scanner.mark(name.from..name.position(name.text.len()));
        mistake
    }
}

fn known_source(name: &str) -> Option<KnownSource> {
    KnownSource::ALL.into_iter().find(|source| source.name().eq_ignore_ascii_case(name))
}
