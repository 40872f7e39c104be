// Live bytes over time, and whose they were (crates/analysis/src/timeline.rs).

import type { Timeline } from "./api";
import { type Estimate, measuredOf } from "./estimate";
import { DEATH } from "./columns";
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
  sites: Sites,
  duration: number,
  count: number,
  top: number,
  begin = 0,
  end = duration,
): Timeline {
  const parts: Parts = { count: Math.max(1, Math.floor(count)), begin, end: Math.max(end, begin + 1), isToEnd: end >= duration };
  const rows = rowsOf(lives, sites, parts.count);
  const found = new Walk(lives, sites, parts, rows).all();
  const all = Array.from({ length: parts.count }, (_, part) => part);
  const most = all.reduce((greatest, part) => Math.max(greatest, found.atEnd.valueAt(part)), 1);
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
      most: measuredOf(found.most.at(part)),
      atEnd: measuredOf(found.atEnd.at(part)),
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
  /** By callsite: its row, or `LEFT_OUT`. */
  of: Uint32Array;
}

function rowsOf({ columns, chosen }: Lives, sites: Sites, parts: number): Rows {
  const bytes = new Float64Array(sites.count);
  for (let sample = 0; sample < chosen.length; sample++) {
    const site = chosen[sample] === 1 ? sites.ofBacktrace[columns.node[sample]!]! : LEFT_OUT;
    if (site !== LEFT_OUT) bytes[site]! += columns.kinds.ofBytes.value[columns.kind[sample]!]!;
  }
  const found = Array.from(bytes, (_, site) => site).filter((site) => bytes[site]! > 0);
  found.sort((a, b) => bytes[b]! - bytes[a]!);
  found.length = Math.min(found.length, Math.max(1, Math.floor(MOST_CELLS / (parts + 1))));
  const of = new Uint32Array(sites.count).fill(LEFT_OUT);
  found.forEach((site, row) => (of[site] = row));
  return { sites: found, of };
}

/** A sum that comes back to where it was, to twice the precision of a number. */
class ExactSum {
  private high = 0;
  private low = 0;

  add(value: number): void {
    const sum = this.high + value;
    const rest = sum - this.high;
    this.low += this.high - (sum - rest) + (value - rest);
    this.high = sum;
  }

  get value(): number {
    const sum = this.high + this.low;
    return sum > 0 ? sum : 0;
  }
}

/** Estimates by part of the time. */
class Estimates {
  private readonly value: Float64Array;
  private readonly variance: Float64Array;
  private readonly uncertain: Float64Array;

  constructor(count: number) {
    [this.value, this.variance, this.uncertain] = [new Float64Array(count), new Float64Array(count), new Float64Array(count)];
  }

  set(part: number, value: number, variance: number, uncertain: number): void {
    this.value[part] = value;
    this.variance[part] = variance;
    this.uncertain[part] = uncertain;
  }

  valueAt(part: number): number {
    return this.value[part]!;
  }

  at(part: number): Estimate {
    return { value: this.value[part]!, variance: this.variance[part]!, uncertain: this.uncertain[part]! };
  }
}

class Walk {
  readonly most: Estimates;
  readonly atEnd: Estimates;
  private readonly value = new ExactSum();
  private readonly variance = new ExactSum();
  private readonly uncertain = new ExactSum();
  private blocks = 0;
  /** Changes of each row in each part; the first column is what was before all. */
  private readonly blocksOf: Int32Array;
  private readonly valueOf: Float64Array;
  private readonly varianceOf: Float64Array;
  /** Up to this part, all have what was live then; before the first one it is -1. */
  private reached = -1;

  constructor(
    private readonly lives: Lives,
    private readonly sites: Sites,
    private readonly parts: Parts,
    private readonly rows: Rows,
  ) {
    [this.most, this.atEnd] = [new Estimates(parts.count), new Estimates(parts.count)];
    const cells = rows.sites.length * (parts.count + 1);
    this.blocksOf = new Int32Array(cells);
    [this.valueOf, this.varianceOf] = [new Float64Array(cells), new Float64Array(cells)];
  }

  all(): this {
    const { events, death } = this.lives.columns;
    for (let at = 0; at < events.length; at++) {
      const event = events[at]!;
      const sample = event >>> 2;
      if (this.lives.chosen[sample] === 0) continue;
      const isDeath = (event & 3) === DEATH;
      if (!isDeath && !isBegin(this.lives, event)) continue;
      const part = this.partAt(isDeath ? death[sample]! : this.lives.born[sample]!);
      if (part >= this.parts.count) continue;
      this.change(sample, part, isDeath ? -1 : 1);
    }
    this.reach(this.parts.count - 1);
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

  /** -1 before the first one. */
  private partAt(time: number): number {
    const { begin, end, count, isToEnd } = this.parts;
    if (time < begin) return -1;
    const part = Math.floor(((time - begin) * count) / (end - begin));
    return isToEnd ? Math.min(part, count - 1) : part;
  }

  private change(sample: number, part: number, sign: 1 | -1): void {
    const { kind, kinds, node } = this.lives.columns;
    const at = kind[sample]!;
    this.reach(part);
    this.blocks += sign;
    this.value.add(sign * kinds.ofBytes.value[at]!);
    this.variance.add(sign * kinds.ofBytes.variance[at]!);
    this.uncertain.add(sign * kinds.ofBytes.uncertain[at]!);
    if (part >= 0) {
      this.note(this.atEnd, part);
      if (this.value.value > this.most.valueAt(part)) this.note(this.most, part);
    }
    const site = this.sites.ofBacktrace[node[sample]!]!;
    const row = site === LEFT_OUT ? LEFT_OUT : this.rows.of[site]!;
    if (row === LEFT_OUT) return;
    const cell = row * (this.parts.count + 1) + part + 1;
    this.blocksOf[cell]! += sign;
    this.valueOf[cell]! += sign * kinds.ofBytes.value[at]!;
    this.varianceOf[cell]! += sign * kinds.ofBytes.variance[at]!;
  }

  /** What lives now. */
  private note(into: Estimates, part: number): void {
    if (this.blocks === 0) into.set(part, 0, 0, 0);
    else into.set(part, this.value.value, this.variance.value, this.uncertain.value);
  }

  /** Time has come to this part. */
  private reach(part: number): void {
    while (this.reached < part) {
      this.reached++;
      this.note(this.most, this.reached);
      this.note(this.atEnd, this.reached);
    }
  }
}

/** Live bytes of a callsite at equal steps from the start to the end. */
export function growth(lives: Lives, sites: Sites, site: number, duration: number, steps: number): Float64Array {
  const { columns, chosen, born } = lives;
  const live = new Float64Array(steps);
  const after = (time: number) => Math.ceil((time * (steps - 1)) / Math.max(1, duration));
  for (let sample = 0; sample < chosen.length; sample++) {
    if (chosen[sample] === 0 || sites.ofBacktrace[columns.node[sample]!] !== site) continue;
    const bytes = columns.kinds.ofBytes.value[columns.kind[sample]!]!;
    const [from, until] = [after(born[sample]!), after(columns.death[sample]!)];
    if (from < steps) live[from]! += bytes;
    if (until < steps) live[until]! -= bytes;
  }
  for (let step = 1; step < steps; step++) live[step]! += live[step - 1]!;
  return live.map((bytes) => Math.max(0, bytes));
}
