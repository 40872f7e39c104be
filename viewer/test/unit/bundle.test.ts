// Data that cannot be read is told in one sentence, whatever is wrong with it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { DamagedBundle, engine } from "../../src/engine";
import { bundleOf, written } from "../support/bundle";
import { random, server, small } from "../support/made-up";
import { asked, opened, PLAIN } from "../support/opened";

test("times are those of the samples, however far apart and in whatever order", () => {
  const made = small(3);
  const frames = made.samples[0]!.frames;
  const births = [7, 2 ** 33 + 5, 2 ** 33 + 6, 12, 2 ** 40];
  const lives = [1, 2 ** 20, 2 ** 34, Infinity, 2 ** 36];
  const samples = births.map((born, at) => {
    const died = lives[at]! < Infinity ? { died: born + lives[at]! } : {};
    return { frames, born, bytes: 8, weight: 2, ...died };
  });
  const { birth, death } = opened({ samples }).columns;
  assert.deepEqual([...birth], births);
  assert.deepEqual([...death], births.map((born, at) => born + lives[at]!));
});

test("a bundle that is cut off is told so", () => {
  const bundle = bundleOf(server(50));
  for (let length = 0; length < bundle.byteLength; length += 97) {
    assert.throws(() => engine.open(bundle.slice(0, length)), DamagedBundle, String(length));
  }
});

test("of a bundle in which bytes are changed all is said in one sentence, or it is a bundle", () => {
  const draw = random(11);
  const bundle = bundleOf(small(5));
  let told = 0;
  for (let at = 0; at < 3000; at++) {
    const changed = bundle.slice(0);
    const bytes = new Uint8Array(changed);
    for (let count = 1 + draw.below(3); count > 0; count--) bytes[draw.below(bytes.length)] = draw.below(256);
    try {
      const trace = engine.open(changed);
      const answer = trace.ask({ ...PLAIN, filter: "not fn:a lifetime<10us" });
      assert.ok(!("message" in answer));
      [answer.callsites(), answer.tree(true), answer.paths(), answer.functions(), answer.timeline(5, 5), answer.lifetimes()];
    } catch (error) {
      if (!(error instanceof DamagedBundle)) throw error;
      assert.match(error.message, /^the data of this trace is damaged: ./);
      told++;
    }
  }
  assert.ok(told > 300, String(told));
});

test("columns that do not fit together are named", () => {
  const facts = { end: 1, duration: 0, start_unix_us: 0, interval_bytes: 0, interval_objects: 0, clock: [], sources: [], threads: [], labels: {} };
  const damaged = (columns: Parameters<typeof written>[1], what: RegExp) =>
    assert.throws(() => engine.open(written({ facts }, columns)), what);
  const one = { type: "u8" as const, values: [0] };
  damaged({ "sample.kind": one }, /sample\.kind has 0 in row 0, where all are less than 0/);
  damaged({ "node.parent": one }, /node\.frame has 0 elements where there should be 1/);
  damaged({ "node.parent": { type: "f64", values: [0] } }, /node\.parent is no column of whole numbers/);
  assert.throws(() => engine.open(written({ facts: { ...facts, clock: null } }, {})), /it lacks the list clock/);
  assert.throws(() => engine.open(written({}, {})), /it says nothing of the trace/);
});

test("a trace without samples has answers", () => {
  const answer = asked(opened({ samples: [] }), {});
  assert.deepEqual([answer.samples, answer.totals.peakTime, answer.callsites()], [0, null, []]);
  assert.deepEqual([answer.paths(), answer.functions(), answer.sizes(), answer.lifetimes().quantiles[1]!.value], [[], [], [], null]);
  assert.equal(answer.timeline(3, 3).parts.length, 3);
  assert.equal(engine.compare([answer], [answer]).changes.length, 0);
});

test("kinds that nothing can stand for are refused", () => {
  for (const wrong of [{ weight: 0.5 }, { weight: NaN }, { bytes: -1 }, { bytes: Infinity }]) {
    const samples = [{ frames: [], born: 0, bytes: 8, weight: 2, ...wrong }];
    assert.throws(() => opened({ samples }), /the kind 0 of samples/);
  }
});
