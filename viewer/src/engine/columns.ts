// The samples of a trace as columns: when each was born, promoted and freed, and the order in which all that was told.

import { type Bundle, DamagedBundle, type Integers, below } from "./bundle";
import { type Kinds, readKinds } from "./kinds";

/** What an event is; its word is four times the sample's number, and this. */
export const BIRTH = 0;
export const DEATH = 1;
export const PROMOTION = 2;

export interface Columns {
  count: number;
  kinds: Kinds;
  node: Integers;
  kind: Integers;
  /** Row of `facts.threads`; without elements if there are none. */
  thread: Integers;
  /** Microseconds since the start. */
  birth: Float64Array;
  /** Infinity for what was never freed. */
  death: Float64Array;
  /** NaN for what was not; null if nothing was. */
  promoted: Float64Array | null;
  /** Row of `facts.threads`, of what was freed; null where nobody tells. */
  freedBy: Uint32Array | null;
  /** All that happened to samples, in the trace's order. */
  events: Uint32Array;
  /** By sample: the numbers of the events of its birth, and of its death; more than there are where it has none. */
  bornAt: Uint32Array;
  diedAt: Uint32Array;
}

export function readColumns(bundle: Bundle, nodes: number): Columns {
  const kind = bundle.integers("sample.kind");
  const count = kind.length;
  const kinds = readKinds(bundle);
  below("sample.kind", kind, kinds.count);
  const node = bundle.column("sample.node", count);
  below("sample.node", node, nodes);
  const threads = bundle.facts.threads.length;
  const thread = threads === 0 ? new Uint8Array(0) : bundle.column("sample.thread", count);
  below("sample.thread", thread, threads);
  const birth = times(bundle, "sample", count);
  const what = bundle.integers("change.what");
  below("change.what", what, 2 * count);
  const change = times(bundle, "change", what.length);
  const lives = livesOf(count, what, change);
  const freedBy = threads === 0 ? null : freeing(bundle, count, what);
  const events = eventsOf(bundle.column("sample.changes", count), what);
  return { count, kinds, node, kind, thread, birth, ...lives, freedBy, ...events };
}

/** Gaps added up; those that do not fit have the rest in pairs. */
function times(bundle: Bundle, of: "sample" | "change", count: number): Float64Array {
  const gaps = bundle.column(`${of}.gap`, count);
  const high = bundle.integers(`${of}.gap_high`);
  const span = 256 ** gaps.BYTES_PER_ELEMENT;
  const rest = new Map<number, number>();
  for (let at = 0; at + 1 < high.length; at += 2) rest.set(high[at]!, (high[at + 1]! | 0) * span);
  const found = new Float64Array(count);
  let time = 0;
  for (let at = 0; at < count; at++) {
    time += gaps[at]!;
    if (rest.size > 0) time += rest.get(at) ?? 0;
    found[at] = time;
  }
  return found;
}

function livesOf(count: number, what: Integers, time: Float64Array): Pick<Columns, "death" | "promoted"> {
  const death = new Float64Array(count).fill(Infinity);
  let promoted: Float64Array | null = null;
  for (let at = 0; at < what.length; at++) {
    const sample = what[at]! >>> 1;
    const isPromotion = (what[at]! & 1) === 1;
    if (death[sample] !== Infinity) throw new DamagedBundle(`the change ${at} is of a sample that was freed before`);
    if (!isPromotion) death[sample] = time[at]!;
    else {
      promoted ??= new Float64Array(count).fill(NaN);
      promoted[sample] = time[at]!;
    }
  }
  return { death, promoted };
}

/** By sample: the thread that freed it. */
function freeing(bundle: Bundle, count: number, what: Integers): Uint32Array | null {
  const by = bundle.integers("change.thread");
  if (by.length === 0) return null;
  below("change.thread", bundle.column("change.thread", what.length), bundle.facts.threads.length);
  const freedBy = new Uint32Array(count);
  for (let at = 0; at < what.length; at++) {
    if ((what[at]! & 1) === 0) freedBy[what[at]! >>> 1] = by[at]!;
  }
  return freedBy;
}

function eventsOf(changes: Integers, what: Integers): Pick<Columns, "events" | "bornAt" | "diedAt"> {
  const events = new Uint32Array(changes.length + what.length);
  const bornAt = new Uint32Array(changes.length);
  const diedAt = new Uint32Array(changes.length).fill(0xffff_ffff);
  let [to, next] = [0, 0];
  const goOn = (until: number, born: number) => {
    if (until > what.length) throw new DamagedBundle("sample.changes has more changes than there are");
    for (; next < until; next++) {
      const sample = what[next]! >>> 1;
      if (sample >= born) throw new DamagedBundle(`the change ${next} is of a sample that is born later`);
      const isDeath = (what[next]! & 1) === 0;
      if (isDeath) diedAt[sample] = to;
      events[to++] = sample * 4 + (isDeath ? DEATH : PROMOTION);
    }
  };
  for (let sample = 0; sample < changes.length; sample++) {
    goOn(next + changes[sample]!, sample);
    bornAt[sample] = to;
    events[to++] = sample * 4 + BIRTH;
  }
  goOn(what.length, changes.length);
  return { events, bornAt, diedAt };
}
