// What is summed up is what sums say when they are made one by one.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Metric } from "../../src/engine/api";
import type { Answer } from "../../src/engine/answer";
import { interval } from "../../src/engine/estimate";
import { isMistake, parseFilter } from "../../src/engine/filter/parse";
import { parseView } from "../../src/engine/filter/frames";
import { factsOf, type MadeLine, type MadeSample } from "../support/bundle";
import { random, server, small } from "../support/made-up";
import { callsiteOf, holds, shown } from "../support/naive";
import { filter, frames } from "../support/questions";
import { opened } from "../support/opened";

const METRICS: Metric[] = ["allocated", "live", "peak", "objects", "byte-seconds"];

function close(found: number, expected: number, what: string): void {
  assert.ok(Math.abs(found - expected) <= 1e-9 * Math.max(1, Math.abs(expected)), `${what}: ${found}, not ${expected}`);
}

/** What a sample has of a metric. */
function valueOf(sample: MadeSample, metric: Metric, atPeak: Set<MadeSample>, duration: number): number {
  const counts = { live: sample.died === undefined, peak: atPeak.has(sample) } as Record<string, boolean>;
  if (counts[metric] === false) return 0;
  if (metric === "objects") return sample.growth ? 0 : sample.weight;
  const bytes = sample.weight * sample.bytes;
  if (metric !== "byte-seconds") return bytes;
  return (bytes * Math.max(0, (sample.died ?? duration) - sample.born)) / 1e6;
}

/** Those that live when most bytes do, for the first time; births come before deaths in one microsecond. */
function peakOf(samples: MadeSample[]): Set<MadeSample> {
  let [most, found] = [0, [] as MadeSample[]];
  samples.forEach((sample, at) => {
    const alive = samples.slice(0, at + 1).filter(({ died }) => died === undefined || died >= sample.born);
    const bytes = alive.reduce((sum, it) => sum + it.weight * it.bytes, 0);
    if (bytes > most + 1e-9) [most, found] = [bytes, alive];
  });
  return new Set(found);
}

const placeOf = (line: MadeLine | null) =>
  line === null || line.code !== undefined ? "?" : `${line.function}|${line.file}|${line.line ?? null}`;

test("callsites, trees and totals have what the chosen samples have", () => {
  for (let seed = 0; seed < 200; seed++) {
    const made = small(seed);
    const [facts, draw] = [factsOf(made), random(seed + 7)];
    const question = { filter: filter(draw), metric: draw.pick(METRICS), ...frames(draw) };
    const terms = parseFilter(question.filter);
    const view = parseView(question.hide, question.focus, question.collapseRecursion);
    assert.ok(!isMistake(terms) && !isMistake(view));
    if (question.filter.includes("in old heap")) continue;
    const answer = opened(made).ask(question) as Answer;
    const samples = made.samples.filter((sample) => holds(terms, sample, facts));
    assert.equal(answer.samples, samples.length);
    const atPeak = peakOf(samples);
    const value = (sample: MadeSample, metric = question.metric) => valueOf(sample, metric, atPeak, facts.duration);
    const total = (of: (sample: MadeSample) => number) => samples.reduce((sum, sample) => sum + of(sample), 0);
    for (const metric of ["allocated", "live", "peak"] as const) {
      close(answer.totals[metric].bytes.value, total((it) => value(it, metric)), `seed ${seed}: ${metric}`);
    }
    const bySite = new Map<string, number>();
    const roots = new Map<string, number>();
    for (const sample of samples) {
      const lines = shown(view, sample.frames.flat());
      if (lines === null) continue;
      const at = callsiteOf(lines);
      const site = placeOf(at === null ? null : lines[at]!);
      bySite.set(site, (bySite.get(site) ?? 0) + value(sample));
      if (lines.length > 0) roots.set(placeOf(lines[0]!), (roots.get(placeOf(lines[0]!)) ?? 0) + value(sample));
    }
    const found = new Map<string, number>();
    const named = (line: { function: string | null; file: string | null; line: number | null } | null) =>
      line === null || line.function === null ? "?" : `${line.function}|${line.file}|${line.line}`;
    for (const row of answer.callsites()) found.set(named(row.line), (found.get(named(row.line)) ?? 0) + row.value.value);
    for (const [site, sum] of bySite) close(found.get(site) ?? 0, sum, `seed ${seed}: ${site}`);
    const tree = answer.tree(false);
    const outermost = new Map<string, number>();
    for (const node of tree.children(0)) {
      const name = named(tree.lines[tree.line[node]!]!);
      outermost.set(name, (outermost.get(name) ?? 0) + tree.total[node]!);
    }
    for (const [name, sum] of roots) close(outermost.get(name) ?? 0, sum, `seed ${seed}: root ${name}`);
    const all = [...bySite.values()].reduce((sum, it) => sum + it, 0);
    close(tree.total[0]!, all, `seed ${seed}: tree`);
    close(answer.tree(true).total[0]!, all, `seed ${seed}: inverted tree`);
  }
});

test("a node of a tree has what its children have, and its own", () => {
  const answer = opened(server(800)).ask({ filter: "", metric: "allocated", hide: [], focus: "", collapseRecursion: false }) as Answer;
  const sandwich = answer.sandwich("parse");
  for (const tree of [answer.tree(false), answer.tree(true), sandwich.callers, sandwich.callees]) {
    for (let node = 0; node < tree.parent.length; node++) {
      const children = tree.children(node);
      const below = children.reduce((sum, child) => sum + tree.total[child]!, 0);
      close(tree.total[node]!, below + tree.own[node]!, `node ${node}`);
      children.forEach((child, at) => at > 0 && assert.ok(tree.total[children[at - 1]!]! >= tree.total[child]!));
    }
  }
  const { function: name } = sandwich.callers.lines[sandwich.callers.line[sandwich.callers.children(0)[0]!]!]!;
  assert.equal(name, "serve");
  close(sandwich.callers.total[0]!, sandwich.total.value, "callers");
  close(sandwich.callees.total[0]!, sandwich.total.value, "callees");
  const parse = answer.functions().find((row) => row.function === "parse")!;
  close(sandwich.total.value, parse.total.value, "the function");
});

test("what lives over time is what is born and not yet dead", () => {
  const made = server(500);
  const answer = opened(made).ask({ filter: "", metric: "allocated", hide: [], focus: "", collapseRecursion: false }) as Answer;
  const { duration } = factsOf(made);
  const alive = (time: number) =>
    made.samples.reduce((sum, it) => sum + (it.born <= time && (it.died ?? Infinity) > time ? it.weight * it.bytes : 0), 0);
  const line = answer.timeline(40, 100);
  line.parts.slice(0, -1).forEach((part) => close(part.atEnd.value, alive(part.end - 1), `at ${part.end}`));
  close(line.parts.at(-1)!.atEnd.value, alive(duration), "at the end");
  line.parts.slice(0, -1).forEach((_, at) => {
    const sum = line.callsites.reduce((all, site) => all + site.atEnd[at]!, 0);
    assert.ok(sum <= line.parts[at]!.atEnd.value * (1 + 1e-9) && sum > 0.9 * line.parts[at]!.atEnd.value);
  });
  const part = answer.timeline(10, 5, 200_000, 400_000);
  part.parts.forEach(({ end, atEnd }) => close(atEnd.value, alive(end - 1), `zoomed at ${end}`));
  const site = answer.callsites().find((row) => row.line!.function === "createClient")!;
  const steps = answer.growth(site.id, 11);
  close(steps[10]!, site.live.bytes.value, "growth");
});

test("intervals are those of the command", () => {
  // docs/sampling.md: of one sample that stands for as much as it says, and of what is certain.
  const one = interval(100, 10_000, 100);
  assert.ok(one.low > 2 && one.low < 10 && one.high > 470 && one.high < 560, JSON.stringify(one));
  assert.deepEqual(interval(7, 0, 0), { low: 7, high: 7 });
  const difference = interval(-3, 4, 0);
  close(difference.low, -3 - 2 * 1.959963984540054, "low");
});
