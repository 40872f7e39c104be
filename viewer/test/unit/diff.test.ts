// Changes, and whether they are more than noise.

import assert from "node:assert/strict";
import { test } from "node:test";
import { engine } from "../../src/engine";
import { benjaminiHochberg, difference } from "../../src/engine/diff/compare";
import { critical, erfc, twoSidedP } from "../../src/engine/diff/distribution";
import { match } from "../../src/engine/diff/matching";
import { rebuiltFile, rebuiltName } from "../../src/engine/diff/rebuilt";
import { server } from "../support/made-up";
import { asked, opened } from "../support/opened";

function near(found: number, expected: number): void {
  assert.ok(Math.abs(found - expected) <= 1e-9 * Math.abs(expected), `${found}, not ${expected}`);
}

test("distributions are those of tables", () => {
  near(erfc(0.3), 0.6713732405408726);
  near(erfc(1), 0.15729920705028513);
  near(erfc(6), 2.1519736712498913e-17);
  assert.equal(erfc(Infinity), 0);
  near(twoSidedP(1.959963984540054, Infinity), 0.05);
  near(critical(0.95, Infinity), 1.959963984540054);
  near(critical(0.95, 1), 12.706204736174694);
  near(critical(0.95, 2), 4.302652729749462);
  near(critical(0.95, 10), 2.2281388519862735);
  assert.equal(twoSidedP(NaN, 3), 1);
});

test("one run a side is judged by its sampling, several by how much they differ", () => {
  const run = (value: number, variance: number) => ({ estimate: { value, variance }, grain: 1 });
  const one = difference([run(100, 100)], [run(140, 140)]);
  // If they were equal they would have 120, and a variance of 120.
  near(one.interval, 1.959963984540054 * Math.sqrt(120 + 140));
  assert.ok(one.pValue > 0.012 && one.pValue < 0.014, String(one.pValue));
  const several = difference([run(100, 1), run(110, 1)], [run(200, 1), run(190, 1)]);
  near(several.change, 90);
  assert.ok(several.pValue < 0.05 && several.pValue > 0.001, String(several.pValue));
  assert.equal(difference([run(5, 0)], [run(5, 0)]).pValue, 1);
  // A side of which nothing was sampled may hold much.
  assert.ok(difference([run(0, 0)], [run(2, 2)]).pValue > 0.05);
});

test("among many places fewer look changed", () => {
  assert.deepEqual([...benjaminiHochberg([0.01, 0.04, NaN, 0.03])], [0.04, 0.16 / 3, 1, 0.16 / 3]);
});

test("names outlive a rebuild", () => {
  const check = (name: string, expected: string) => assert.equal(rebuiltName(name), expected);
  check("f.constprop.0.cold", "f");
  check("f(int) [clone .isra.3]", "f(int)");
  check("memcpy@@GLIBC_2.14", "memcpy");
  check("a::b::h0123456789abcdef", "a::b");
  check("camlStdlib__List__map_456", "camlStdlib__List__map");
  check("f::{{closure}}", "f::{closure}");
  check("f::{closure#2}", "f::{closure}");
  check("f::{closure_env#0}::g", "f::{closure}::g");
  check("'lambda3'(int)", "'lambda'(int)");
  check("Foo.fun_567", "Foo.fun");
  check("anon_fn[foo.ml:12,3--45]", "anon_fn[foo.ml]");
  check("utf8_decode", "utf8_decode");
  assert.equal(rebuiltFile("/build/1/src/a.c"), "a.c");
});

test("places are matched by names, and by lines where they share one", () => {
  const at = (name: string, line: number, file = "a.c") => ({ function: name, file, line });
  assert.deepEqual(match([at("f", 10), at("g", 5)], [at("g", 7), at("f", 14)]).pairs, [[0, 1], [1, 0]]);
  // Two lines were put in before all; the new call is the middle one.
  const moved = match([at("f", 10), at("f", 20)], [at("f", 12), at("f", 17), at("f", 22)]);
  assert.deepEqual(moved, { pairs: [[0, 0], [1, 2]], gone: [], new: [1] });
  assert.deepEqual(match([at("f", 1, "old.c")], [at("f", 1, "new.c")]).pairs, [[0, 0]]);
  assert.deepEqual(match([at("f", 1)], [at("g", 1)]), { pairs: [], gone: [0], new: [0] });
});

test("two ranges of one trace, and a trace with itself", () => {
  const trace = opened(server(600));
  const all = asked(trace, {});
  const same = engine.compare([all], [all]);
  for (const change of [...Object.values(same.totals), ...same.changes, ...same.functions()]) {
    assert.deepEqual([change.change, change.significant, change.pValue], [0, false, 1]);
  }
  const halves = ["allocated before 50%", "allocated after 50%"].map((filter) => asked(trace, { filter }));
  const { totals, changes, tree } = engine.compare([halves[0]!], [halves[1]!]);
  near(totals.allocated!.before + totals.allocated!.after, all.totals.allocated.bytes.value);
  near(changes.reduce((sum, it) => sum + it.change, 0), totals.allocated!.change);
  near(tree.after[0]! - tree.before[0]!, totals.allocated!.change);
  tree.children(0).forEach((node) => assert.ok(tree.total[node]! >= tree.before[node]!));
});

test("traces add up by names", () => {
  const [one, other] = [server(300, 1), server(500, 2)].map((made) => asked(opened(made), {}));
  const sum = engine.together([one!, other!]);
  near(sum.totals.allocated.bytes.value, one!.totals.allocated.bytes.value + other!.totals.allocated.bytes.value);
  near(sum.totals.peak.bytes.value, one!.totals.peak.bytes.value + other!.totals.peak.bytes.value);
  assert.equal(sum.callsites.length, one!.callsites().length);
  near(sum.tree(false).total[0]!, sum.totals.allocated.bytes.value);
});
