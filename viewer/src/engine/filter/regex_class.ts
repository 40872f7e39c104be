// Escapes and sets of characters in Rust's regular expressions, as JavaScript writes them (with the flag `v`).

import { BadRegex } from "./regex";

/** A place in an expression. */
export interface Reader {
  readonly text: string;
  at: number;
  peek(): string;
  eat(token: string): boolean;
}

export type Escape =
  | { kind: "literal"; character: string }
  | { kind: "class"; source: string }
  | { kind: "assertion"; which: "b" | "B" | "A" | "z" };

const CLASSES: Record<string, string> = {
  d: String.raw`\p{Nd}`,
  D: String.raw`\P{Nd}`,
  s: String.raw`\p{White_Space}`,
  S: String.raw`\P{White_Space}`,
  w: String.raw`[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]`,
  W: String.raw`[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]`,
};
const LITERALS: Record<string, string> = { a: "\x07", f: "\f", t: "\t", n: "\n", r: "\r", v: "\v", " ": " " };
const POSIX: Record<string, string> = {
  alnum: "0-9A-Za-z",
  alpha: "A-Za-z",
  ascii: String.raw`\x00-\x7f`,
  blank: String.raw`\t `,
  cntrl: String.raw`\x00-\x1f\x7f`,
  digit: "0-9",
  graph: String.raw`\x21-\x7e`,
  lower: "a-z",
  print: String.raw`\x20-\x7e`,
  punct: String.raw`\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e`,
  space: String.raw`\t\n\v\f\r `,
  upper: "A-Z",
  word: "0-9A-Za-z_",
  xdigit: "0-9A-Fa-f",
};

function take(reader: Reader): string {
  const next = reader.peek();
  reader.at += next.length;
  return next;
}

/** What stands behind a backslash, which has been read from `from` on. */
export function escapedChar(reader: Reader, from: number): Escape {
  const next = take(reader);
  const wrong = (reason: string) => new BadRegex(reason, from, reader.at);
  if (next === "") throw wrong("incomplete escape sequence, reached end of pattern prematurely");
  if (/[0-9]/.test(next)) throw wrong("backreferences are not supported");
  if (next in CLASSES) return { kind: "class", source: CLASSES[next]! };
  if (next === "p" || next === "P") return { kind: "class", source: property(reader, from, next) };
  if ("xuU".includes(next)) return { kind: "literal", character: hexadecimal(reader, from, next) };
  if (next in LITERALS) return { kind: "literal", character: LITERALS[next]! };
  if (next === "b" && reader.peek() === "{") throw wrong("boundaries of this kind are not understood here");
  if ("bBAz".includes(next)) return { kind: "assertion", which: next as "b" | "B" | "A" | "z" };
  if (/^[\x00-\x7f]$/.test(next) && !/[A-Za-z<>]/.test(next)) return { kind: "literal", character: next };
  throw wrong("unrecognized escape sequence");
}

/** `\x7F`, `\u00e4`, `\U0001F600`, each with braces too. */
function hexadecimal(reader: Reader, from: number, kind: string): string {
  let digits = "";
  if (reader.eat("{")) {
    const close = reader.text.indexOf("}", reader.at);
    if (close < 0) throw new BadRegex("incomplete escape sequence, reached end of pattern prematurely", from, reader.text.length);
    digits = reader.text.slice(reader.at, close);
    reader.at = close + 1;
    if (digits === "") throw new BadRegex("hexadecimal literal empty", from, reader.at);
  } else {
    const length = { x: 2, u: 4, U: 8 }[kind]!;
    digits = reader.text.slice(reader.at, reader.at + length);
    reader.at += digits.length;
    if (digits.length < length) {
      throw new BadRegex("incomplete escape sequence, reached end of pattern prematurely", from, reader.at);
    }
  }
  if (!/^[0-9A-Fa-f]+$/.test(digits)) throw new BadRegex("invalid hexadecimal digit", from, reader.at);
  const code = parseInt(digits, 16);
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
    throw new BadRegex("hexadecimal literal is not a Unicode scalar value", from, reader.at);
  }
  return String.fromCodePoint(code);
}

/** `\pL`, `\p{Greek}`, `\p{Script=Greek}`, `\P{^L}`. */
function property(reader: Reader, from: number, kind: string): string {
  let name = "";
  if (reader.eat("{")) {
    const close = reader.text.indexOf("}", reader.at);
    if (close < 0) throw new BadRegex("incomplete escape sequence, reached end of pattern prematurely", from, reader.text.length);
    name = reader.text.slice(reader.at, close).replace(/\s/g, "");
    reader.at = close + 1;
  } else name = take(reader);
  const isTurned = name.startsWith("^");
  const letter = (kind === "P") !== isTurned ? "P" : "p";
  const bare = (isTurned ? name.slice(1) : name).replace(":", "=");
  const title = bare.replace(/(^|_|=)([a-z])/g, (_, before: string, first: string) => before + first.toUpperCase());
  for (const it of [bare, title, `Script=${bare}`, `Script=${title}`]) {
    try {
      new RegExp(`\\p{${it}}`, "v");
      return `\\${letter}{${it}}`;
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
  throw new BadRegex("Unicode property not found", from, reader.at);
}

/** The rest of a set that has been begun at `from`. What stands side by side is united before sets are cut or taken away. */
export function charClass(reader: Reader, from: number): string {
  const negated = reader.eat("^");
  let [left, source, isFirst] = ["", "", true];
  for (;;) {
    const at = reader.at;
    if (reader.peek() === "") throw new BadRegex("unclosed character class", from, from + 1);
    if (reader.eat("]") && !isFirst) return `[${negated ? "^" : ""}${left === "" ? source : `${left}[${source}]`}]`;
    const operator = ["&&", "--"].find((token) => reader.eat(token));
    if (operator !== undefined) {
      left = (left === "" ? `[${source}]` : `[${left}[${source}]]`) + operator;
      source = "";
    } else if (reader.at > at) source += classLiteral("]");
    else if (reader.eat("[:")) source += posix(reader, at);
    else if (reader.eat("[")) source += charClass(reader, at);
    else if (reader.eat("~~")) throw new BadRegex("~~ in sets is not understood here", at, reader.at);
    else source += range(reader, at);
    isFirst = false;
  }
}

function posix(reader: Reader, from: number): string {
  const found = /^(\^?)([a-z]+):\]/.exec(reader.text.slice(reader.at));
  const members = found === null ? undefined : POSIX[found[2]!];
  // Else it is a set within a set.
  if (found === null || members === undefined) {
    reader.at = from + 1;
    return charClass(reader, from);
  }
  reader.at += found[0].length;
  return `[${found[1]}${members}]`;
}

function range(reader: Reader, from: number): string {
  const first = member(reader, from);
  const isRange = reader.peek() === "-" && !/^-(\]|-)/.test(reader.text.slice(reader.at)) && reader.at + 1 < reader.text.length;
  if (!isRange) return first.source;
  reader.eat("-");
  const second = member(reader, reader.at);
  if (first.character === null || second.character === null) {
    throw new BadRegex("invalid range boundary, must be a literal", from, reader.at);
  }
  if (first.character.codePointAt(0)! > second.character.codePointAt(0)!) {
    throw new BadRegex("invalid character class range, the start must be <= the end", from, reader.at);
  }
  return `${first.source}-${second.source}`;
}

function member(reader: Reader, from: number): { source: string; character: string | null } {
  const next = take(reader);
  if (next !== "\\") return { source: classLiteral(next), character: next };
  const escape = escapedChar(reader, from);
  if (escape.kind === "class") return { source: escape.source, character: null };
  if (escape.kind === "assertion") throw new BadRegex("invalid escape sequence found in character class", from, reader.at);
  return { source: classLiteral(escape.character), character: escape.character };
}

function classLiteral(character: string): string {
  if (/^[A-Za-z0-9_]$/.test(character)) return character;
  return `\\u{${character.codePointAt(0)!.toString(16)}}`;
}
