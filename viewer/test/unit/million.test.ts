// A million samples: what is summed up in different ways is the same.

import assert from "node:assert/strict";
import { test } from "node:test";
import { engine } from "../../src/engine";
import { wide } from "../support/made-up";
import { asked, opened } from "../support/opened";

const COUNT = 1_000_000;
const made = wide(COUNT);
const trace = opened(made);

function near(found: number, expected: number, what: string): void {
  assert.ok(Math.abs(found - expected) <= 1e-9 * Math.abs(expected), `${what}: ${found}, not ${expected}`);
}

/** What each filter chooses, counted by hand. */
const lived = (at: number) => (made.samples[at]!.died ?? 600_000_000) - made.samples[at]!.born;
const frames = (at: number) => made.samples[at]!.frames.map(([line]) => line!);
const TERMS: [string, (at: number) => boolean][] = [
  ["leaks", (at) => made.samples[at]!.died === undefined],
  ["alive at peak", (at) => made.samples[at]!.born <= 400_000_000 && (made.samples[at]!.died ?? Infinity) > 400_000_000],
  ["innermost fn~_7$", (at) => frames(at).at(-2)!.function === "fn_7"],
  ["lifetime>=1min", (at) => lived(at) >= 60_000_000],
  ["file=file_7.c", (at) => frames(at).some((line) => line.file === "/src/file_7.c")],
  ["allocated 10%..50%", (at) => made.samples[at]!.born >= 60_000_000 && made.samples[at]!.born < 300_000_000],
];

test("a filter and its opposite part all samples", () => {
  const all = asked(trace, {});
  for (const [term, holds] of TERMS) {
    const [those, others] = [asked(trace, { filter: term }), asked(trace, { filter: `not ${term}` })];
    let expected = 0;
    for (let at = 0; at < COUNT; at++) expected += Number(holds(at));
    assert.ok(expected > 1000 && expected < COUNT - 1000, `${term} parts nothing`);
    assert.deepEqual([those.samples, others.samples], [expected, COUNT - expected], term);
    for (const metric of ["allocated", "live"] as const) {
      near(those.totals[metric].bytes.value + others.totals[metric].bytes.value, all.totals[metric].bytes.value, `${term}, ${metric}`);
    }
  }
});

test("callsites, trees, functions' own, sizes, threads and the timeline have all of it", () => {
  const answer = asked(trace, { metric: "live" });
  const { live, allocated } = answer.totals;
  const sum = <T>(rows: T[], of: (row: T) => number) => rows.reduce((all, row) => all + of(row), 0);
  near(sum(answer.callsites(), (row) => row.live.bytes.value), live.bytes.value, "callsites");
  near(sum(answer.callsites(), (row) => row.allocated.bytes.value), allocated.bytes.value, "callsites, allocated");
  for (const inverted of [false, true]) near(answer.tree(inverted).total[0]!, live.bytes.value, "tree");
  near(sum(answer.functions(), (row) => row.own.value), live.bytes.value, "functions");
  near(sum(answer.sizes(), (row) => row.live.bytes.value), live.bytes.value, "sizes");
  near(sum(answer.threads(), (row) => row.live.bytes.value), live.bytes.value, "threads");
  near(answer.density().bytes.reduce((a, b) => a + b, 0), allocated.bytes.value, "density");
  const { parts } = answer.timeline(200, 8);
  near(parts.at(-1)!.atEnd.value, live.bytes.value, "the timeline's end");
  near(Math.max(...parts.map(({ most }) => most.value)), answer.totals.peak.bytes.value, "the timeline's peak");
  near(parts.at(-1)!.atEnd.high, live.bytes.high, "the timeline's interval");
  const together = answer.liveOf(answer.callsites().map((row) => row.line!));
  near(together!.high, live.bytes.high, "callsites together");
});

test("changes of a comparison add up to that of all", () => {
  const [before, after] = ["allocated before 50%", "allocated after 40%"].map((filter) => asked(trace, { filter }));
  const { totals, changes, tree } = engine.compare([before!], [after!]);
  const { change } = totals.allocated!;
  assert.ok(change > 0);
  near(changes.reduce((all, it) => all + it.change, 0), change, "callsites");
  near(tree.after[0]! - tree.before[0]!, change, "tree");
  const own = (of: Float64Array, node: number) => tree.children(node).reduce((rest, child) => rest - of[child]!, of[node]!);
  let all = 0;
  for (let node = 0; node < tree.parent.length; node++) all += own(tree.after, node) - own(tree.before, node);
  assert.ok(Math.abs(all - change) <= 1e-6 * totals.allocated!.after, `nodes: ${all}, not ${change}`);
});
