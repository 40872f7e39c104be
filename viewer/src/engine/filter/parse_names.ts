// From text to what names must be like: functions, files, threads, sources, labels.

import { Wrong, clipped, expected } from "../grammar/mistake";
import { isDigit, isLetter, isSpace, type Scanner } from "../grammar/scan";
import type { Parser } from "./parse";
import { compile } from "./regex";
import { BARE_NEVER_BEGINS, type Claim, type FramePattern, SOURCES, splitLine, type Text } from "./term";

const A_NAME = "a name";
const AN_OPERATOR = "= (exactly), : (contains) or ~ (regular expression) and a name";
const QUOTE_IT = "a name that begins with = : ~ or ! is written in quotes";
const QUOTE_COMMA = "terms are separated by spaces; a name that ends with a comma is written in quotes";
const QUOTE_SAMPLER =
  "sources are native, minor, major, external, ocaml, ruby, mmap, arena; any other name is written in quotes";

type Operator = Text["operator"];
export type FrameWord = FramePattern["about"];

/** A name as it was written. */
interface Name {
  text: string;
  /** Where its text begins. */
  from: number;
  quote: string | null;
}

export function isFrameWord(word: string): word is FrameWord {
  return word === "fn" || word === "file" || word === "module" || word === "class";
}

export function thread(parser: Parser): [boolean, Claim] {
  const [negated, how] = operator(parser);
  const read = name(parser);
  if (how === "=" && read.quote === null && /^[0-9]*$/.test(read.text)) {
    return [negated, { is: "thread", number: u32(parser, read, read.text) }];
  }
  return [negated, { is: "thread name", name: text(parser, how, read) }];
}

export function source(parser: Parser): [boolean, Claim] {
  const [negated, how] = operator(parser);
  const read = name(parser);
  if (how !== "=" || read.quote !== null) return [negated, { is: "sampler", name: text(parser, how, read) }];
  const known = SOURCES.find((it) => it === read.text.toLowerCase());
  if (known === undefined) {
    const word = clipped(read.text);
    parser.hint = QUOTE_SAMPLER;
    throw about(parser, read, new Wrong(`unknown source \`${word}\``, "source", word));
  }
  return [negated, { is: "source", source: known }];
}

export function label(parser: Parser): [boolean, Claim] {
  const { scanner } = parser;
  scanner.skipSpace();
  const isKey = (next: string) => isLetter(next) || /^[\p{N}\-_./]$/u.test(next);
  const key = scanner.isNext("\"'") ? name(parser).text : scanner.takeWhile(isKey);
  if (key === "") throw expected("a label's key");
  parser.afterBareName = false;
  const ahead = scanner.copy();
  ahead.skipSpace();
  ahead.eat("!");
  if (!ahead.isNext("=:~")) return [false, { is: "label", key, value: null }];
  const [negated, how] = operator(parser);
  return [negated, { is: "label", key, value: text(parser, how, name(parser)) }];
}

/** The rest of a term about frames that begins with `word`. */
export function framePattern(parser: Parser, word: FrameWord): [boolean, FramePattern] {
  const [negated, how] = operator(parser);
  return [negated, pattern(parser, word, how, name(parser))];
}

function pattern(parser: Parser, word: FrameWord, how: Operator, read: Name): FramePattern {
  if (word !== "file") return { about: word, name: text(parser, how, read) };
  const [file, line] = lineAfter(parser, how, read);
  return { about: "file", name: text(parser, how, file), line };
}

/** The line behind a file's name: in a name without quotes its end, unless that is a regular expression. */
function lineAfter(parser: Parser, how: Operator, read: Name): [Name, number | null] {
  const { scanner } = parser;
  let [file, digits] = [read.text, null as string | null];
  if (read.quote !== null) {
    const hasLine = scanner.eat(":");
    const found = scanner.takeWhile(isDigit);
    if (hasLine && found === "") throw expected("a line's number");
    digits = hasLine ? found : null;
  } else if (how !== "~") {
    [file, digits] = splitLine(read.text);
  }
  if (digits === null) return [read, null];
  const line = u32(parser, read, digits);
  if (file === "") throw new Wrong("the name is empty");
  return [{ ...read, text: file }, line];
}

/** `[fn|file|module|class] [=|:|~] NAME`, up to `;` if so, else to the end. Without an operator it is a function's exact
 * name. */
export function step(parser: Parser, endsAtSemicolon: boolean): FramePattern {
  const { scanner } = parser;
  scanner.skipSpace();
  const word = stepWord(scanner);
  const how = hasStepOperator(scanner) ? operator(parser)[1] : "=";
  scanner.skipSpace();
  const read = scanner.isNext("\"'") ? quotedName(parser) : restOfStep(scanner, endsAtSemicolon);
  const found = pattern(parser, word, how, read);
  scanner.skipSpace();
  return found;
}

/** `file::open` is a function. */
function hasStepOperator(scanner: Scanner): boolean {
  return scanner.isNext("=~:") && !scanner.startsWith("::");
}

/** What the step is about, if an operator follows. */
function stepWord(scanner: Scanner): FrameWord {
  const ahead = scanner.copy();
  const word = ahead.word().toLowerCase();
  ahead.skipSpace();
  if (!hasStepOperator(ahead) || !isFrameWord(word)) return "fn";
  scanner.become(ahead);
  return word;
}

function restOfStep(scanner: Scanner, endsAtSemicolon: boolean): Name {
  const from = scanner.at;
  const read = scanner.takeWhile((next) => !(endsAtSemicolon && next === ";")).trimEnd();
  if (read === "") throw expected(A_NAME);
  return { text: read, from, quote: null };
}

/** Reads an operator, and whether it is negated: `!=`. */
function operator(parser: Parser): [boolean, Operator] {
  const { scanner } = parser;
  scanner.skipSpace();
  const ahead = scanner.copy();
  const negated = ahead.eat("!");
  const from = ahead.at;
  if (ahead.eat("==") || ahead.eat("=~")) {
    scanner.mark(from, ahead.at);
    throw expected(AN_OPERATOR);
  }
  const how = (["~", "=", ":"] as const).find((token) => ahead.eat(token));
  if (how === undefined) throw expected(AN_OPERATOR);
  scanner.become(ahead);
  return [negated, how];
}

/** In quotes, or up to the next space. */
function name(parser: Parser): Name {
  const { scanner } = parser;
  scanner.skipSpace();
  if (scanner.isNext("\"'")) return quotedName(parser);
  if (scanner.isAtEnd()) throw expected(A_NAME);
  if (scanner.isNext(BARE_NEVER_BEGINS)) throw parser.hinted(QUOTE_IT, expected(A_NAME));
  return bareName(parser);
}

function bareName(parser: Parser): Name {
  const { scanner } = parser;
  const from = scanner.at;
  const read = scanner.takeWhile((next) => !isSpace(next));
  if (read.endsWith(",")) {
    scanner.mark(scanner.at - 1, scanner.at);
    throw parser.hinted(QUOTE_COMMA, new Wrong("a comma after a name"));
  }
  parser.afterBareName = true;
  return { text: read, from, quote: null };
}

/** Between quotation marks; one that is part of the name is doubled. */
function quotedName(parser: Parser): Name {
  const { scanner } = parser;
  parser.afterBareName = false;
  const start = scanner.at;
  const quote = scanner.peek();
  scanner.takeOne();
  const from = scanner.at;
  let read = "";
  for (;;) {
    read += scanner.takeWhile((next) => next !== quote);
    if (!scanner.eat(quote)) {
      scanner.mark(start, start + 1);
      throw new Wrong("the quotation mark is never closed");
    }
    if (!scanner.eat(quote)) break;
    read += quote;
  }
  if (read === "") {
    scanner.mark(start, scanner.at);
    throw new Wrong("the name is empty");
  }
  return { text: read, from, quote };
}

function text(parser: Parser, how: Operator, read: Name): Text {
  if (how !== "~") return { operator: how, text: read.text, pattern: null };
  const compiled = compile(read.text);
  if (!("message" in compiled)) return { operator: how, text: read.text, pattern: compiled };
  const wrong = new Wrong(compiled.message);
  if (compiled.span === null) throw about(parser, read, wrong);
  parser.scanner.mark(position(read, compiled.span.start), position(read, compiled.span.end));
  throw wrong;
}

/** Where a place of the name is in the filter: a quotation mark in quotes is doubled there. */
function position({ text: read, from, quote }: Name, offset: number): number {
  const doubled = quote === null ? 0 : read.slice(0, offset).split(quote).length - 1;
  return from + offset + doubled;
}

/** A mistake in all of a name. */
function about(parser: Parser, read: Name, wrong: Wrong): Wrong {
  parser.scanner.mark(read.from, position(read, read.text.length));
  return wrong;
}

function u32(parser: Parser, read: Name, digits: string): number {
  const value = Number(digits);
  if (value > 0xffff_ffff) throw about(parser, read, new Wrong("the number is too large"));
  return value;
}
