// Hot paths are what counting all sequences of all backtraces says.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Line } from "../../src/engine/api";
import { random, server, small } from "../support/made-up";
import { callsiteOf } from "../support/naive";
import { asked, opened } from "../support/opened";

const nameOf = (line: Line) => `${line.function}|${line.file}|${line.line}|${line.module ?? ""}`;

test("a path has what all backtraces have that contain it", () => {
  let listed = 0;
  for (let seed = 0; seed < 120; seed++) {
    const made = small(seed);
    // Without recursion, which is folded.
    const samples = made.samples.map((sample) => {
      const seen = new Set<string>();
      const frames = sample.frames.filter(([line]) => {
        const key = `${line!.function}${line!.code}`;
        const isNew = !seen.has(key);
        seen.add(key);
        return isNew && line!.code === undefined;
      });
      return { ...sample, frames: frames.map((lines) => lines.slice(0, 1)) };
    });
    const answer = asked(opened({ ...made, samples }), {});
    const backtraces = samples.map((sample) => {
      const lines = sample.frames.flat();
      const site = callsiteOf(lines);
      const shown = site === null ? [] : lines.slice(0, site + 1);
      return { value: sample.weight * sample.bytes, names: shown.map((it) => `${it.function}|${it.file}|${it.line}|${it.module}`) };
    });
    const all = backtraces.reduce((sum, { value }) => sum + value, 0);
    let explained = 0;
    for (const path of answer.paths()) {
      const names = path.lines.map(nameOf).reverse();
      const contains = (them: string[]) =>
        them.some((_, from) => names.every((name, step) => them[from + step] === name));
      const expected = backtraces.filter((it) => contains(it.names)).reduce((sum, { value }) => sum + value, 0);
      assert.ok(Math.abs(path.total.value - expected) <= 1e-9 * all, `seed ${seed}: ${names.join(" ")}`);
      assert.ok(path.fresh.value <= path.total.value * (1 + 1e-9) && path.freshShare >= 0.01 - 1e-12);
      explained += path.fresh.value;
      listed++;
    }
    assert.ok(explained <= all * (1 + 1e-9), `seed ${seed}`);
  }
  assert.ok(listed > 300, String(listed));
});

test("the path that is most specific is listed, and what it explains is explained once", () => {
  const paths = asked(opened(server(2000)), {}).paths();
  const first = paths[0]!.lines.map((line) => line.function);
  assert.ok(!first.includes("malloc"), first.join());
  const explained = paths.reduce((sum, path) => sum + path.freshShare, 0);
  assert.ok(explained > 0.95 && explained <= 1 + 1e-9, String(explained));
});

test("recursion is one path, however deep it is", () => {
  const draw = random(4);
  const frame = (name: string) => [{ function: name, file: "lisp.c", line: 1 }];
  const samples = Array.from({ length: 200 }, (_, born) => {
    const turns = Array.from({ length: 1 + draw.below(60) }, () => [frame("eval"), frame("apply")]).flat();
    return { frames: [frame("main"), ...turns, frame("cons")], born, bytes: 16, weight: 100 };
  });
  const paths = asked(opened({ samples }), {}).paths();
  assert.ok(paths.length <= 3, String(paths.length));
  assert.ok(paths[0]!.freshShare > 0.5);
});
