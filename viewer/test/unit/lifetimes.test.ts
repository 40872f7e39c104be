// Lifetimes: what is known exactly, and what is not known of blocks that still live.

import assert from "node:assert/strict";
import { test } from "node:test";
import { binOf, greatestOf, leastOf } from "../../src/engine/histogram";
import type { MadeSample } from "../support/bundle";
import { asked, opened } from "../support/opened";

const frames = [[{ function: "f", file: "f.c", line: 1 }]];

function lived(lives: (number | null)[], weight = 1): ReturnType<ReturnType<typeof asked>["lifetimes"]> {
  const samples = lives.map((life): MadeSample => ({ frames, born: 0, bytes: 8, weight, ...(life === null ? {} : { died: life }) }));
  return asked(opened({ samples, facts: { duration: 1000, end: 1001 } }), {}).lifetimes();
}

test("every whole number is in the bin that holds it, and bins are narrow", () => {
  for (let exponent = 0; exponent < 53; exponent++) {
    for (const value of [2 ** exponent, 2 ** exponent - 1, 2 ** exponent + 1, Math.floor(1.37 * 2 ** exponent)]) {
      const bin = binOf(value);
      assert.ok(leastOf(bin) <= value && value <= greatestOf(bin), String(value));
      assert.ok(greatestOf(bin) - leastOf(bin) < Math.max(1, leastOf(bin) / 16), String(value));
    }
  }
  for (let value = 0; value < 4096; value++) assert.ok(binOf(value + 1) - binOf(value) <= 1, String(value));
});

test("where all have died, the curve is that of their ages", () => {
  const { unit, quantiles, classes, longer, watched, survival } = lived([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  assert.equal(unit, "objects");
  assert.equal(quantiles[1]!.value, 5);
  assert.equal(watched, 10);
  assert.ok(Math.abs(longer.objectsShare) < 1e-12);
  assert.deepEqual(classes.map(({ least, objectsShare }) => [least, Math.round(objectsShare * 10)]), [[1, 2], [3, 7], [10, 1]]);
  survival.forEach(({ time, share, low, high }) => {
    assert.ok(Math.abs(share - (10 - time) / 10) < 1e-9, String(time));
    assert.ok(low <= share + 1e-12 && share <= high + 1e-12, String(time));
  });
});

test("what still lives has lived at least as long as it was watched", () => {
  const { quantiles, longer, watched } = lived([10, 10, null, null]);
  assert.equal(watched, 1000);
  assert.equal(quantiles[1]!.value, 10);
  assert.equal(quantiles[2]!.value, null);
  assert.ok(Math.abs(longer.objectsShare - 0.5) < 1e-12);
  assert.equal(lived([null]).quantiles[1]!.value, null);
});

test("what reallocations add is counted in bytes", () => {
  const samples = [{ frames, born: 0, died: 9, bytes: 8, weight: 2, growth: true }];
  assert.equal(asked(opened({ samples }), {}).lifetimes().unit, "bytes");
});

test("sizes and lifetimes have all of what was allocated, class by class", () => {
  const samples = [1, 2, 3, 4, 900].map((bytes, at): MadeSample => ({ frames, born: 0, bytes, weight: 10, ...(at < 4 ? { died: at } : {}) }));
  const answer = asked(opened({ samples }), {});
  assert.deepEqual(answer.sizes().map(({ least, most, allocated }) => [least, most, allocated.samples]), [
    [1, 1, 1], [2, 2, 1], [3, 4, 2], [5, 8, 0], [9, 16, 0], [17, 32, 0], [33, 64, 0], [65, 128, 0], [129, 256, 0], [257, 512, 0], [513, 1024, 1],
  ]);
  const { lifetimes, sizes, bytes, objects } = answer.density();
  assert.deepEqual(lifetimes, [0, 1, 2, Infinity]);
  assert.deepEqual(sizes, answer.sizes().map(({ least }) => least));
  assert.equal(bytes.reduce((a, b) => a + b, 0), 9100);
  assert.equal(objects.reduce((a, b) => a + b, 0), 50);
  assert.equal(bytes[bytes.length - 1], 9000);
});

test("what is freed soon is told with how often, and how much of it is alive at once", () => {
  const samples: MadeSample[] = [
    { frames, born: 0, died: 5000, bytes: 100, weight: 1 },
    { frames, born: 0, died: 15_000, bytes: 100, weight: 1 },
    { frames, born: 0, bytes: 100, weight: 1 },
  ];
  const [row] = asked(opened({ samples, facts: { duration: 1_000_000, end: 1_000_001 } }), {}).temporary(10_000);
  assert.deepEqual([row!.temporary.samples, row!.allocated.samples, row!.perSecond.value], [1, 3, 1]);
  assert.ok(Math.abs(row!.aliveOnAverage.value - 0.5) < 1e-9);
});
