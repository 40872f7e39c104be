// Terms put into a filter's text, and taken out of it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { hasWord, timeOf, toggleWord, withTime } from "../../src/ui/filterText";

test("a preset is put on and taken off", () => {
  assert.equal(toggleWord("", "leaks"), "leaks");
  assert.equal(toggleWord("size>1KiB", "leaks"), "size>1KiB leaks");
  assert.equal(toggleWord("leaks size>1KiB", "leaks"), "size>1KiB");
  assert.equal(toggleWord('fn="leaks and" leaks', "leaks"), 'fn="leaks and"');
});

test("a word that is no preset there is left alone", () => {
  for (const filter of ["alive at peak", "allocated before peak", 'fn="a peak"', "not peak", "fn=peak", "allocated peak..10s", "label peak"]) {
    assert.equal(hasWord(filter, "peak"), false, filter);
    assert.equal(toggleWord(filter, "peak"), `${filter} peak`);
  }
  assert.equal(hasWord("PEAK size>1", "peak"), true);
});

test("a range of time takes the place of another", () => {
  const time = "allocated 10s..20s alive at 20s";
  for (const before of ["", "allocated 1s..2s", "alive at 5s", "allocated 1500ms..2s alive at 2s", "freed 1s..", "allocated before 50%", "alive at peak", "peak", "freed ..end-5min"]) {
    assert.equal(withTime(before, time), time, before);
  }
  assert.equal(withTime("leaks allocated 1s..2s fn:parse", time), `leaks fn:parse ${time}`);
});

test("what is no time stays", () => {
  for (const before of ["freed", "not freed", "lifetime>=10s", 'fn="alive at 5s"', "promoted after peak", "size 1KiB..4KiB"]) {
    assert.equal(withTime(before, "alive at 1s"), `${before} alive at 1s`);
  }
});

test("the terms about times are told", () => {
  assert.deepEqual(timeOf('allocated 10s..20s fn="alive at 1s" alive at 20s'), ["allocated 10s..20s", "alive at 20s"]);
  assert.deepEqual(timeOf(null), []);
});
