// Terms put into a filter's text, and taken out of it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { engine } from "../../src/engine/index";
import { hasPreset, isOfTime, termsOf, togglePreset, withTime } from "../../src/ui/filterText";

const toggled = (filter: string, preset: string) => togglePreset(termsOf(engine, filter), preset);
const timed = (filter: string, time: string) => withTime(termsOf(engine, filter), time);

test("a preset is put on and taken off", () => {
  assert.equal(toggled("", "leaks"), "leaks");
  assert.equal(toggled("size>1KiB", "leaks"), "size>1KiB leaks");
  assert.equal(toggled("leaks size>1KiB", "leaks"), "size>1KiB");
  assert.equal(toggled("LEAKS and size > 1 KiB", "leaks"), "size > 1 KiB");
  assert.equal(toggled('fn="leaks and" leaks', "leaks"), 'fn="leaks and"');
});

test("a word that is no preset there is left alone", () => {
  for (const filter of ["alive at peak", "allocated before peak", 'fn="a peak"', "not peak", "fn=peak", "allocated peak..10s", "label peak"]) {
    assert.equal(hasPreset(termsOf(engine, filter), "peak"), false, filter);
    assert.equal(toggled(filter, "peak"), `${filter} peak`);
  }
});

test("a range of time takes the place of another, however that is written", () => {
  const time = "allocated 10s..20s alive at 20s";
  const before = [
    "", "allocated 1s..2s", "alive at 5s", "allocated 1500ms..2s alive at 2s", "freed 1s..", "allocated before 50%", "alive at peak", "peak", "freed ..end-5min",
    "allocated after 2026-01-12 13:44 UTC", "alive at 2026-01-12T13:44:03Z", "allocated before 1h30min",
  ];
  for (const filter of before) assert.equal(timed(filter, time), time, filter);
  assert.equal(timed("leaks allocated 1s..2s fn:parse", time), `leaks fn:parse ${time}`);
});

test("what is no time stays", () => {
  for (const filter of ["freed", "not freed", "lifetime>=10s", 'fn="alive at 5s"', "promoted after peak", "size 1KiB..4KiB", "in old heap"]) {
    assert.equal(timed(filter, "alive at 1s"), `${filter} alive at 1s`);
  }
});

test("what is made can be read", () => {
  for (const filter of ["leaks and fn:a", "allocated 1s..2s not label x", 'fn="a "" b" innermost fn~a\\|b']) {
    for (const made of [timed(filter, "freed 1s..2s"), toggled(filter, "churn")]) assert.ok("canonical" in engine.parse(made), made);
  }
});

test("the terms about times are told", () => {
  const terms = termsOf(engine, 'allocated 10s..20s fn="alive at 1s" alive at 20s');
  assert.deepEqual(terms.filter(isOfTime), ["allocated 10s..20s", "alive at 20s"]);
});
