// Regular expressions of Rust's `regex`, as the command reads them, made into those of JavaScript.
//
// What both write alike but mean otherwise is written out: `\d`, `\w`, `\s` and `\b` are Unicode's, `.` is all but a line
// feed, `\z` and `\A` are the ends of the text. What only Rust has (flags in the middle, sets of other kinds) is refused
// in words. The search takes linear time, as Rust's does: see `Automaton`.

import type { Span } from "../grammar/scan";
import { Automaton, type Expression } from "./automaton";
import { charClass, escapedChar, type Escape, type Reader } from "./regex_class";

export interface Pattern {
  test(name: string): boolean;
}

export interface BadPattern {
  message: string;
  /** In the expression; null if all of it is meant. */
  span: Span | null;
}

/** Thrown while an expression is read. */
export class BadRegex extends Error {
  constructor(
    message: string,
    readonly start: number,
    readonly end: number,
  ) {
    super(message);
  }
}

/** Copies that counted repetitions may make of what they repeat. */
const MOST_COPIES = 100_000;
const DEEPEST = 250;

const WORD = String.raw`[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]`;
const BOUNDARY = `(?:(?<=${WORD})(?!${WORD})|(?<!${WORD})(?=${WORD}))`;
const NO_BOUNDARY = `(?:(?<=${WORD})(?=${WORD})|(?<!${WORD})(?!${WORD}))`;

export function compile(text: string): Pattern | BadPattern {
  try {
    const translation = new Translation(text);
    return new Automaton(translation.all(), translation.ignoresCase);
  } catch (wrong) {
    const cannot = (reason: string) => `the regular expression cannot be read: ${reason}`;
    if (wrong instanceof TooLarge) return { message: "the regular expression is too large", span: null };
    if (wrong instanceof BadRegex) return { message: cannot(wrong.message), span: { start: wrong.start, end: wrong.end } };
    // What is left is something of Rust's that this browser's expressions have not.
    if (wrong instanceof SyntaxError) return { message: cannot("this browser does not know all of it"), span: null };
    throw wrong;
  }
}

class TooLarge extends Error {}

/** What was read, and how many copies of characters that makes. */
type Piece = [Expression, number];

const character = (source: string): Piece => [{ is: "character", source }, 1];
const assertion = (source: string): Piece => [{ is: "assertion", source }, 1];

class Translation implements Reader {
  at = 0;
  ignoresCase = false;
  private dotIsAll = false;
  private isMultiline = false;
  private isExtended = false;
  private depth = 0;
  private names = new Set<string>();

  constructor(readonly text: string) {}

  all(): Expression {
    const [expression] = this.alternatives();
    if (this.at < this.text.length) throw new BadRegex("unopened group", this.at, this.at + 1);
    return expression;
  }

  peek(): string {
    const code = this.text.codePointAt(this.at);
    return code === undefined ? "" : String.fromCodePoint(code);
  }

  eat(token: string): boolean {
    const isNext = this.text.startsWith(token, this.at);
    if (isNext) this.at += token.length;
    return isNext;
  }

  /** What stands between bars, up to the end or a closing bracket, and how many copies of characters that makes. */
  private alternatives(): Piece {
    const ways: Expression[][] = [[]];
    let copies = 0;
    let last: Piece | null = null;
    const flush = () => {
      if (last === null) return;
      ways.at(-1)!.push(last[0]);
      copies += last[1];
      last = null;
    };
    for (;;) {
      if (this.isExtended) this.skipExtended();
      const from = this.at;
      const next = this.peek();
      if (next === "" || next === ")") break;
      if (next === "|") {
        flush();
        ways.push([]);
        this.takeOne();
        continue;
      }
      if ("*+?{".includes(next)) {
        if (last === null) throw new BadRegex("repetition operator missing expression", from, from + 1);
        last = this.repeated(last);
      } else {
        flush();
        last = this.piece();
      }
      if (copies + ((last as Piece | null)?.[1] ?? 0) > MOST_COPIES) throw new TooLarge();
    }
    flush();
    // Nothing, repeated, is to be built as well.
    return [{ is: "either", of: ways.map((of) => ({ is: "sequence", of })) }, Math.max(1, copies)];
  }

  private takeOne(): string {
    const next = this.peek();
    this.at += next.length;
    return next;
  }

  private skipExtended(): void {
    for (;;) {
      if (/^\p{White_Space}$/u.test(this.peek())) this.takeOne();
      else if (this.peek() === "#") while (this.peek() !== "" && this.takeOne() !== "\n");
      else return;
    }
  }

  /** One thing that may be repeated; null for flags, which are none. */
  private piece(): Piece | null {
    const from = this.at;
    const next = this.takeOne();
    switch (next) {
      case "(":
        return this.group(from);
      case "[":
        return character(charClass(this, from));
      case "\\":
        return this.escape(escapedChar(this, from));
      case ".":
        return character(this.dotIsAll ? String.raw`[\s\S]` : String.raw`[^\n]`);
      case "^":
        return assertion(this.isMultiline ? String.raw`(?<![^\n])` : String.raw`(?<![\s\S])`);
      case "$":
        return assertion(this.isMultiline ? String.raw`(?![^\n])` : String.raw`(?![\s\S])`);
      default:
        return character(literal(next));
    }
  }

  private escape(escape: Escape): Piece {
    switch (escape.kind) {
      case "literal":
        return character(literal(escape.character));
      case "class":
        return character(escape.source);
      case "assertion":
        return assertion({ b: BOUNDARY, B: NO_BOUNDARY, A: String.raw`(?<![\s\S])`, z: String.raw`(?![\s\S])` }[escape.which]);
    }
  }

  private group(from: number): Piece | null {
    if (this.eat("?=") || this.eat("?!") || this.eat("?<=") || this.eat("?<!")) {
      throw new BadRegex("look-around, including look-ahead and look-behind, is not supported", from, this.at);
    }
    const [outerDot, outerLines, outerExtended] = [this.dotIsAll, this.isMultiline, this.isExtended];
    if (this.eat("?P<") || this.eat("?<")) this.groupName();
    else if (this.eat("?")) {
      if (this.flags(from)) return null;
    }
    if (++this.depth > DEEPEST) {
      throw new BadRegex(`exceed the maximum number of nested parentheses/brackets (${DEEPEST})`, from, from + 1);
    }
    const [inside, copies] = this.alternatives();
    this.depth--;
    if (!this.eat(")")) throw new BadRegex("unclosed group", from, from + 1);
    [this.dotIsAll, this.isMultiline, this.isExtended] = [outerDot, outerLines, outerExtended];
    return [inside, copies];
  }

  private groupName(): void {
    const from = this.at;
    const close = this.text.indexOf(">", from);
    if (close < 0) throw new BadRegex("unclosed capture group name", from, this.text.length);
    const name = this.text.slice(from, close);
    this.at = close + 1;
    if (name === "") throw new BadRegex("empty capture group name", from, from);
    if (!/^[\p{Alphabetic}_][\p{Alphabetic}\p{N}_.[\]]*$/u.test(name)) {
      throw new BadRegex("invalid capture group character", from, close);
    }
    if (this.names.has(name)) throw new BadRegex("duplicate capture group name", from, close);
    this.names.add(name);
  }

  /** `(?i)` or `(?s:`; true if there is no group behind them. */
  private flags(from: number): boolean {
    const ignoredCase = this.ignoresCase;
    let [value, any] = [true, false];
    for (;;) {
      const at = this.at;
      const flag = this.takeOne();
      if (flag === "") throw new BadRegex("expected flag but got end of regex", at, at);
      if (flag === ":" || flag === ")") {
        if (flag === ":" && this.ignoresCase !== ignoredCase) throw this.onlyFirst(from);
        if (flag === ")" && !any) throw new BadRegex("repetition operator missing expression", from + 1, from + 2);
        return flag === ")";
      }
      any = true;
      if (flag === "-") value = false;
      else this.setFlag(flag, value, at, from);
    }
  }

  private setFlag(flag: string, value: boolean, at: number, group: number): void {
    if (flag === "s") this.dotIsAll = value;
    else if (flag === "m") this.isMultiline = value;
    else if (flag === "x") this.isExtended = value;
    else if (flag === "i") {
      if (group !== 0 && value !== this.ignoresCase) throw this.onlyFirst(group);
      this.ignoresCase = value;
    } else if (flag === "U" || flag === "R" || (flag === "u" && !value)) {
      throw new BadRegex(`the flag ${flag} is not understood here`, at, at + 1);
    } else if (flag !== "u") throw new BadRegex("unrecognized flag", at, at + flag.length);
  }

  private onlyFirst(group: number): BadRegex {
    return new BadRegex("here (?i) is understood only before all else", group, this.at);
  }

  /** Whether as few or as many as can be are taken makes no difference to whether there are any. */
  private repeated([of, copies]: Piece): Piece {
    const from = this.at;
    const operator = this.takeOne();
    const [least, most] = operator === "{" ? this.counted(from) : [operator === "+" ? 1 : 0, operator === "?" ? 1 : Infinity];
    this.eat("?");
    const times = most === Infinity ? least + 1 : most;
    return [{ is: "repeated", of, least, most }, copies * Math.max(1, times)];
  }

  /** `{2}`, `{2,}`, `{2,5}`. */
  private counted(from: number): [number, number] {
    const found = /^\s*([0-9]*)\s*(,?)\s*([0-9]*)\s*(\}?)/.exec(this.text.slice(this.at));
    const [all, least, comma, most, close] = found as unknown as [string, string, string, string, string];
    if (close === "" && this.at + all.length >= this.text.length) {
      throw new BadRegex("unclosed counted repetition", from, this.text.length);
    }
    if (least === "") throw new BadRegex("repetition quantifier expects a valid decimal", this.at, this.at + 1);
    if (close === "") throw new BadRegex("unclosed counted repetition", from, this.at + all.length);
    this.at += all.length;
    if (most !== "" && Number(most) < Number(least)) {
      const reason = "invalid repetition count range, the start must be <= the end";
      throw new BadRegex(reason, from, this.at);
    }
    return [Number(least), most !== "" ? Number(most) : comma === "" ? Number(least) : Infinity];
  }
}

function literal(character: string): string {
  return /^[\^$\\.*+?()[\]{}|/]$/.test(character) ? `\\${character}` : character;
}
