// One question to one trace: what was chosen, and all that can be asked of it. Whatever is asked is found when it is asked
// for the first time.

import type * as api from "./api";
import { type Accounts, backtracesOf, callsites, framesOf, liveOf } from "./callsites";
import { classes } from "./classes";
import { isOfSome, ofAll } from "./estimate";
import { functions, functionTotals, type FunctionTotals } from "./functions";
import { type Groups, hold, type Holdings, promotedOf, totalOf } from "./holdings";
import { density, lifetimes, survivalOf, temporary } from "./lifetimes";
import type { Judged } from "./judge";
import { hotPaths } from "./paths";
import type { Lives } from "./replay";
import { writtenTerms, type Term } from "./filter/term";
import type { Sites } from "./sites";
import { sizes, threads } from "./threads";
import { growth, timeline } from "./timeline";
import { sandwich, tree } from "./trees";

export class Answer implements api.Answer {
  readonly canonical: string | null;
  readonly samples: number;
  readonly totals: api.Answer["totals"];
  readonly holdings: Holdings;
  readonly accounts: Accounts;
  private readonly known = new Map<string, unknown>();

  constructor(
    readonly question: api.Question,
    readonly trace: Judged,
    readonly lives: Lives,
    private readonly groups: Groups,
    readonly sites: Sites,
    terms: Term[],
  ) {
    const { facts } = trace;
    this.canonical = terms.length === 0 ? null : writtenTerms(terms);
    this.samples = lives.count;
    this.holdings = hold(lives, groups, facts.duration);
    const part = { holdings: this.holdings, target: sites.shaped.of };
    this.accounts = { facts, sites, parts: [part], metric: question.metric };
    const ofSome = isOfSome(facts, this.canonical);
    const total = (metric: "allocated" | "live" | "peak") => ofAll(totalOf(this.holdings, metric), facts, ofSome);
    this.totals = {
      allocated: total("allocated"),
      promoted: ofAll(promotedOf(lives, facts), facts, ofSome),
      peak: total("peak"),
      peakTime: lives.peakTime,
      live: total("live"),
    };
  }

  callsites(): api.Callsite[] {
    return this.once("callsites", () => callsites(this.accounts));
  }

  tree(inverted: boolean): api.Tree {
    return this.once(`tree ${inverted}`, () => tree(this.accounts, inverted));
  }

  paths(): api.HotPath[] {
    return this.once("paths", () => hotPaths(this.accounts));
  }

  functions(): api.FunctionRow[] {
    return this.once("functions", () => functions(this.accounts));
  }

  /** Functions by another metric, for comparisons. */
  functionTotals(metric: api.Metric): FunctionTotals[] {
    return functionTotals({ ...this.accounts, metric });
  }

  classes(): api.ClassRow[] {
    return this.once("classes", () => classes(this.accounts, this.trace.backtraces));
  }

  threads(): api.ThreadRow[] {
    return this.once("threads", () => threads(this.lives, this.trace.facts));
  }

  sizes(): api.SizeRow[] {
    return this.once("sizes", () => sizes(this.holdings, this.trace.facts));
  }

  timeline(parts: number, top: number, begin?: number, end?: number): api.Timeline {
    const { duration } = this.trace.facts;
    const key = `timeline ${parts} ${top} ${begin} ${end}`;
    return this.once(key, () => timeline(this.lives, this.holdings, this.sites, duration, parts, top, begin, end));
  }

  lifetimes(callsite?: number): api.Lifetimes {
    const { duration } = this.trace.facts;
    return this.once(`lifetimes ${callsite}`, () => lifetimes(survivalOf(this.lives, this.sites, duration, callsite)));
  }

  temporary(below: number): api.TemporaryRow[] {
    return this.once(`temporary ${below}`, () => temporary(this.accounts, this.lives, this.groups, below));
  }

  density(): api.Density {
    return this.once("density", () => density(this.lives));
  }

  sandwich(functionName: string): ReturnType<api.Answer["sandwich"]> {
    return this.once(`sandwich ${functionName}`, () => sandwich(this.accounts, functionName));
  }

  backtraces(callsite: number, top: number): ReturnType<api.Answer["backtraces"]> {
    return this.once(`backtraces ${callsite} ${top}`, () => backtracesOf(this.accounts, callsite, top));
  }

  growth(callsite: number, steps: number): Float64Array {
    const { duration } = this.trace.facts;
    return this.once(`growth ${callsite} ${steps}`, () => growth(this.lives, this.sites, callsite, duration, steps));
  }

  liveOf(places: Pick<api.Line, "function" | "file" | "line">[]): api.Measured | null {
    return liveOf(this.accounts, places);
  }

  frames(backtrace: number): api.Line[] {
    return framesOf(this.sites.shaped, backtrace);
  }

  /** What was found before, or is found now. */
  private once<T>(key: string, find: () => T): T {
    if (!this.known.has(key)) this.known.set(key, find());
    return this.known.get(key) as T;
  }
}
