// What views work out before they draw: cells of lifetimes, trees of heaps, sides of a comparison.

import assert from "node:assert/strict";
import { test } from "node:test";
import { keep, questionOf, sideOf } from "../../src/ui/diff/sides";
import { heapTree, waysTo, type Snapshot } from "../../src/ui/heap/retainers";
import { margins, sumOf, termsOf } from "../../src/ui/lifetimes/cells";
import { thinned } from "../../src/ui/lifetimes/Survival";
import { sizeName } from "../../src/ui/lifetimes/names";
import { fakeAnswer, fakeTrace } from "../support/fake-answer";

const question = { filter: "", metric: "allocated" as const, hide: [], focus: "", collapseRecursion: false };
const density = fakeAnswer(question).density();
const cells = (column: number, row: number, toColumn = column, toRow = row) => ({ column, row, toColumn, toRow });

test("cells become the terms of a filter that chooses what is in them", () => {
  const last = density.lifetimes.length - 1;
  assert.equal(termsOf(density, cells(10, 7)), "lifetime 1024us..2048us size 1025B..2049B");
  assert.equal(termsOf(density, cells(12, 8, 10, 7)), "lifetime 1024us..8192us size 1025B..4097B");
  assert.equal(termsOf(density, cells(0, 0)), "lifetime<2us size 9B..17B");
  assert.equal(termsOf(density, cells(last, 0, last, density.sizes.length - 1)), "not freed");
  assert.equal(termsOf(density, cells(10, 0, last, density.sizes.length - 1)), "not lifetime<1024us");
  assert.equal(termsOf(density, cells(0, 0, last, density.sizes.length - 1)), "");
});

test("sums along both sides are the sums of the cells", () => {
  const { lifetimes, sizes, all } = margins(density, density.bytes);
  const sum = (of: Float64Array) => of.reduce((sum, value) => sum + value, 0);
  const whole = cells(0, 0, density.lifetimes.length - 1, density.sizes.length - 1);
  for (const total of [sum(lifetimes), sum(sizes), sum(density.bytes), sumOf(density, density.bytes, whole)]) {
    assert.ok(Math.abs(total - all) <= 1e-9 * all);
  }
});

test("a curve keeps its ends where it is thinned", () => {
  const points = Array.from({ length: 5003 }, (_, time) => ({ time, share: 1, low: 1, high: 1 }));
  const kept = thinned(points);
  assert.ok(kept.length <= 602);
  assert.equal(kept[0].time, 0);
  assert.equal(kept[kept.length - 1].time, 5002);
});

test("sizes have short names", () => {
  assert.equal(sizeName(8), "8 B");
  assert.equal(sizeName(65_536), "64 KiB");
  assert.equal(sizeName(0), "0 B");
});

test("a heap's tree has each retainer below what holds it, and what is summed up as one", () => {
  const document = (fakeTrace().heap as Snapshot).retainers;
  const { tree, held } = heapTree(document);
  assert.equal(tree.total[0], document.bytes);
  for (let node = 1; node < held.length; node += 1) {
    assert.ok(tree.parent[node] < node);
    assert.ok(tree.total[node] <= tree.total[tree.parent[node]]);
  }
  assert.ok(held.some((it) => it.summed && it.name === "812 × String"));
});

test("a way to a class begins at the roots and ends with what was searched for", () => {
  const heap = heapTree((fakeTrace().heap as Snapshot).retainers);
  const { ways, found, bytes } = waysTo(heap, "string", 20);
  assert.equal(found, ways.length);
  assert.ok(bytes > 0);
  for (const way of ways) {
    assert.equal(heap.tree.parent[way.steps[0]], 0);
    way.steps.slice(1).forEach((node, at) => assert.equal(heap.tree.parent[node], way.steps[at]));
    assert.match(heap.held[way.node].name, /String/);
  }
  const within = waysTo(heap, "session", 20);
  assert.equal(within.found, 2, "what is within something found is not told again");
  assert.equal(waysTo(heap, " ", 20).found, 0);
});

test("the sides of a comparison are two traces, or the halves of the only one", () => {
  assert.deepEqual(sideOf("b", {}, 2, 0), { trace: 1, filter: "" });
  assert.deepEqual(sideOf("a", {}, 1, 0), { trace: 0, filter: "allocated before 50%" });
  assert.deepEqual(sideOf("b", keep("b", { trace: 0, filter: "" }), 1, 0), { trace: 0, filter: "" });
  assert.deepEqual(sideOf("a", { a: "leaks", at: "9" }, 2, 0), { trace: 0, filter: "leaks" });
  assert.equal(questionOf({ ...question, filter: "leaks" }, { trace: 0, filter: "fn:a" }).filter, "leaks fn:a");
});
