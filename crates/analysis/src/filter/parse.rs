//! From text to terms. `docs/filters.md` has the grammar.
//!
//! No tokens are made beforehand, since what ends a word depends on what it is: a name goes on to
//! the next space, a moment to the next `..`.

use super::error::{Mistake, ParseError, clipped};
use super::presets::Preset;
use super::scan::Scanner;
use super::suggest;
use super::term::{Claim, FrameClaim, KnownSource, Term};
use super::{MAX_TERMS, moment};

const A_FRAME_TERM: &str = "fn, file or module";

const TERMS: [&str; 16] = [
    "allocated",
    "freed",
    "alive",
    "promoted",
    "in",
    "size",
    "lifetime",
    "fn",
    "file",
    "module",
    "class",
    "innermost",
    "thread",
    "source",
    "label",
    "not",
];
const ALL_TERMS: &str = "\
terms are allocated, freed, alive, promoted, in old heap, size, lifetime, fn, file, module, class, thread, source, label;
  presets are leaks, temporary, long-lived, churn, premature, peak, deserialised";

const NEGATION: &str = "what must not hold has `not` before it, as in `not leaks`";
const NO_BRACKETS: &str = "all terms must hold, and there are no brackets";
const NO_OR: &str =
    "all terms must hold; for one name or another there are regular expressions, as in fn~foo|bar";
const NO_COMMA: &str = "terms are separated by spaces";
const JOINTS: &str = "terms are joined by a space or by `and`";
const QUOTES: &str = "a name with spaces is written in quotes, as in fn=\"operator new\"";

/// What has been read, and what would help if the next thing cannot be.
pub(super) struct Parser<'t> {
    pub(super) scanner: Scanner<'t>,
    pub(super) hint: Option<&'static str>,
    /// Whether the last term ended in a name without quotes.
    pub(super) after_bare_name: bool,
}

/// Appends the terms of `text`.
pub(super) fn terms(text: &str, terms: &mut Vec<Term>) -> Result<(), ParseError> {
    let mut parser = Parser::new(text);
    parser.conjunction(terms).map_err(|mistake| parser.error(text, mistake))
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { scanner: Scanner::new(text), hint: None, after_bare_name: false }
    }

    pub(super) fn error(&self, text: &str, mistake: Mistake) -> ParseError {
        let suggestion = suggestion(&mistake);
        ParseError {
            text: text.to_owned(),
            span: self.scanner.blame(),
            suggestion,
            hint: self.hint.filter(|_| suggestion.is_none()),
            mistake,
        }
    }

    /// A mistake that something helps against.
    pub(super) fn hinted<T>(&mut self, hint: &'static str, mistake: Mistake) -> Result<T, Mistake> {
        self.hint = Some(hint);
        Err(mistake)
    }

    fn conjunction(&mut self, terms: &mut Vec<Term>) -> Result<(), Mistake> {
        self.scanner.skip_space();
        while !self.scanner.is_at_end() {
            if terms.len() == MAX_TERMS {
                return Err(Mistake::TooManyTerms(MAX_TERMS));
            }
            terms.push(self.term()?);
            self.end_of_term()?;
            let is_followed = self.scanner.eat_word("and");
            self.scanner.skip_space();
            if is_followed && self.scanner.is_at_end() {
                return self.hinted(ALL_TERMS, Mistake::Expected("a term after `and`"));
            }
        }
        Ok(())
    }

    fn end_of_term(&mut self) -> Result<(), Mistake> {
        match self.scanner.peek() {
            None => Ok(()),
            Some(next) if next.is_whitespace() => Ok(()),
            Some(next) => {
                self.hint = (next == ',').then_some(NO_COMMA);
                Err(Mistake::Expected("a space or the end"))
            }
        }
    }

    fn term(&mut self) -> Result<Term, Mistake> {
        let negated = self.negations();
        if negated && self.scanner.is_at_end() {
            return self.hinted(ALL_TERMS, Mistake::Expected("a term after `not`"));
        }
        let from = self.scanner.at();
        let word = self.scanner.word().to_ascii_lowercase();
        let (negated_inside, claim) = self.claim(&word, from)?;
        Ok(Term { negated: negated ^ negated_inside, claim })
    }

    /// Whether there is an odd number of them.
    fn negations(&mut self) -> bool {
        let mut negated = false;
        while self.scanner.eat_word("not") {
            negated ^= true;
            self.scanner.skip_space();
        }
        negated
    }

    /// The rest of the term that begins with `word`, and whether an operator in it negates it.
    fn claim(&mut self, word: &str, from: usize) -> Result<(bool, Claim), Mistake> {
        let claim = match word {
            "allocated" => Claim::Allocated(self.when()?),
            "alive" => Claim::Alive(self.when()?),
            "freed" => Claim::Freed(self.optional_when()?),
            "promoted" => Claim::Promoted(self.optional_when()?),
            "in" => self.in_old_heap()?,
            "size" => return Ok(self.sizes()?.map_second(Claim::Size)),
            "lifetime" => return Ok(self.spans()?.map_second(Claim::Lifetime)),
            "thread" => return Ok(self.thread()?.map_second(Claim::Thread)),
            "source" => return Ok(self.source()?.map_second(Claim::Source)),
            "label" => return Ok(self.label()?.map_second(Claim::Label)),
            "innermost" => return self.innermost(),
            _ if is_frame_word(word) => return self.frame(word, false),
            _ => match Preset::named(word) {
                Some(preset) => Claim::Preset(preset),
                None => return self.unknown_term(from),
            },
        };
        self.after_bare_name = false;
        Ok((false, claim))
    }

    fn in_old_heap(&mut self) -> Result<Claim, Mistake> {
        self.scanner.skip_space();
        let is_old = self.scanner.eat_word("old");
        self.scanner.skip_space();
        if is_old && self.scanner.eat_word("heap") {
            return Ok(Claim::InOldHeap);
        }
        Err(Mistake::Expected("`old heap`"))
    }

    fn innermost(&mut self) -> Result<(bool, Claim), Mistake> {
        self.scanner.skip_space();
        let mut ahead = self.scanner.clone();
        let word = ahead.word().to_ascii_lowercase();
        // An object's class is no callsite.
        if !is_frame_word(&word) || word == "class" {
            return Err(Mistake::Expected(A_FRAME_TERM));
        }
        self.scanner = ahead;
        self.frame(&word, true)
    }

    fn frame(&mut self, word: &str, innermost: bool) -> Result<(bool, Claim), Mistake> {
        let (negated, pattern) = self.frame_pattern(word)?;
        Ok((negated, Claim::Frame(FrameClaim { innermost, pattern })))
    }

    fn unknown_term<T>(&mut self, from: usize) -> Result<T, Mistake> {
        if self.scanner.eat("!") {
            self.scanner.mark(from..self.scanner.at());
            return self.hinted(NEGATION, Mistake::UnknownTerm("!".to_owned()));
        }
        if self.scanner.at() == from {
            self.scanner.up_to_space();
        }
        let word = self.scanner.since(from);
        self.scanner.mark(from..self.scanner.at());
        let hint = match word.to_ascii_lowercase().as_str() {
            "or" | "|" | "||" => NO_OR,
            "and" | "&" | "&&" => JOINTS,
            "," => NO_COMMA,
            "(" | ")" => NO_BRACKETS,
            _ if self.after_bare_name => QUOTES,
            word if word.starts_with(['(', ')']) => NO_BRACKETS,
            _ => ALL_TERMS,
        };
        self.hinted(hint, Mistake::UnknownTerm(clipped(word)))
    }
}

/// The second of a pair, made into something else.
trait MapSecond<T> {
    fn map_second<U>(self, into: impl FnOnce(T) -> U) -> (bool, U);
}

impl<T> MapSecond<T> for (bool, T) {
    fn map_second<U>(self, into: impl FnOnce(T) -> U) -> (bool, U) {
        (self.0, into(self.1))
    }
}

pub(super) fn is_frame_word(word: &str) -> bool {
    matches!(word, "fn" | "file" | "module" | "class")
}

fn suggestion(mistake: &Mistake) -> Option<&'static str> {
    match mistake {
        Mistake::UnknownTerm(word) => {
            let presets = Preset::ALL.into_iter().map(Preset::name);
            suggest::meant(word, TERMS.into_iter().chain(presets))
        }
        Mistake::UnknownMoment(word) => suggest::meant(word, moment::words()),
        Mistake::UnknownSource(word) => {
            suggest::meant(word, KnownSource::ALL.into_iter().map(KnownSource::name))
        }
        _ => None,
    }
}
