// A place in a text, and how it moves on. Places are counted as JavaScript counts characters of strings.

/** What a mistake is about: from a character up to, and without, another. */
export interface Span {
  start: number;
  end: number;
}

const SPACE = /\p{White_Space}/u;
const LETTER = /\p{Alphabetic}/u;

export function isSpace(character: string): boolean {
  return SPACE.test(character);
}

export function isLetter(character: string): boolean {
  return LETTER.test(character);
}

export function isDigit(character: string): boolean {
  return character >= "0" && character <= "9";
}

/** Whether a character may be in a keyword. */
export function isWord(character: string): boolean {
  return /^[A-Za-z0-9_-]$/.test(character);
}

/** Reads a text from left to right. A copy reads ahead. */
export class Scanner {
  at = 0;
  private marked: Span | null = null;

  constructor(readonly text: string) {}

  copy(): Scanner {
    const copy = new Scanner(this.text);
    copy.become(this);
    return copy;
  }

  /** Goes on where another one is. */
  become(other: Scanner): void {
    this.at = other.at;
    this.marked = other.marked;
  }

  rest(): string {
    return this.text.slice(this.at);
  }

  isAtEnd(): boolean {
    return this.at >= this.text.length;
  }

  /** The next character, as a string; empty at the end. */
  peek(): string {
    const code = this.text.codePointAt(this.at);
    return code === undefined ? "" : String.fromCodePoint(code);
  }

  startsWith(token: string): boolean {
    return this.text.startsWith(token, this.at);
  }

  /** Whether one of these characters comes next. */
  isNext(characters: string): boolean {
    const next = this.peek();
    return next !== "" && characters.includes(next);
  }

  /** Goes past `token` if that comes next. */
  eat(token: string): boolean {
    const isNext = this.startsWith(token);
    if (isNext) this.at += token.length;
    return isNext;
  }

  takeOne(): void {
    this.at += this.peek().length;
  }

  since(from: number): string {
    return this.text.slice(from, this.at);
  }

  /** Whether there was any. */
  skipSpace(): boolean {
    return this.takeWhile(isSpace) !== "";
  }

  takeWhile(accepts: (character: string) => boolean): string {
    const from = this.at;
    for (let next = this.peek(); next !== "" && accepts(next); next = this.peek()) this.at += next.length;
    return this.since(from);
  }

  word(): string {
    return this.takeWhile(isWord);
  }

  /** The word that comes next, after any space, is `word`: goes past it. */
  eatWord(word: string): boolean {
    const ahead = this.copy();
    ahead.skipSpace();
    const isNext = ahead.word().toLowerCase() === word.toLowerCase();
    if (isNext) this.become(ahead);
    return isNext;
  }

  upToSpace(): string {
    return this.takeWhile((next) => !isSpace(next));
  }

  /** The next mistake is about this. */
  mark(start: number, end: number): void {
    this.marked = { start, end };
  }

  /** A mistake was made in what was read since `from`, unless it was already told where. */
  blameSince(from: number): void {
    if (this.marked === null && from < this.at) this.marked = { start: from, end: this.at };
  }

  /** What a mistake is about that is made here. */
  blame(): Span {
    return this.marked ?? { start: this.at, end: this.at + this.peek().length };
  }
}
