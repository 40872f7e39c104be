// How long blocks live: quantiles, classes and the curve of all, or of one callsite; and how that goes with their size.

import type { Density, Lifetimes, TemporaryRow } from "./api";
import { type Accounts, callsites, partsBySite } from "./callsites";
import { measured, quantity } from "./estimate";
import { amountAt, type Groups, hold, sumAmounts } from "./holdings";
import { Histogram, interval95, invert, proportionAt, shareAtMost, type Step } from "./histogram";
import type { Lives } from "./replay";
import { LEFT_OUT } from "./shape";
import { type Sites } from "./sites";
import { curve, type Survival, unitOf } from "./survival";
import { leastOfClass, sizeClass } from "./threads";

const QUANTILES = [0.1, 0.5, 0.9, 0.99, 0.999];
/** 0, 1, 3, 10, 30...: to the eye equal steps. */
const BEGINS = [0, ...Array.from({ length: 18 }, (_, power) => [10 ** power, 3 * 10 ** power]).flat()];

/** Of all callsites, or of one; what is left out of the backtraces is left out. */
export function survivalOf(lives: Lives, sites: Sites, duration: number, callsite?: number): Survival {
  const { columns, chosen, born } = lives;
  const { node, kind, kinds, death } = columns;
  const survival = { died: new Histogram(), watched: new Histogram() };
  for (let sample = 0; sample < chosen.length; sample++) {
    if (chosen[sample] === 0) continue;
    const site = sites.ofBacktrace[node[sample]!]!;
    if (site === LEFT_OUT || (callsite !== undefined && site !== callsite)) continue;
    const died = death[sample]!;
    if (died === Infinity) survival.watched.add(Math.max(0, duration - born[sample]!), kinds, kind[sample]!);
    else survival.died.add(Math.max(0, died - born[sample]!), kinds, kind[sample]!);
  }
  return survival;
}

export function lifetimes(survival: Survival): Lifetimes {
  const unit = unitOf(survival);
  const [objects, bytes] = [curve(survival, "objects"), curve(survival, "bytes")];
  const steps = unit === "objects" ? objects : bytes;
  const classes = classesOf(objects, bytes);
  return {
    unit,
    quantiles: QUANTILES.map((share) => {
      const { value = null, low = null, high = null } = invert(steps, share) ?? {};
      return { share, value, low, high };
    }),
    classes,
    longer: { objectsShare: longer(objects), bytesShare: longer(bytes) },
    watched: bytes.at(-1)?.greatest ?? 0,
    survival: steps.map((step) => {
      const died = proportionAt(step);
      const [low, high] = interval95(died);
      return { time: step.greatest, share: 1 - died.value, low: 1 - high, high: 1 - low };
    }),
  };
}

/** From the first class that has anything to the last. */
function classesOf(objects: Step[], bytes: Step[]): Lifetimes["classes"] {
  const within = (steps: Step[], age: number) => shareAtMost(steps, age) ?? 0;
  const before = (steps: Step[], age: number) => (age < 1 ? 0 : within(steps, age - 1));
  const classes = BEGINS.map((least, at) => {
    const most = at + 1 < BEGINS.length ? BEGINS[at + 1]! - 1 : 2 ** 64;
    const of = (steps: Step[]) => within(steps, most) - before(steps, least);
    return { least, most, objectsShare: of(objects), bytesShare: of(bytes) };
  });
  const hasAny = (it: Lifetimes["classes"][number]) => it.objectsShare > 0 || it.bytesShare > 0;
  const used = classes.map(hasAny);
  return used.includes(true) ? classes.slice(used.indexOf(true), used.lastIndexOf(true) + 1) : [];
}

/** Nothing is longer where nothing was counted. */
function longer(steps: Step[]): number {
  const last = steps.at(-1);
  return last === undefined ? 0 : Math.min(1, Math.max(0, 1 - shareAtMost(steps, last.greatest)!));
}

/** What was freed before it was so old, by callsite (crates/analysis/src/temporary.rs). */
export function temporary(accounts: Accounts, lives: Lives, groups: Groups, below: number): TemporaryRow[] {
  const { facts, sites } = accounts;
  const { columns, born } = lives;
  const chosen = lives.chosen.map((is, sample) => {
    const lived = Math.max(0, columns.death[sample]! - born[sample]!);
    return is === 1 && lived < below ? 1 : 0;
  });
  const holdings = hold({ ...lives, chosen }, groups, facts.duration);
  const parts = accounts.parts.map(({ target }) => ({ holdings, target }));
  // What is freed soon is not live: then there is nothing but bytes to go by.
  const metric = accounts.metric === "live" || accounts.metric === "peak" ? "allocated" : accounts.metric;
  const allocated = sumAmounts(partsBySite(accounts), sites.count, "allocated");
  const seconds = Math.max(facts.duration / 1e6, 1e-6);
  const [, objects] = sumAmounts(partsBySite({ ...accounts, parts }), sites.count, "allocated");
  return callsites({ ...accounts, parts, metric }).map((row) => ({
    callsite: row.id,
    line: row.line,
    share: row.share,
    temporary: row.allocated,
    allocated: quantity(amountAt(allocated, row.id), facts),
    perSecond: measured(
      objects.value[row.id]! / seconds,
      objects.variance[row.id]! / (seconds * seconds),
      objects.uncertain[row.id]! / seconds,
    ),
    aliveOnAverage: scaled(row.byteSeconds, 1 / seconds),
    hottestShare: row.hottestShare,
    hottest: row.hottest,
    backtraces: row.backtraces,
  }));
}

function scaled({ value, low, high }: { value: number; low: number; high: number }, by: number) {
  return { value: value * by, low: low * by, high: high * by };
}

/** Lifetimes, in classes that begin at powers of two, by sizes, in those of `sizes`; what was not freed is last. */
export function density(lives: Lives): Density {
  const { columns, chosen, born } = lives;
  const { kind, kinds, death } = columns;
  const sizeOf = Uint8Array.from(kinds.bytes, sizeClass);
  const [ages, rows] = [64, 64];
  const [bytes, objects] = [new Float64Array(ages * rows), new Float64Array(ages * rows)];
  let [leastSize, mostSize, mostAge] = [rows, -1, -1];
  for (let sample = 0; sample < chosen.length; sample++) {
    if (chosen[sample] === 0) continue;
    const died = death[sample]!;
    const age = died === Infinity ? ages - 1 : power(Math.max(0, died - born[sample]!));
    const size = sizeOf[kind[sample]!]!;
    bytes[size * ages + age]! += kinds.ofBytes.value[kind[sample]!]!;
    objects[size * ages + age]! += kinds.ofObjects.value[kind[sample]!]!;
    if (died !== Infinity && age > mostAge) mostAge = age;
    if (size < leastSize) leastSize = size;
    if (size > mostSize) mostSize = size;
  }
  const columnsUsed = [...Array(mostAge + 1).keys(), ages - 1];
  const rowsUsed = Array.from({ length: Math.max(0, mostSize - leastSize + 1) }, (_, at) => leastSize + at);
  const pick = (from: Float64Array) =>
    Float64Array.from(rowsUsed.flatMap((size) => columnsUsed.map((age) => from[size * ages + age]!)));
  const begin = (class_: number) => (class_ === 0 ? 0 : 2 ** (class_ - 1));
  return {
    lifetimes: columnsUsed.map((age) => (age === ages - 1 ? Infinity : begin(age))),
    sizes: rowsUsed.map(leastOfClass),
    bytes: pick(bytes),
    objects: pick(objects),
  };
}

/** 0 for 0, 1 for 1, 2 for 2 and 3, 3 for 4 to 7... */
function power(value: number): number {
  if (value < 1) return 0;
  return value < 2 ** 32 ? 32 - Math.clz32(value) : 64 - Math.clz32(value / 2 ** 32);
}

