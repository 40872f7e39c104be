// Flame graphs: where nodes are, which are drawn, which is hit, how an address names them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { byChange, byModule, colourOf } from "../../src/ui/flame/colour";
import { hit, LEAST_PIXELS, layoutOf, spanOf, visible } from "../../src/ui/flame/layout";
import { beside, isWithin, nodeAt, pathOf } from "../../src/ui/flame/paths";
import { find, matcher } from "../../src/ui/flame/search";
import { TextFit } from "../../src/ui/flame/text";
import { fakeTree, lines, seeded } from "../support/fake-answer";

const tree = fakeTree(4000);
const layout = layoutOf(tree.parent, tree.depth, tree.total);
const childrenOf = (node: number) => layout.children.subarray(layout.first[node], layout.first[node + 1]);

test("children stand within their parents, side by side, the widest first", () => {
  for (let node = 0; node < tree.parent.length; node += 1) {
    let at = layout.left[node];
    let before = Infinity;
    for (const child of childrenOf(node)) {
      assert.equal(tree.parent[child], node);
      assert.equal(layout.left[child], at);
      assert.ok(tree.total[child] <= before);
      at += tree.total[child];
      before = tree.total[child];
    }
    assert.ok(at <= layout.left[node] + tree.total[node] * (1 + 1e-9));
  }
});

test("every node has its place once", () => {
  assert.equal(new Set(layout.children).size, tree.parent.length - 1);
});

test("what is wide enough is drawn, and what is not is drawn with its neighbours", () => {
  const pixels = 1000;
  const scale = pixels / tree.total[0];
  const seen = visible(layout, spanOf(layout, 0), pixels);
  const drawn = new Set<number>();
  for (let at = 0; at < seen.count; at += 1) if (!seen.rest[at]) drawn.add(seen.node[at]);
  const expected = new Set<number>([0]);
  for (let node = 1; node < tree.parent.length; node += 1) {
    if (expected.has(tree.parent[node]) && tree.total[node] * scale >= LEAST_PIXELS) expected.add(node);
  }
  assert.deepEqual(drawn, expected);
  for (let at = 0; at < seen.count; at += 1) assert.ok(seen.width[at] >= LEAST_PIXELS * (1 - 1e-6));
});

test("zoomed, only what is in view is drawn, and its ancestors fill the width", () => {
  const node = childrenOf(childrenOf(0)[1])[0];
  const seen = visible(layout, spanOf(layout, node), 800);
  for (let at = 0; at < seen.count; at += 1) {
    if (seen.rest[at]) continue;
    assert.ok(isWithin(layout, seen.node[at], node) || isWithin(layout, node, seen.node[at]));
    if (isWithin(layout, node, seen.node[at])) assert.ok(seen.x[at] <= 1e-3 && seen.x[at] + seen.width[at] >= 800 - 1e-2);
  }
});

test("rows are in order, so that a row is found by halving", () => {
  const seen = visible(layout, spanOf(layout, 0), 1440);
  for (let at = 1; at < seen.count; at += 1) assert.ok(seen.level[at] >= seen.level[at - 1]);
});

test("a hit is the node that has the place, as looking through all of them finds it", () => {
  const random = seeded(3);
  for (let turn = 0; turn < 500; turn += 1) {
    const at = random() * tree.total[0];
    const level = Math.floor(random() * 12);
    let expected = -1;
    for (let node = 0; node < tree.parent.length; node += 1) {
      const isThere = tree.depth[node] === level && layout.left[node] <= at && at < layout.left[node] + tree.total[node];
      if (isThere) expected = node;
    }
    assert.equal(hit(layout, at, level), expected);
  }
  assert.equal(hit(layout, -1, 0), -1);
  assert.equal(hit(layout, tree.total[0] * 1.01, 0), -1);
});

test("an empty tree draws its root and nothing else", () => {
  const empty = layoutOf(new Uint32Array(1), new Uint16Array(1), new Float64Array(1));
  assert.equal(visible(empty, { from: 0, to: 1 }, 100).levels, 1);
  assert.equal(hit(empty, 0, 1), -1);
});

test("a path finds its node again, also where names have what paths are made of", () => {
  const names = tree.lines.map((line, at) => ({ ...line, function: at === 1 ? "a;b\\c:7" : line.function }));
  const named = { ...tree, lines: names };
  for (let node = 0; node < 300; node += 1) {
    assert.equal(nodeAt(named, layout, pathOf(named, layout, node)), node);
  }
  assert.equal(nodeAt(tree, layout, "nothing of this name"), 0);
  const path = pathOf(tree, layout, childrenOf(0)[0]);
  assert.equal(nodeAt(tree, layout, `${path};nothing`), childrenOf(0)[0]);
});

test("arrows walk to parents, children and neighbours, and stop at the edges", () => {
  const [first, second] = childrenOf(0);
  assert.equal(beside(layout, first, "up"), 0);
  assert.equal(beside(layout, 0, "down"), first);
  assert.equal(beside(layout, first, "right"), second);
  assert.equal(beside(layout, second, "left"), first);
  assert.equal(beside(layout, first, "left"), first);
  assert.equal(beside(layout, 0, "up"), 0);
});

test("what a search finds counts once where one match calls another", () => {
  const found = find(tree, matcher("json")!);
  let total = 0;
  const through = (node: number): boolean => node > 0 && (found.lines[tree.line[node]] === 1 || through(tree.parent[node]));
  for (let node = 1; node < tree.parent.length; node += 1) if (through(node)) total += tree.own[node];
  assert.ok(Math.abs(found.total - total) <= 1e-6 * total);
});

test("a search is text, in any case unless it has upper case, or an expression", () => {
  const finds = (text: string) => lines.filter((line) => matcher(text)!(line)).length;
  assert.equal(finds("JSON_OBJECT"), 0);
  assert.equal(finds("json_object"), 1);
  assert.ok(finds("/json_(object|array)/") === 2);
  assert.equal(finds("/(/"), 0);
  assert.equal(matcher("  "), null);
});

test("text is cut to its room, never within a character", () => {
  const fit = new TextFit((text) => (text === "…" ? 8 : 10));
  assert.equal(fit.fit("abcdef", 60), "abcdef");
  assert.equal(fit.fit("abcdef", 50), "abcd…");
  assert.equal(fit.fit("abcdef", 17), "");
  assert.equal(fit.fit("😀😀😀", 28), "😀😀…");
});

test("a module has the same colour in every tree", () => {
  const [a, b] = [byModule(tree), byModule(fakeTree(50, 2))];
  const colour = (of: typeof a, label: string) => {
    const entry = of.legend.find((it) => it.label === label);
    return entry && of.styles(false)[entry.style];
  };
  assert.equal(colour(a, "server"), colourOf("server", false, false));
  assert.equal(colour(b, "server"), colour(a, "server"));
  assert.notEqual(colourOf("server", false, true), colourOf("server", false, false));
});

test("a change has a sign besides its colour, and what may be noise has neither", () => {
  const colouring = byChange(Float64Array.of(1, 1, 1), Float64Array.of(9, 0, 9), Uint8Array.of(1, 1, 0));
  assert.equal(colouring.sign!(0), "+ ");
  assert.equal(colouring.sign!(1), "− ");
  assert.equal(colouring.sign!(2), "");
  assert.ok(colouring.hatched!(colouring.of(0)) && !colouring.hatched!(colouring.of(1)));
  assert.equal(colouring.of(2), colouring.styles(false).length - 1);
});

test("a legend tells allocation machinery from what no module is known of", () => {
  const named = { ...tree, lines: tree.lines.map((line) => ({ ...line, module: null, file: null, function: "f" })) };
  const { legend, styles } = byModule(named);
  assert.deepEqual(legend.map(({ label }) => label), ["no module known", "paler: allocation machinery"]);
  const [known, machinery] = legend.map(({ style }) => styles(false)[style]);
  assert.notEqual(known, machinery);
});
