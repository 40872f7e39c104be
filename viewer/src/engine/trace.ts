// A trace of the page: its columns, and what was asked of it last.

import type * as api from "./api";
import { Answer } from "./answer";
import { Bundle, type Section } from "./bundle";
import { type Columns, readColumns } from "./columns";
import type { Facts } from "./facts";
import { type FrameView, parseView, writtenView } from "./filter/frames";
import { isMistake, parseFilter } from "./filter/parse";
import { type Term, writtenTerms } from "./filter/term";
import { findGroups, type Groups } from "./holdings";
import { choose, oldHeapBirths } from "./judge";
import { type Backtraces, readBacktraces } from "./names";
import { callsiteLines } from "./reason";
import { type Lives, replay } from "./replay";
import { shape } from "./shape";
import { untold } from "./told";
import { findSites, type Sites } from "./sites";

/** So many answers, choices and shapes of backtraces are kept. */
const KEPT = 4;

export class Trace implements api.Trace {
  readonly facts: Facts;
  readonly documents: Record<string, any>;
  readonly heap: any | null;
  readonly memory: api.Trace["memory"];
  readonly cycles: api.Trace["cycles"];
  readonly columns: Columns;
  readonly backtraces: Backtraces;
  private knownGroups: Groups | null = null;
  private knownCallsites: Uint32Array | null = null;
  private readonly answers = new Recent<Answer>();
  private readonly lives = new Recent<Lives>();
  private readonly sites = new Recent<Sites>();

  constructor(bundle: Bundle) {
    ({ facts: this.facts, documents: this.documents, heap: this.heap } = bundle);
    this.backtraces = readBacktraces(bundle);
    this.columns = readColumns(bundle, this.backtraces.nodes);
    const time = bundle.numbers("memory.time");
    const figure = (name: string) => orMissing(bundle.numbers(name), time.length);
    this.memory = { time, resident: figure("memory.resident"), heap: figure("memory.heap"), live: figure("memory.live") };
    const begin = bundle.numbers("cycle.begin");
    const generation = bundle.column("cycle.generation", begin.length);
    this.cycles = { begin, end: bundle.numberColumn("cycle.end", begin.length), generation: Uint8Array.from(generation) };
  }

  get sampleCount(): number {
    return this.columns.count;
  }

  ask(question: api.Question): Answer | api.Mistake {
    const terms = parseFilter(question.filter);
    if (isMistake(terms)) return terms;
    const refusal = untold(question.filter, terms, this.facts);
    if (refusal !== null) return refusal;
    const view = parseView(question.hide, question.focus, question.collapseRecursion);
    if (isMistake(view)) return view;
    const key = [writtenTerms(terms), question.metric, writtenView(view)].join("\n");
    return this.answers.get(key, () => {
      const lives = this.lives.get(writtenTerms(terms), () => this.choose(terms));
      return new Answer(question, this, lives, this.groups(), this.sitesOf(view), terms);
    });
  }

  /** Samples by what they have in common. */
  groups(): Groups {
    return (this.knownGroups ??= findGroups(this.columns));
  }

  callsites(): Uint32Array {
    return (this.knownCallsites ??= callsiteLines(this.backtraces));
  }

  sitesOf(view: FrameView): Sites {
    return this.sites.get(writtenView(view), () => findSites(shape(this.backtraces, view)));
  }

  private choose(terms: Term[]): Lives {
    const { columns, facts } = this;
    const { chosen, inOldHeap } = choose(this, terms);
    if (!inOldHeap) return replay(columns, chosen, columns.birth, null);
    const { promoted, kind, kinds } = columns;
    const begins = new Uint8Array(columns.count);
    for (let at = 0; promoted !== null && at < begins.length; at++) {
      const isBornOld = facts.sources[kinds.source[kind[at]!]!]!.source === "major";
      begins[at] = promoted[at] === promoted[at] && !isBornOld ? 1 : 0;
    }
    return replay(columns, chosen, oldHeapBirths(this), begins);
  }
}

function orMissing<T extends Section>(column: T, length: number): Float64Array {
  return column.length === length ? (column as unknown as Float64Array) : new Float64Array(length).fill(NaN);
}

/** What was made last, by what it was made of. */
class Recent<T> {
  private readonly made = new Map<string, T>();

  get(key: string, make: () => T): T {
    const found = this.made.get(key) ?? make();
    this.made.delete(key);
    this.made.set(key, found);
    if (this.made.size > KEPT) this.made.delete(this.made.keys().next().value!);
    return found;
  }
}
