// Samples are chosen as if each was looked at by itself.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isMistake, parseFilter } from "../../src/engine/filter/parse";
import { factsOf } from "../support/bundle";
import { random, server, small } from "../support/made-up";
import { holds } from "../support/naive";
import { chosen, opened, PLAIN } from "../support/opened";
import { filter } from "../support/questions";

test("filters choose what their terms say, sample by sample", () => {
  let some = 0;
  for (let seed = 0; seed < 150; seed++) {
    const made = small(seed);
    const [trace, facts, draw] = [opened(made), factsOf(made), random(seed)];
    for (let at = 0; at < 20; at++) {
      const text = filter(draw);
      const terms = parseFilter(text);
      assert.ok(!isMistake(terms), text);
      const expected = made.samples.map((sample) => Number(holds(terms, sample, facts)));
      assert.deepEqual([...chosen(trace, text)], expected, `seed ${seed}: ${text}`);
      const count = expected.reduce((sum, it) => sum + it, 0);
      if (count > 0 && count < expected.length) some++;
    }
  }
  assert.ok(some > 1000, `only ${some} filters choose some and leave out others`);
});

test("each sample is chosen by a term or by its opposite", () => {
  for (let seed = 0; seed < 60; seed++) {
    const [trace, draw] = [opened(small(seed)), random(seed + 1000)];
    for (let at = 0; at < 10; at++) {
      const text = filter(draw, 1);
      // With `in old heap` lives begin later; its opposite is of lives as they are.
      if (text.includes("in old heap")) continue;
      const [one, other] = [chosen(trace, text), chosen(trace, `not ${text}`)];
      one.forEach((is, sample) => assert.equal(is + other[sample]!, 1, `seed ${seed}: ${text}`));
    }
  }
});

test("of a trace that tells no threads, no thread is chosen", () => {
  const trace = opened({ ...small(1), facts: { ...small(1).facts, threads: [] } });
  for (const text of ["thread=0", "thread=main", "thread~."]) {
    assert.ok(chosen(trace, text).every((is) => is === 0), text);
    assert.ok(chosen(trace, `not ${text}`).every((is) => is === 1), text);
  }
});

test("dates go by the wall clock as the trace knows it", () => {
  const made = server(100);
  const start = Date.UTC(2026, 0, 12, 13, 44, 3) * 1000;
  const at = (clock: [number, number][], text: string) =>
    chosen(opened({ ...made, facts: { ...made.facts, start_unix_us: start, clock } }), text).reduce((a, b) => a + b, 0);
  assert.equal(at([], "allocated before 2026-01-12T13:44:03.5Z"), 50);
  assert.equal(at([[0, start + 3_600_000_000]], "allocated before 2026-01-12T14:44:03.5Z"), 50);
  // Set forward by an hour in the middle: what it never showed is the moment at which it was set.
  const jump: [number, number][] = [[0, start], [250_000, start + 3_600_000_000]];
  assert.equal(at(jump, "allocated before 2026-01-12T14:00:00Z"), 25);
});

test("what an import does not tell is refused in the command's words, with its place", () => {
  const made = server(50);
  const origin = { from: "massif (Valgrind)", lacks: ["times", "sizes", "objects", "live"], clock: null, caveat: null };
  const trace = opened({ ...made, facts: { ...made.facts, in_import: origin } });
  const refused = (filter: string) => trace.ask({ ...PLAIN, filter });
  assert.deepEqual(refused("fn=main size>64"), {
    message:
      "the filter 'fn=main size>64B' cannot be answered: it rests on the sizes of single blocks, numbers of objects, " +
      "which this import from massif (Valgrind) does not tell",
    start: 8,
    end: 15,
  });
  for (const filter of ["leaks", "alive at end", "allocated after 1s", "not promoted"]) assert.ok("message" in refused(filter), filter);
  for (const filter of ["", "fn=main", "peak", "lifetime<1s", "thread=0"]) assert.ok(!("message" in refused(filter)), filter);
});
