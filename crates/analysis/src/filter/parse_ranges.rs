//! From text to ranges: of time, of sizes, of spans of time.

use super::error::Mistake;
use super::moment::{A_MOMENT, Moment, moment};
use super::parse::Parser;
use super::quantity::{A_SIZE, A_SPAN, ByteSize, Span, size, span};
use super::scan::Scanner;
use super::window::{Limits, When};

const A_WHEN: &str =
    "at, before, after or a range of moments, such as `before 10s` or `10s..end-5s`";
const A_COMPARISON: &str = "<, <=, =, >=, > or a range, such as `>=64KiB` or `1ms..10ms`";
const A_RANGE_OF_TIME: &str = "a range of moments, such as `10s..end-5s`";
const A_RANGE: &str = "`..` and the other end of a range";
const NO_NEGATIVE: &str = "end-10s is ten seconds before the end, start-10s before the start";
const NO_SPACE: &str = "there is no space around the `..`";
const SINGLE_MOMENT: &str = "a single moment has a word before it: at, before or after";
const SINGLE_VALUE: &str = "a single value has an operator before it: <, <=, =, >= or >";
const ONE_EQUALS: &str = "equality is written with one =";
const TURNED: &str = "the operators are written <= and >=";

/// What makes limits of a value.
type Make<T> = fn(T) -> Limits<T>;

/// Where a range begins and ends.
enum Range<T> {
    From(T),
    To(T),
    Both(T, T),
    Single(T),
}

impl Parser<'_> {
    /// Where nothing but a moment or a range of them can follow.
    pub(super) fn when(&mut self) -> Result<When, Mistake> {
        match self.worded_when()? {
            Some(when) => Ok(when),
            None => self.range_of_moments(A_WHEN)?.or_else(|_| self.not_single(SINGLE_MOMENT)),
        }
    }

    /// Where another term can follow as well: `freed peak` are two.
    pub(super) fn optional_when(&mut self) -> Result<Option<When>, Mistake> {
        if let Some(when) = self.worded_when()? {
            return Ok(Some(when));
        }
        let mut ahead = self.scanner.clone();
        ahead.skip_space();
        let is_range = ahead.rest().starts_with("..")
            || ahead.peek().is_some_and(|next| next.is_ascii_digit() || next == '+')
            || moment(&mut ahead).is_ok() && ahead.rest().starts_with("..");
        if is_range { self.when().map(Some) } else { Ok(None) }
    }

    fn worded_when(&mut self) -> Result<Option<When>, Mistake> {
        Ok(Some(if self.scanner.eat_word("at") {
            When::At(self.moment()?)
        } else if self.scanner.eat_word("before") {
            When::Before(self.moment()?)
        } else if self.scanner.eat_word("after") {
            When::After(self.moment()?)
        } else {
            self.refuse_between(A_RANGE_OF_TIME)?;
            return Ok(None);
        }))
    }

    /// `A..B`, `A..` or `..B`; the moment if there is only one.
    fn range_of_moments(
        &mut self,
        expected: &'static str,
    ) -> Result<Result<When, Moment>, Mistake> {
        let range = self.range(expected, moment, Moment::never_precedes)?;
        Ok(match range {
            Range::From(first) => Ok(When::After(first)),
            Range::To(second) => Ok(When::Before(second)),
            Range::Both(first, second) => Ok(When::Between(first, second)),
            Range::Single(moment) => Err(moment),
        })
    }

    fn moment(&mut self) -> Result<Moment, Mistake> {
        self.value(A_MOMENT, moment)
    }

    pub(super) fn sizes(&mut self) -> Result<(bool, Limits<ByteSize>), Mistake> {
        self.limits(A_SIZE, size, |first, second| first >= second)
    }

    pub(super) fn spans(&mut self) -> Result<(bool, Limits<Span>), Mistake> {
        self.limits(A_SPAN, span, |first, second| match (first, second) {
            (Span::Time(first), Span::Time(second)) => first >= second,
            (Span::Share(first), Span::Share(second)) => first >= second,
            _ => false,
        })
    }

    /// An operator and a value, or a range.
    fn limits<T: Copy>(
        &mut self,
        expected: &'static str,
        read: fn(&mut Scanner<'_>) -> Result<T, Mistake>,
        is_empty: fn(T, T) -> bool,
    ) -> Result<(bool, Limits<T>), Mistake> {
        self.after_bare_name = false;
        self.scanner.skip_space();
        let operators: [(&str, Make<T>); 4] = [
            ("<=", Limits::AtMost),
            ("<", Limits::Below),
            (">=", Limits::AtLeast),
            (">", Limits::Above),
        ];
        if let Some((_, limits)) = operators.into_iter().find(|(token, _)| self.scanner.eat(token))
        {
            return Ok((false, limits(self.value(expected, read)?)));
        }
        if self.scanner.eat("!=") {
            return Ok((true, Limits::Equal(self.value(expected, read)?)));
        }
        if self.scanner.eat("=") {
            return Ok((false, self.equal_or_range(expected, read, is_empty)?));
        }
        self.refuse_between(A_COMPARISON)?;
        Ok((false, self.bare_range(read, is_empty)?))
    }

    fn equal_or_range<T: Copy>(
        &mut self,
        expected: &'static str,
        read: fn(&mut Scanner<'_>) -> Result<T, Mistake>,
        is_empty: fn(T, T) -> bool,
    ) -> Result<Limits<T>, Mistake> {
        let hint = match self.scanner.peek() {
            Some('<' | '>') => Some(TURNED),
            Some('=') => Some(ONE_EQUALS),
            _ => None,
        };
        if let Some(hint) = hint {
            return self.hinted(hint, Mistake::Expected(expected));
        }
        Ok(match self.range(expected, read, is_empty)? {
            Range::From(first) => Limits::AtLeast(first),
            Range::To(second) => Limits::Below(second),
            Range::Both(first, second) => Limits::Between(first, second),
            Range::Single(value) => Limits::Equal(value),
        })
    }

    /// A range that no operator announces.
    fn bare_range<T: Copy>(
        &mut self,
        read: fn(&mut Scanner<'_>) -> Result<T, Mistake>,
        is_empty: fn(T, T) -> bool,
    ) -> Result<Limits<T>, Mistake> {
        let begins = |next: char| next.is_ascii_digit() || next == '.';
        if !self.scanner.peek().is_some_and(begins) {
            return Err(Mistake::Expected(A_COMPARISON));
        }
        match self.equal_or_range(A_COMPARISON, read, is_empty)? {
            Limits::Equal(_) => self.not_single(SINGLE_VALUE),
            limits => Ok(limits),
        }
    }

    /// `between A and B` is `A..B` here.
    fn refuse_between(&mut self, expected: &'static str) -> Result<(), Mistake> {
        let mut ahead = self.scanner.clone();
        ahead.skip_space();
        let from = ahead.at();
        if !ahead.eat_word("between") {
            return Ok(());
        }
        self.scanner.mark(from..ahead.at());
        Err(Mistake::Expected(expected))
    }

    /// There is only one value where a range was to be.
    fn not_single<T>(&mut self, hint: &'static str) -> Result<T, Mistake> {
        let is_spaced = self.scanner.rest().trim_start().starts_with("..");
        self.hinted(if is_spaced { NO_SPACE } else { hint }, Mistake::Expected(A_RANGE))
    }

    /// `A..B`, `A..`, `..B` or `A`; there is no space around the `..`.
    fn range<T: Copy>(
        &mut self,
        expected: &'static str,
        read: fn(&mut Scanner<'_>) -> Result<T, Mistake>,
        is_empty: fn(T, T) -> bool,
    ) -> Result<Range<T>, Mistake> {
        self.scanner.skip_space();
        let from = self.scanner.at();
        if self.scanner.eat("..") {
            return self.value(expected, read).map(Range::To);
        }
        let first = self.value(expected, read)?;
        if !self.scanner.eat("..") {
            return Ok(Range::Single(first));
        }
        if self.scanner.peek().is_none_or(char::is_whitespace) {
            return Ok(Range::From(first));
        }
        let second = self.value(expected, read)?;
        self.ordered(from, first, second, is_empty)?;
        Ok(Range::Both(first, second))
    }

    /// A range of which it is clear that nothing can be in it is a slip of the pen.
    fn ordered<T>(
        &mut self,
        from: usize,
        first: T,
        second: T,
        is_empty: fn(T, T) -> bool,
    ) -> Result<(), Mistake> {
        if !is_empty(first, second) {
            return Ok(());
        }
        self.scanner.mark(from..self.scanner.at());
        Err(Mistake::EmptyRange)
    }

    /// What `read` reads, after any space; `expected` says what that is.
    fn value<T>(
        &mut self,
        expected: &'static str,
        read: fn(&mut Scanner<'_>) -> Result<T, Mistake>,
    ) -> Result<T, Mistake> {
        self.after_bare_name = false;
        self.scanner.skip_space();
        let from = self.scanner.at();
        read(&mut self.scanner).map_err(|mistake| {
            let is_missing = matches!(mistake, Mistake::Expected(_));
            let next = self.scanner.peek();
            if is_missing && from == self.scanner.at() {
                self.hint = (next == Some('-') && expected == A_MOMENT).then_some(NO_NEGATIVE);
                return Mistake::Expected(expected);
            }
            if !is_missing {
                self.scanner.blame_since(from);
            }
            mistake
        })
    }
}
