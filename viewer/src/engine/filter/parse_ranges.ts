// From text to ranges: of time, of sizes, of spans of time.

import { Wrong, expected } from "../grammar/mistake";
import { A_SIZE, A_SPAN, size, span } from "../grammar/quantity";
import type { Span } from "../grammar/quantity";
import { isDigit, isSpace, type Scanner } from "../grammar/scan";
import { A_MOMENT, moment, neverPrecedes } from "./moment";
import type { Parser } from "./parse";
import type { Claim, Limits, Moment, When } from "./term";

const A_WHEN = "at, before, after or a range of moments, such as `before 10s` or `10s..end-5s`";
const A_COMPARISON = "<, <=, =, >=, > or a range, such as `>=64KiB` or `1ms..10ms`";
const A_RANGE_OF_TIME = "a range of moments, such as `10s..end-5s`";
const A_RANGE = "`..` and the other end of a range";
const NO_NEGATIVE = "end-10s is ten seconds before the end, start-10s before the start";
const NO_SPACE = "there is no space around the `..`";
const SINGLE_MOMENT = "a single moment has a word before it: at, before or after";
const SINGLE_VALUE = "a single value has an operator before it: <, <=, =, >= or >";
const ONE_EQUALS = "equality is written with one =";
const TURNED = "the operators are written <= and >=";

type Read<T> = (scanner: Scanner) => T;
type IsEmpty<T> = (first: T, second: T) => boolean;
type Range<T> = { first: T | null; second: T | null; isSingle: boolean };

/** Where nothing but a moment or a range of them can follow. */
export function when(parser: Parser): When {
  const worded = wordedWhen(parser);
  if (worded !== null) return worded;
  const found = range(parser, A_WHEN, moment, neverPrecedes);
  if (found.isSingle) throw notSingle(parser, SINGLE_MOMENT);
  const { first, second } = found;
  if (first !== null && second !== null) return { kind: "between", moment: first, until: second };
  return first !== null ? { kind: "after", moment: first } : { kind: "before", moment: second! };
}

/** Where another term can follow as well: `freed peak` are two. */
export function optionalWhen(parser: Parser): When | null {
  const worded = wordedWhen(parser);
  if (worded !== null) return worded;
  const ahead = parser.scanner.copy();
  ahead.skipSpace();
  const begins = ahead.startsWith("..") || isDigit(ahead.peek()) || ahead.peek() === "+";
  return begins || isMomentAndDots(ahead) ? when(parser) : null;
}

function isMomentAndDots(ahead: Scanner): boolean {
  try {
    moment(ahead);
    return ahead.startsWith("..");
  } catch (wrong) {
    if (!(wrong instanceof Wrong)) throw wrong;
    return false;
  }
}

function wordedWhen(parser: Parser): When | null {
  for (const kind of ["at", "before", "after"] as const) {
    if (parser.scanner.eatWord(kind)) return { kind, moment: value<Moment>(parser, A_MOMENT, moment) };
  }
  refuseBetween(parser, A_RANGE_OF_TIME);
  return null;
}

export function sizes(parser: Parser): [boolean, Claim] {
  const [negated, found] = limits(parser, A_SIZE, size, (first, second) => first >= second);
  return [negated, { is: "size", limits: found }];
}

export function lifetimes(parser: Parser): [boolean, Claim] {
  const isEmpty = (first: Span, second: Span) => first.kind === second.kind && first.value >= second.value;
  const [negated, found] = limits(parser, A_SPAN, span, isEmpty);
  return [negated, { is: "lifetime", limits: found }];
}

/** An operator and a value, or a range. */
function limits<T>(parser: Parser, what: string, read: Read<T>, isEmpty: IsEmpty<T>): [boolean, Limits<T>] {
  const { scanner } = parser;
  parser.afterBareName = false;
  scanner.skipSpace();
  for (const kind of ["<=", "<", ">=", ">"] as const) {
    if (scanner.eat(kind)) return [false, { kind, value: value(parser, what, read) }];
  }
  if (scanner.eat("!=")) return [true, { kind: "=", value: value(parser, what, read) }];
  if (scanner.eat("=")) return [false, equalOrRange(parser, what, read, isEmpty)];
  refuseBetween(parser, A_COMPARISON);
  return [false, bareRange(parser, read, isEmpty)];
}

function equalOrRange<T>(parser: Parser, what: string, read: Read<T>, isEmpty: IsEmpty<T>): Limits<T> {
  const next = parser.scanner.peek();
  const hint = next === "=" ? ONE_EQUALS : next === "<" || next === ">" ? TURNED : null;
  if (hint !== null) throw parser.hinted(hint, expected(what));
  const { first, second, isSingle } = range(parser, what, read, isEmpty);
  if (isSingle) return { kind: "=", value: first! };
  if (first !== null && second !== null) return { kind: "between", value: first, below: second };
  return first !== null ? { kind: ">=", value: first } : { kind: "<", value: second! };
}

/** A range that no operator announces. */
function bareRange<T>(parser: Parser, read: Read<T>, isEmpty: IsEmpty<T>): Limits<T> {
  const next = parser.scanner.peek();
  if (!isDigit(next) && next !== ".") throw expected(A_COMPARISON);
  const found = equalOrRange(parser, A_COMPARISON, read, isEmpty);
  if (found.kind === "=") throw notSingle(parser, SINGLE_VALUE);
  return found;
}

/** `between A and B` is `A..B` here. */
function refuseBetween(parser: Parser, what: string): void {
  const ahead = parser.scanner.copy();
  ahead.skipSpace();
  const from = ahead.at;
  if (!ahead.eatWord("between")) return;
  parser.scanner.mark(from, ahead.at);
  throw expected(what);
}

/** There is only one value where a range was to be. */
function notSingle(parser: Parser, hint: string): Wrong {
  const isSpaced = parser.scanner.rest().trimStart().startsWith("..");
  return parser.hinted(isSpaced ? NO_SPACE : hint, expected(A_RANGE));
}

/** `A..B`, `A..`, `..B` or `A`; there is no space around the `..`. */
function range<T>(parser: Parser, what: string, read: Read<T>, isEmpty: IsEmpty<T>): Range<T> {
  const { scanner } = parser;
  scanner.skipSpace();
  const from = scanner.at;
  if (scanner.eat("..")) return { first: null, second: value(parser, what, read), isSingle: false };
  const first = value(parser, what, read);
  if (!scanner.eat("..")) return { first, second: null, isSingle: true };
  const next = scanner.peek();
  if (next === "" || isSpace(next)) return { first, second: null, isSingle: false };
  const second = value(parser, what, read);
  // A range of which it is clear that nothing can be in it is a slip of the pen.
  if (isEmpty(first, second)) {
    scanner.mark(from, scanner.at);
    throw new Wrong("the range is empty: it does not end after its start");
  }
  return { first, second, isSingle: false };
}

/** What `read` reads, after any space; `what` says what that is. */
function value<T>(parser: Parser, what: string, read: Read<T>): T {
  const { scanner } = parser;
  parser.afterBareName = false;
  scanner.skipSpace();
  const from = scanner.at;
  try {
    return read(scanner);
  } catch (wrong) {
    if (!(wrong instanceof Wrong)) throw wrong;
    const isMissing = wrong.message.startsWith("expected ");
    if (isMissing && from === scanner.at) {
      parser.hint = scanner.peek() === "-" && what === A_MOMENT ? NO_NEGATIVE : null;
      throw expected(what);
    }
    if (!isMissing) scanner.blameSince(from);
    throw wrong;
  }
}
