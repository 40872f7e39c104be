// From text to terms, exactly as the command reads them (docs/filters.md has the grammar). No tokens are made
// beforehand, since what ends a word depends on what it is: a name goes on to the next space, a moment to the next `..`.

import { type FullMistake, Wrong, clipped, expected, told } from "../grammar/mistake";
import { isSpace, Scanner, type Span } from "../grammar/scan";
import { meant } from "../grammar/suggest";
import { ANCHORS } from "./moment";
import * as names from "./parse_names";
import * as ranges from "./parse_ranges";
import { PRESETS, presetNamed } from "./presets";
import { type Claim, SOURCES, type Term } from "./term";

/** The most terms that a filter may have. */
export const MAX_TERMS = 64;

const TERMS = [
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
const ALL_TERMS =
  "terms are allocated, freed, alive, promoted, in old heap, size, lifetime, fn, file, module, class, thread, source, label;\n" +
  "  presets are leaks, temporary, long-lived, churn, premature, peak, deserialised";
const NEGATION = "what must not hold has `not` before it, as in `not leaks`";
const NO_BRACKETS = "all terms must hold, and there are no brackets";
const NO_OR =
  "all terms must hold; for one name or another there are regular expressions, as in fn~foo|bar";
const NO_COMMA = "terms are separated by spaces";
const JOINTS = "terms are joined by a space or by `and`";
const QUOTES = 'a name with spaces is written in quotes, as in fn="operator new"';

/** What has been read, and what would help if the next thing cannot be. */
export class Parser {
  scanner: Scanner;
  hint: string | null = null;
  /** Whether the last term ended in a name without quotes. */
  afterBareName = false;

  constructor(text: string) {
    this.scanner = new Scanner(text);
  }

  /** A mistake that something helps against. */
  hinted(hint: string, wrong: Wrong): Wrong {
    this.hint = hint;
    return wrong;
  }
}

/** What `read` reads, or what is wrong with the text. */
export function reading<T>(text: string, read: (parser: Parser) => T): T | FullMistake {
  const parser = new Parser(text);
  try {
    return read(parser);
  } catch (wrong) {
    if (!(wrong instanceof Wrong)) throw wrong;
    return told(parser.scanner, wrong, suggestion(wrong), parser.hint);
  }
}

export function isMistake<T extends object>(read: T | FullMistake): read is FullMistake {
  return "message" in read && "start" in read;
}

/** A conjunction of terms; without any, all that there is. */
export function parseFilter(text: string): Term[] | FullMistake {
  return reading(text, (parser) => conjunction(parser));
}

/** Where each term of a filter stands in its text. */
export function termSpans(text: string): Span[] | FullMistake {
  const spans: Span[] = [];
  const read = reading(text, (parser) => conjunction(parser, spans));
  return isMistake(read) ? read : spans;
}

function conjunction(parser: Parser, spans: Span[] = []): Term[] {
  const terms: Term[] = [];
  const { scanner } = parser;
  scanner.skipSpace();
  while (!scanner.isAtEnd()) {
    if (terms.length === MAX_TERMS) throw new Wrong(`more than ${MAX_TERMS} terms`);
    const start = scanner.at;
    terms.push(term(parser));
    spans.push({ start, end: scanner.at });
    endOfTerm(parser);
    const isFollowed = scanner.eatWord("and");
    scanner.skipSpace();
    if (isFollowed && scanner.isAtEnd()) throw parser.hinted(ALL_TERMS, expected("a term after `and`"));
  }
  return terms;
}

function endOfTerm(parser: Parser): void {
  const next = parser.scanner.peek();
  if (next === "" || isSpace(next)) return;
  parser.hint = next === "," ? NO_COMMA : null;
  throw expected("a space or the end");
}

function term(parser: Parser): Term {
  const { scanner } = parser;
  const negated = negations(scanner);
  if (negated && scanner.isAtEnd()) throw parser.hinted(ALL_TERMS, expected("a term after `not`"));
  const from = scanner.at;
  const word = scanner.word().toLowerCase();
  const [negatedInside, read] = claim(parser, word, from);
  return { negated: negated !== negatedInside, claim: read };
}

/** Whether there is an odd number of them. */
function negations(scanner: Scanner): boolean {
  let negated = false;
  while (scanner.eatWord("not")) {
    negated = !negated;
    scanner.skipSpace();
  }
  return negated;
}

/** The rest of the term that begins with `word`, and whether an operator in it negates it. */
function claim(parser: Parser, word: string, from: number): [boolean, Claim] {
  switch (word) {
    case "size":
      return ranges.sizes(parser);
    case "lifetime":
      return ranges.lifetimes(parser);
    case "thread":
      return names.thread(parser);
    case "source":
      return names.source(parser);
    case "label":
      return names.label(parser);
    case "innermost":
      return innermost(parser);
  }
  if (names.isFrameWord(word)) return frame(parser, word, false);
  const read = claimWithoutNames(parser, word, from);
  parser.afterBareName = false;
  return [false, read];
}

function claimWithoutNames(parser: Parser, word: string, from: number): Claim {
  if (word === "allocated" || word === "alive") return { is: word, when: ranges.when(parser) };
  if (word === "freed" || word === "promoted") return { is: word, when: ranges.optionalWhen(parser) };
  if (word === "in") return inOldHeap(parser);
  const preset = presetNamed(word);
  if (preset === null) throw unknownTerm(parser, from);
  return { is: "preset", preset };
}

function inOldHeap({ scanner }: Parser): Claim {
  scanner.skipSpace();
  const isOld = scanner.eatWord("old");
  scanner.skipSpace();
  if (isOld && scanner.eatWord("heap")) return { is: "in old heap" };
  throw expected("`old heap`");
}

function innermost(parser: Parser): [boolean, Claim] {
  parser.scanner.skipSpace();
  const ahead = parser.scanner.copy();
  const word = ahead.word().toLowerCase();
  // An object's class is no callsite.
  if (!names.isFrameWord(word) || word === "class") throw expected("fn, file or module");
  parser.scanner.become(ahead);
  return frame(parser, word, true);
}

function frame(parser: Parser, word: names.FrameWord, isInnermost: boolean): [boolean, Claim] {
  const [negated, pattern] = names.framePattern(parser, word);
  return [negated, { is: "frame", innermost: isInnermost, pattern }];
}

function unknownTerm(parser: Parser, from: number): Wrong {
  const { scanner } = parser;
  if (scanner.eat("!")) {
    scanner.mark(from, scanner.at);
    return parser.hinted(NEGATION, new Wrong("unknown term `!`", "term", "!"));
  }
  if (scanner.at === from) scanner.upToSpace();
  const word = scanner.since(from);
  scanner.mark(from, scanner.at);
  const text = clipped(word);
  return parser.hinted(hintFor(parser, word.toLowerCase()), new Wrong(`unknown term \`${text}\``, "term", text));
}

function hintFor(parser: Parser, word: string): string {
  if (["or", "|", "||"].includes(word)) return NO_OR;
  if (["and", "&", "&&"].includes(word)) return JOINTS;
  if (word === ",") return NO_COMMA;
  if (word === "(" || word === ")") return NO_BRACKETS;
  if (parser.afterBareName) return QUOTES;
  return word.startsWith("(") || word.startsWith(")") ? NO_BRACKETS : ALL_TERMS;
}

function suggestion({ unknown, word }: Wrong): string | null {
  if (unknown === "term") return meant(word, [...TERMS, ...PRESETS]);
  if (unknown === "moment") return meant(word, [...ANCHORS]);
  if (unknown === "source") return meant(word, [...SOURCES]);
  return null;
}
