// Which samples a filter chooses: a pass over a column for each term that asks for one, and tables for what many samples
// have in common (sizes and sources of kinds, names of threads, backtraces).

import type { Columns } from "./columns";
import type { Facts } from "./facts";
import { ALL_TIME, type Bounds, part, window, type Window } from "./filter/moment";
import { presetTerms } from "./filter/presets";
import type { Claim, KnownSource, Limits, Term } from "./filter/term";
import { matchesText, matchingLines } from "./matching_lines";
import type { Backtraces } from "./names";
import { NO_LINE } from "./reason";

/** What is judged. */
export interface Judged {
  facts: Facts;
  columns: Columns;
  backtraces: Backtraces;
  /** By node: see `callsiteLines`. */
  callsites(): Uint32Array;
}

/** Samples that were chosen. */
export interface Choice {
  /** By sample: 1 or 0. */
  chosen: Uint8Array;
  /** Lives begin when blocks come to be in an old heap. */
  inOldHeap: boolean;
}

export function choose(trace: Judged, terms: Term[]): Choice {
  const inOldHeap = terms.some((term) => !term.negated && term.claim.is === "in old heap");
  const chosen = new Uint8Array(trace.columns.count).fill(1);
  const judge = new Judge(trace, inOldHeap ? oldHeapBirths(trace) : trace.columns.birth);
  judge.all(terms, chosen);
  return { chosen, inOldHeap };
}

/** When blocks came to be in an old heap: at their promotion, unless they were born there. */
export function oldHeapBirths({ facts, columns }: Judged): Float64Array {
  const { birth, promoted, kind, kinds, count } = columns;
  if (promoted === null) return birth;
  const isOld = Uint8Array.from(kinds.source, (source) => Number(facts.sources[source]!.source === "major"));
  const born = birth.slice();
  for (let sample = 0; sample < count; sample++) {
    const at = promoted[sample]!;
    if (at === at && isOld[kind[sample]!] === 0) born[sample] = at;
  }
  return born;
}

export function boundsOf(facts: Facts): Bounds {
  return { end: facts.end, peak: facts.peak ?? 0, startUnix: facts.start_unix_us, clock: facts.clock };
}

class Judge {
  private readonly bounds: Bounds;

  constructor(
    private readonly trace: Judged,
    /** When lives begin. */
    private readonly born: Float64Array,
  ) {
    this.bounds = boundsOf(trace.facts);
  }

  /** Strikes out what does not fulfil all of the terms. */
  all(terms: Term[], chosen: Uint8Array): void {
    for (const { negated, claim } of terms) {
      if (claim.is === "preset" && !negated) this.all(presetTerms(claim.preset), chosen);
      else if (claim.is === "preset") this.notAll(presetTerms(claim.preset), chosen);
      else this.strike(claim, negated ? 1 : 0, chosen);
    }
  }

  private notAll(terms: Term[], chosen: Uint8Array): void {
    const fulfilling = new Uint8Array(chosen.length).fill(1);
    this.all(terms, fulfilling);
    for (let at = 0; at < chosen.length; at++) chosen[at]! &= 1 ^ fulfilling[at]!;
  }

  /** Strikes out what does not fulfil the claim; or what does, where `turned` is 1. */
  private strike(claim: Claim, turned: 0 | 1, chosen: Uint8Array): void {
    const { columns } = this.trace;
    switch (claim.is) {
      case "allocated":
        return within(this.born, window(claim.when, this.bounds), turned, chosen);
      case "freed":
        return within(columns.death, { ...this.windowOf(claim.when), high: this.until(claim.when) }, turned, chosen);
      case "promoted":
        return this.promoted(this.windowOf(claim.when), turned, chosen);
      case "in old heap":
        return this.inOldHeap(turned, chosen);
      case "alive":
        return this.alive(window(claim.when, this.bounds), turned, chosen);
      case "lifetime":
        return this.lifetime(claim.limits, turned, chosen);
      case "size":
        return byTable(columns.kind, this.sizes(claim.limits), turned, chosen);
      case "source":
        return byTable(columns.kind, this.sources((it) => isFrom(claim.source, it)), turned, chosen);
      case "sampler":
        return byTable(
          columns.kind,
          this.sources(({ name }) => name !== null && name !== "" && matchesText(claim.name, name)),
          turned,
          chosen,
        );
      case "thread":
        return this.threads((thread) => thread.number === claim.number, turned, chosen);
      case "thread name":
        return this.threads(({ name }) => name !== null && name !== "" && matchesText(claim.name, name), turned, chosen);
      case "frame":
        return byTable(columns.node, this.nodes(claim), turned, chosen);
      case "label":
        return this.label(claim, turned, chosen);
      case "preset":
        return;
    }
  }

  private windowOf(when: (Claim & { is: "freed" })["when"]): Window {
    return when === null ? ALL_TIME : window(when, this.bounds);
  }

  /** What was never freed has a death at infinity, which no window has in it. */
  private until(when: (Claim & { is: "freed" })["when"]): number {
    return Math.min(this.windowOf(when).high, Number.MAX_VALUE);
  }

  private promoted(at: Window, turned: 0 | 1, chosen: Uint8Array): void {
    const { promoted } = this.trace.columns;
    if (promoted !== null) within(promoted, at, turned, chosen);
    else if (turned === 0) chosen.fill(0);
  }

  private inOldHeap(turned: 0 | 1, chosen: Uint8Array): void {
    const { promoted, kind } = this.trace.columns;
    const isOld = this.sources((it) => it.source === "major");
    for (let at = 0; at < chosen.length; at++) {
      const wasPromoted = promoted !== null && promoted[at] === promoted[at] ? 1 : 0;
      chosen[at]! &= (isOld[kind[at]!]! | wasPromoted) ^ turned;
    }
  }

  private alive({ low, high }: Window, turned: 0 | 1, chosen: Uint8Array): void {
    const { born } = this;
    const { death } = this.trace.columns;
    for (let at = 0; at < chosen.length; at++) {
      const from = born[at]! > low ? born[at]! : low;
      const until = death[at]! < high ? death[at]! : high;
      chosen[at]! &= (from < until ? 1 : 0) ^ turned;
    }
  }

  private lifetime(limits: (Claim & { is: "lifetime" })["limits"], turned: 0 | 1, chosen: Uint8Array): void {
    const { born } = this;
    const { death } = this.trace.columns;
    const { end } = this.bounds;
    const micros = (span: { kind: string; value: bigint }) =>
      span.kind === "time" ? Number(span.value) : part(span.value, end);
    const { low, high } = limitsWindow(limits, micros);
    const isOpen = high === Infinity;
    for (let at = 0; at < chosen.length; at++) {
      const isDead = death[at] !== Infinity;
      const age = Math.max(0, (isDead ? death[at]! : end) - born[at]!);
      chosen[at]! &= (low <= age && age < high && (isDead || isOpen) ? 1 : 0) ^ turned;
    }
  }

  private sizes(limits: Limits<bigint>): Uint8Array {
    const { low, high } = limitsWindow(limits, Number);
    return Uint8Array.from(this.trace.columns.kinds.bytes, (bytes) => Number(low <= bytes && bytes < high));
  }

  /** By kind. */
  private sources(holds: (source: Facts["sources"][number]) => boolean): Uint8Array {
    const verdicts = this.trace.facts.sources.map(holds);
    return Uint8Array.from(this.trace.columns.kinds.source, (source) => Number(verdicts[source]));
  }

  private threads(holds: (thread: Facts["threads"][number]) => boolean, turned: 0 | 1, chosen: Uint8Array): void {
    const { thread } = this.trace.columns;
    if (thread.length > 0) byTable(thread, Uint8Array.from(this.trace.facts.threads, (it) => Number(holds(it))), turned, chosen);
    else if (turned === 0) chosen.fill(0);
  }

  /** By node: judged once a line, and handed down the tree. */
  private nodes({ innermost, pattern }: Claim & { is: "frame" }): Uint8Array {
    const { nodes, parent, frame, first, lines } = this.trace.backtraces;
    const likes = matchingLines(pattern, lines);
    const holds = new Uint8Array(nodes);
    if (innermost) {
      const callsites = this.trace.callsites();
      return holds.map((_, node) => (callsites[node] === NO_LINE ? 0 : likes[callsites[node]!]!));
    }
    const frames = new Uint8Array(Math.max(0, first.length - 1));
    for (let at = 0; at < frames.length; at++) {
      for (let line = first[at]!; line < first[at + 1]!; line++) frames[at]! |= likes[line]!;
    }
    for (let node = 1; node < nodes; node++) holds[node] = holds[parent[node]!]! | frames[frame[node]!]!;
    return holds;
  }

  private label({ key, value }: Claim & { is: "label" }, turned: 0 | 1, chosen: Uint8Array): void {
    const { labels } = this.trace.facts;
    const has = Object.hasOwn(labels, key) && (value === null || matchesText(value, labels[key]!));
    if (Number(has) === turned) chosen.fill(0);
  }
}

function isFrom(wanted: KnownSource, source: Facts["sources"][number]): boolean {
  switch (wanted) {
    case "ocaml":
      return source.ocaml;
    case "ruby":
      return source.ruby;
    case "mmap":
      return source.name === "mmap" || source.name === "arena";
    case "arena":
      return source.name === "arena";
    case "external":
      return source.source === "external" || source.source === "native";
    default:
      return source.source === wanted;
  }
}

function within(column: Float64Array, { low, high }: Window, turned: 0 | 1, chosen: Uint8Array): void {
  for (let at = 0; at < chosen.length; at++) {
    chosen[at]! &= (low <= column[at]! && column[at]! < high ? 1 : 0) ^ turned;
  }
}

function byTable(column: ArrayLike<number>, table: Uint8Array, turned: 0 | 1, chosen: Uint8Array): void {
  for (let at = 0; at < chosen.length; at++) chosen[at]! &= table[column[at]!]! ^ turned;
}

function limitsWindow<T>(limits: Limits<T>, number: (value: T) => number): Window {
  const value = number(limits.value);
  switch (limits.kind) {
    case "=":
      return { low: value, high: value + 1 };
    case "<":
      return { low: -Infinity, high: value };
    case "<=":
      return { low: -Infinity, high: value + 1 };
    case ">":
      return { low: value + 1, high: Infinity };
    case ">=":
      return { low: value, high: Infinity };
    case "between":
      return { low: value, high: number(limits.below) };
  }
}
