//! From text to gates: `METRIC OP QUANTITY`. `docs/reports.md` has the grammar.

use std::str::FromStr;

use super::{ChangeGate, Gate, Limit, Margin, Measure, Op, Per};
use crate::filter::{Mistake, ParseError};
use crate::grammar::error::clipped;
use crate::grammar::quantity::{A_COUNT, A_SIZE, Number, count, size, unit};
use crate::grammar::scan::Scanner;
use crate::grammar::suggest;

const AN_OPERATOR: &str = "an operator: >, >=, < or <=";
const A_RATE: &str = "a size by time, such as 1MB/h";
const BY_TIME: &str = "`/` and a unit of time (s, min, h, d), such as 1MB/h";
const A_SIGN: &str = "+ or -, as in +5% or -10MB";
const A_SHARE: &str = "a share or a size, such as +5% or +10MB";
const A_SHARE_OF_OBJECTS: &str = "a share or a number, such as +5% or +1000";
const THE_END: &str = "the end of the condition";

const METRICS: &str = "metrics are live, leaked, allocated, peak, objects, growth";
const METRICS_OF_CHANGES: &str = "metrics are live, leaked, allocated, peak, objects";
const NEVER_EQUAL: &str = "an estimate is never exactly equal; operators are >, >=, < and <=";
const TURNED: &str = "the operators are written >= and <=";
const OF_ONE_TRACE: &str =
    "growth is a condition on one trace: lifetrace report TRACE --fail-if 'growth > 1MB/h'";
const OF_TWO_TRACES: &str =
    "changes are conditions on two traces: lifetrace diff BEFORE AFTER --fail-if 'allocated > +5%'";
const OF_THE_CHANGE: &str =
    "a condition of a diff is about the change: +10MB is 10MB more than before";
const ONE_EACH: &str = "each condition has a --fail-if of its own";

const TIMES: [(&str, u64); 8] =
    [("s", 0), ("sec", 0), ("min", 1), ("m", 1), ("h", 2), ("hour", 2), ("d", 3), ("day", 3)];

const MILLIONTHS_IN_A_PERCENT: u64 = 10_000;
const ALL: u64 = 100 * MILLIONTHS_IN_A_PERCENT;

impl FromStr for Gate {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Parser::read(text, Parser::gate)
    }
}

impl FromStr for ChangeGate {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Parser::read(text, Parser::change)
    }
}

struct Parser<'t> {
    scanner: Scanner<'t>,
    /// What a metric may be.
    measures: &'static [Measure],
    hint: Option<&'static str>,
}

impl<'t> Parser<'t> {
    fn read<T>(text: &'t str, gate: fn(&mut Self) -> Result<T, Mistake>) -> Result<T, ParseError> {
        let mut parser = Self { scanner: Scanner::new(text), measures: &[], hint: None };
        let gate = gate(&mut parser).and_then(|gate| parser.end().map(|()| gate));
        gate.map_err(|mistake| parser.error(text, mistake))
    }

    fn error(&self, text: &str, mistake: Mistake) -> ParseError {
        let names = self.measures.iter().map(|measure| measure.name());
        let suggestion = match &mistake {
            Mistake::UnknownMetric(word) => suggest::meant(word, names),
            _ => None,
        };
        ParseError {
            text: text.to_owned(),
            span: self.scanner.blame(),
            suggestion,
            hint: self.hint.filter(|_| suggestion.is_none()),
            mistake,
        }
    }

    fn gate(&mut self) -> Result<Gate, Mistake> {
        self.measures = &Measure::ALL;
        let (measure, op) = (self.measure(METRICS)?, self.op()?);
        if self.scanner.peek().is_some_and(|next| next == '+' || next == '-') {
            let expected = expected(measure);
            return self.hinted(OF_TWO_TRACES, Mistake::Expected(expected));
        }
        let limit = match measure {
            Measure::Objects => Limit::Objects(self.value(count)?),
            Measure::Growth => self.rate()?,
            _ => Limit::Bytes(self.value(size)?),
        };
        Ok(Gate { measure, op, limit })
    }

    fn change(&mut self) -> Result<ChangeGate, Mistake> {
        self.measures = &Measure::OF_CHANGES;
        let (measure, op) = (self.measure(METRICS_OF_CHANGES)?, self.op()?);
        let is_fall = match self.scanner.peek() {
            Some('+') => false,
            Some('-') => true,
            _ => return self.hinted(OF_THE_CHANGE, Mistake::Expected(A_SIGN)),
        };
        self.scanner.take_one();
        self.scanner.skip_space();
        let margin = self.margin(measure, is_fall)?;
        let is_nothing =
            matches!(margin, Margin::Share(0) | Margin::Objects(0)) || margin.is_no_byte();
        Ok(ChangeGate { measure, op, is_fall: is_fall && !is_nothing, margin })
    }

    fn measure(&mut self, all: &'static str) -> Result<Measure, Mistake> {
        self.scanner.skip_space();
        let from = self.scanner.at();
        let word = self.scanner.word().to_ascii_lowercase();
        let found = self.measures.iter().find(|measure| measure.name() == word);
        if let Some(&measure) = found {
            self.scanner.skip_space();
            return Ok(measure);
        }
        if word.is_empty() {
            self.scanner.up_to_space();
        }
        if self.scanner.at() == from {
            return self.hinted(all, Mistake::Expected("a metric"));
        }
        let is_elsewhere = word == Measure::Growth.name();
        self.scanner.mark(from..self.scanner.at());
        let unknown = clipped(self.scanner.since(from));
        self.hinted(if is_elsewhere { OF_ONE_TRACE } else { all }, Mistake::UnknownMetric(unknown))
    }

    fn op(&mut self) -> Result<Op, Mistake> {
        let ops = [Op::AtLeast, Op::Above, Op::AtMost, Op::Below];
        let Some(op) = ops.into_iter().find(|op| self.scanner.eat(op.sign())) else {
            self.hint = self.scanner.rest().starts_with(['=', '!']).then_some(NEVER_EQUAL);
            if ["=>", "=<"].iter().any(|turned| self.scanner.rest().starts_with(turned)) {
                self.hint = Some(TURNED);
            }
            return Err(Mistake::Expected(AN_OPERATOR));
        };
        self.scanner.skip_space();
        Ok(op)
    }

    /// Bytes by time; 0 needs no unit.
    fn rate(&mut self) -> Result<Limit, Mistake> {
        if !self.scanner.peek().is_some_and(|next| next.is_ascii_digit()) {
            return Err(Mistake::Expected(A_RATE));
        }
        let bytes = self.value(size)?;
        self.scanner.skip_space();
        if bytes.0.0 == 0 && self.scanner.is_at_end() {
            return Ok(Limit::Rate { bytes, per: Per::Hour });
        }
        if !self.scanner.eat("/") {
            return Err(Mistake::Expected(BY_TIME));
        }
        let time = unit(&mut self.scanner, &TIMES)?.ok_or(Mistake::Expected(BY_TIME))?;
        Ok(Limit::Rate { bytes, per: Per::ALL[time as usize] })
    }

    fn margin(&mut self, measure: Measure, is_fall: bool) -> Result<Margin, Mistake> {
        let from = self.scanner.at();
        let mut ahead = self.scanner.clone();
        let expected = if measure == Measure::Objects { A_SHARE_OF_OBJECTS } else { A_SHARE };
        let number = Number::scan(&mut ahead, expected)?;
        ahead.skip_space();
        if ahead.eat("%") {
            self.scanner = ahead;
            return self.share(number, is_fall, from).map(Margin::Share);
        }
        match measure {
            Measure::Objects => self.value(count).map(Margin::Objects),
            _ => self.value(size).map(Margin::Bytes),
        }
    }

    /// Nothing can fall by more than all.
    fn share(&mut self, number: Number<'_>, is_fall: bool, from: usize) -> Result<u64, Mistake> {
        let share = number.times(MILLIONTHS_IN_A_PERCENT, "millionths");
        let share = share.and_then(|share| match is_fall && share > ALL {
            true => Err(Mistake::MoreThanAll),
            false => Ok(share),
        });
        share.inspect_err(|_| self.scanner.blame_since(from))
    }

    fn value<T>(&mut self, read: fn(&mut Scanner<'_>) -> Result<T, Mistake>) -> Result<T, Mistake> {
        let from = self.scanner.at();
        let value = read(&mut self.scanner);
        value.inspect_err(|mistake| {
            if !matches!(mistake, Mistake::Expected(_)) {
                self.scanner.blame_since(from);
            }
        })
    }

    fn end(&mut self) -> Result<(), Mistake> {
        self.scanner.skip_space();
        let next = self.scanner.peek();
        if next.is_none() {
            return Ok(());
        }
        let hint = if next == Some('%') { OF_TWO_TRACES } else { ONE_EACH };
        self.hinted(hint, Mistake::Expected(THE_END))
    }

    fn hinted<T>(&mut self, hint: &'static str, mistake: Mistake) -> Result<T, Mistake> {
        self.hint = Some(hint);
        Err(mistake)
    }
}

impl Margin {
    fn is_no_byte(self) -> bool {
        matches!(self, Self::Bytes(bytes) if bytes.0.0 == 0)
    }
}

fn expected(measure: Measure) -> &'static str {
    match measure {
        Measure::Objects => A_COUNT,
        Measure::Growth => A_RATE,
        _ => A_SIZE,
    }
}
