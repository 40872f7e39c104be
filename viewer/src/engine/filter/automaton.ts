// Looks for a regular expression in linear time: all ways to read it are followed at once, character by character
// (Thompson 1968). The browser's own search goes back and forth, and may take forever: `(a+)+$`.

/** A regular expression that was read. Sources are the browser's, of one character, or of what must hold between two. */
export type Expression =
  | { is: "character"; source: string }
  | { is: "assertion"; source: string }
  | { is: "sequence"; of: Expression[] }
  | { is: "either"; of: Expression[] }
  | { is: "repeated"; of: Expression; least: number; most: number };

/** What a state waits for: a character, or that something holds; or nothing, then it goes two ways at once. */
interface State {
  character: Characters | null;
  assertion: RegExp | null;
  next: number;
  other: number;
}

const NOWHERE = -1;

export class Automaton {
  private readonly states: State[] = [];
  private readonly sets = new Map<string, Characters>();
  private readonly begin: number;
  /** The state in which all has been found. */
  private readonly found: number;
  /** By state: at which step it was reached last. */
  private readonly reached: Uint32Array;
  private step = 0;

  constructor(
    expression: Expression,
    private readonly ignoresCase: boolean,
  ) {
    this.found = this.state({});
    this.begin = this.build(expression, this.found);
    this.reached = new Uint32Array(this.states.length);
  }

  /** Whether it is anywhere in a name. */
  test(name: string): boolean {
    let current: number[] = [];
    for (let at = 0; ; ) {
      this.step++;
      const waiting: number[] = [];
      for (const state of current) if (this.reach(state, name, at, waiting)) return true;
      if (this.reach(this.begin, name, at, waiting)) return true;
      if (at >= name.length) return false;
      const code = name.codePointAt(at)!;
      at += code > 0xffff ? 2 : 1;
      current = [];
      for (const state of waiting) {
        const { character, next } = this.states[state]!;
        if (character!.has(code)) current.push(next);
      }
    }
  }

  /** Goes from a state to all that wait for a character; true if one of them is the end. */
  private reach(from: number, name: string, at: number, waiting: number[]): boolean {
    const open = [from];
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      if (state === NOWHERE || this.reached[state] === this.step) continue;
      this.reached[state] = this.step;
      if (state === this.found) return true;
      const { character, assertion, next, other } = this.states[state]!;
      if (character !== null) waiting.push(state);
      else if (assertion === null || holds(assertion, name, at)) open.push(other, next);
    }
    return false;
  }

  private state(of: Partial<State>): number {
    return this.states.push({ character: null, assertion: null, next: NOWHERE, other: NOWHERE, ...of }) - 1;
  }

  /** The state with which an expression begins that is followed by `next`. */
  private build(expression: Expression, next: number): number {
    switch (expression.is) {
      case "character":
        return this.state({ character: this.characters(expression.source), next });
      case "assertion":
        return this.state({ assertion: new RegExp(expression.source, "vy"), next });
      case "sequence":
        return expression.of.reduceRight((after, piece) => this.build(piece, after), next);
      case "either":
        return expression.of.map((way) => this.build(way, next)).reduce((one, other) => this.state({ next: one, other }));
      case "repeated":
        return this.repeated(expression.of, expression.least, expression.most, next);
    }
  }

  private repeated(of: Expression, least: number, most: number, next: number): number {
    let begin = next;
    if (most === Infinity) {
      begin = this.state({ other: next });
      this.states[begin]!.next = this.build(of, begin);
    } else for (let time = least; time < most; time++) begin = this.state({ next: this.build(of, begin), other: next });
    for (let time = 0; time < least; time++) begin = this.build(of, begin);
    return begin;
  }

  private characters(source: string): Characters {
    const known = this.sets.get(source) ?? new Characters(new RegExp(`^(?:${source})$`, this.ignoresCase ? "vi" : "v"));
    this.sets.set(source, known);
    return known;
  }
}

function holds(assertion: RegExp, name: string, at: number): boolean {
  assertion.lastIndex = at;
  return assertion.test(name);
}

/** Characters that are asked for; each is looked at once. */
class Characters {
  private readonly ascii = new Uint8Array(128);
  private readonly others = new Map<number, boolean>();

  constructor(private readonly like: RegExp) {
    for (let code = 0; code < 128; code++) this.ascii[code] = Number(like.test(String.fromCharCode(code)));
  }

  has(code: number): boolean {
    if (code < 128) return this.ascii[code] === 1;
    let known = this.others.get(code);
    if (known === undefined) this.others.set(code, (known = this.like.test(String.fromCodePoint(code))));
    return known;
  }
}
