// Live bytes over time, and whose they were (crates/analysis/src/timeline.rs).

import type { Timeline } from "./api";
import { type Estimate, measuredOf } from "./estimate";
import { DEATH } from "./columns";
import { type Holdings, sumMetric } from "./holdings";
import { exactSum } from "./kinds";
import { isBegin, type Lives } from "./replay";
import { LEFT_OUT } from "./shape";
import { type Sites, siteLine } from "./sites";

/** A callsite is told if it ever had this part of the most that was live. */
const LEAST_SHARE = 0.005;
/** So many numbers are kept for callsites and parts of the time; of more callsites, those that allocated most. */
const MOST_CELLS = 4_000_000;

/** Parts of the time; `before` the first of them is what lived then. */
interface Parts {
  count: number;
  begin: number;
  end: number;
  /** To the end of the trace: then what happens in its last moment belongs to the last part. */
  isToEnd: boolean;
}

export function timeline(
  lives: Lives,
  holdings: Holdings,
  sites: Sites,
  duration: number,
  count: number,
  top: number,
  begin = 0,
  end = duration,
): Timeline {
  const parts: Parts = { count: Math.max(1, Math.floor(count)), begin, end: Math.max(end, begin + 1), isToEnd: end >= duration };
  const rows = rowsOf(holdings, sites, parts.count);
  const found = new Walk(lives, parts, rows).all();
  const all = Array.from({ length: parts.count }, (_, part) => part);
  const most = all.reduce((greatest, part) => Math.max(greatest, found.atEnd.value[part]!), 1);
  const length = parts.end - parts.begin;
  const edge = (part: number) => parts.begin + Math.floor((length * part) / parts.count);
  const callsites = rows.sites
    .map((site, row) => ({ site, ...found.series(row) }))
    .map((it) => ({ ...it, greatest: it.atEnd.reduce((a, b) => Math.max(a, b), 0) / most }))
    .filter((it) => it.greatest >= LEAST_SHARE)
    .sort((a, b) => b.greatest - a.greatest || a.site - b.site);
  return {
    begin: parts.begin,
    end: parts.end,
    parts: all.map((part) => ({
      begin: edge(part),
      end: edge(part + 1),
      most: measuredOf(estimateAt(found.most, part)),
      atEnd: measuredOf(estimateAt(found.atEnd, part)),
    })),
    callsitesTotal: callsites.length,
    callsites: callsites.slice(0, top).map(({ site, atEnd, variance }) => ({
      callsite: site,
      line: siteLine(sites, site),
      atEnd,
      variance,
    })),
  };
}

/** The callsites that are looked at. */
interface Rows {
  sites: number[];
  /** By node of the backtraces: the row of its callsite, or `LEFT_OUT`. */
  ofNode: Uint32Array;
}

function rowsOf(holdings: Holdings, sites: Sites, parts: number): Rows {
  const bytes = sumMetric([{ holdings, target: sites.ofBacktrace }], sites.count, "allocated").value;
  const found = Array.from(bytes, (_, site) => site).filter((site) => bytes[site]! > 0);
  found.sort((a, b) => bytes[b]! - bytes[a]!);
  found.length = Math.min(found.length, Math.max(1, Math.floor(MOST_CELLS / (parts + 1))));
  const rowOf = new Uint32Array(sites.count).fill(LEFT_OUT);
  found.forEach((site, row) => (rowOf[site] = row));
  const ofNode = sites.ofBacktrace.map((site) => (site === LEFT_OUT ? LEFT_OUT : rowOf[site]!));
  return { sites: found, ofNode };
}

/** Estimates by part of the time. */
interface Estimates {
  value: Float64Array;
  variance: Float64Array;
  uncertain: Float64Array;
}

function newEstimates(count: number): Estimates {
  return { value: new Float64Array(count), variance: new Float64Array(count), uncertain: new Float64Array(count) };
}

function estimateAt({ value, variance, uncertain }: Estimates, part: number): Estimate {
  return { value: value[part]!, variance: variance[part]!, uncertain: uncertain[part]! };
}

/** What rounding took from a sum to which a value was added (Knuth 1969): so sums come back to where they were. */
function lostOf(before: number, value: number, after: number): number {
  const rest = after - before;
  return before - (after - rest) + (value - rest);
}

/** What lived in each part of the time: of everything, and of each callsite. */
class Walk {
  readonly most: Estimates;
  readonly atEnd: Estimates;
  /** Changes of each row in each part; the first column is what was before all. */
  private readonly blocksOf: Int32Array;
  private readonly valueOf: Float64Array;
  private readonly varianceOf: Float64Array;
  /** Up to this part, all have what was live then; before the first one it is -1. */
  private reached = -1;

  constructor(
    private readonly lives: Lives,
    private readonly parts: Parts,
    private readonly rows: Rows,
  ) {
    [this.most, this.atEnd] = [newEstimates(parts.count), newEstimates(parts.count)];
    const cells = rows.sites.length * (parts.count + 1);
    this.blocksOf = new Int32Array(cells);
    [this.valueOf, this.varianceOf] = [new Float64Array(cells), new Float64Array(cells)];
  }

  /** One loop without calls that keep anything: it goes over millions of events. */
  all(): this {
    const { columns, chosen, born } = this.lives;
    const { events, death, kind, kinds, node } = columns;
    const { value: values, variance: variances, uncertain: uncertains } = kinds.ofBytes;
    const { whole, part: fraction } = kinds.exactBytes;
    const { most, atEnd, rows } = this;
    const { begin, end, count, isToEnd } = this.parts;
    let [blocks, wholes, fractions, value] = [0, 0, 0, 0];
    let [variance, varianceLost, uncertain, uncertainLost] = [0, 0, 0, 0];
    for (let at = 0; at < events.length; at++) {
      const event = events[at]!;
      const sample = event >>> 2;
      if (chosen[sample] === 0) continue;
      const isDeath = (event & 3) === DEATH;
      if (!isDeath && !isBegin(this.lives, event)) continue;
      const time = isDeath ? death[sample]! : born[sample]!;
      let part = time < begin ? -1 : Math.floor(((time - begin) * count) / (end - begin));
      if (part >= count) {
        if (!isToEnd) continue;
        part = count - 1;
      }
      if (part > this.reached) this.reach(part, blocks, value, variance + varianceLost, uncertain + uncertainLost);
      const of = kind[sample]!;
      const sign = isDeath ? -1 : 1;
      const more = sign * variances[of]!;
      const moreUncertain = sign * uncertains[of]!;
      const nextVariance = variance + more;
      const nextUncertain = uncertain + moreUncertain;
      varianceLost += lostOf(variance, more, nextVariance);
      uncertainLost += lostOf(uncertain, moreUncertain, nextUncertain);
      variance = nextVariance;
      uncertain = nextUncertain;
      blocks += sign;
      wholes += sign * whole[of]!;
      fractions += sign * fraction[of]!;
      value = exactSum(wholes, fractions);
      if (part >= 0) {
        set(atEnd, part, blocks, value, variance + varianceLost, uncertain + uncertainLost);
        if (value > most.value[part]!) set(most, part, blocks, value, variance + varianceLost, uncertain + uncertainLost);
      }
      const row = rows.ofNode[node[sample]!]!;
      if (row === LEFT_OUT) continue;
      const cell = row * (count + 1) + part + 1;
      this.blocksOf[cell]! += sign;
      this.valueOf[cell]! += sign * values[of]!;
      this.varianceOf[cell]! += more;
    }
    this.reach(count - 1, blocks, value, variance + varianceLost, uncertain + uncertainLost);
    return this;
  }

  /** What a row had at the end of each part. */
  series(row: number): { atEnd: Float64Array; variance: Float64Array } {
    const [atEnd, variances] = [new Float64Array(this.parts.count), new Float64Array(this.parts.count)];
    let [blocks, value, variance] = [0, 0, 0];
    for (let part = -1; part < this.parts.count; part++) {
      const cell = row * (this.parts.count + 1) + part + 1;
      blocks += this.blocksOf[cell]!;
      value += this.valueOf[cell]!;
      variance += this.varianceOf[cell]!;
      // What is left of what was added and taken away again is rounding.
      if (part < 0 || blocks === 0) continue;
      atEnd[part] = Math.max(0, value);
      variances[part] = Math.max(0, variance);
    }
    return { atEnd, variance: variances };
  }

  /** Time has come to this part. */
  private reach(part: number, blocks: number, value: number, variance: number, uncertain: number): void {
    while (this.reached < part) {
      this.reached++;
      set(this.most, this.reached, blocks, value, variance, uncertain);
      set(this.atEnd, this.reached, blocks, value, variance, uncertain);
    }
  }
}

/** What lives now; where nothing does, what is left of variances is rounding. */
function set(into: Estimates, part: number, blocks: number, value: number, variance: number, uncertain: number): void {
  into.value[part] = value;
  into.variance[part] = blocks === 0 ? 0 : variance;
  into.uncertain[part] = blocks === 0 ? 0 : uncertain;
}

/** Live bytes of a callsite at equal steps from the start to the end. */
export function growth(lives: Lives, sites: Sites, site: number, duration: number, steps: number): Float64Array {
  const { columns, chosen, born } = lives;
  const { node, kind, kinds, death } = columns;
  const { ofBacktrace } = sites;
  const live = new Float64Array(steps);
  const [last, span] = [steps - 1, Math.max(1, duration)];
  for (let sample = 0; sample < chosen.length; sample++) {
    if (chosen[sample] === 0 || ofBacktrace[node[sample]!] !== site) continue;
    const bytes = kinds.ofBytes.value[kind[sample]!]!;
    const from = Math.ceil((born[sample]! * last) / span);
    const until = Math.ceil((death[sample]! * last) / span);
    if (from < steps) live[from]! += bytes;
    if (until < steps) live[until]! -= bytes;
  }
  for (let step = 1; step < steps; step++) live[step]! += live[step - 1]!;
  return live.map((bytes) => Math.max(0, bytes));
}
