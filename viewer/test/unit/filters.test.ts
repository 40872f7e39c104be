// The grammar is that of the command: its golden mistakes, its examples, its one text for each filter.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { engine } from "../../src/engine";
import { parsePath, parseStep } from "../../src/engine/filter/frames";
import { isMistake, MAX_TERMS, parseFilter } from "../../src/engine/filter/parse";
import { PRESETS, presetTerms } from "../../src/engine/filter/presets";
import { writtenPattern, writtenTerms } from "../../src/engine/filter/term";
import { type FullMistake, picture } from "../../src/engine/grammar/mistake";
import { random } from "../support/made-up";
import { filter } from "../support/questions";

const root = join(import.meta.dirname!, "../../..");
const golden = (name: string) => readFileSync(join(root, "crates/analysis/src/filter/tests", name), "utf8");
const page = readFileSync(join(root, "docs/filters.md"), "utf8");

function canonical(text: string): string {
  const terms = parseFilter(text);
  assert.ok(!isMistake(terms), `${text}: ${isMistake(terms) ? picture(text, terms) : ""}`);
  return writtenTerms(terms);
}

function mistakes(cases: string, parse: (text: string) => object | FullMistake): void {
  const all = cases.trim().split("\n\n");
  assert.ok(all.length > 5);
  for (const it of all) {
    const end = it.indexOf("\n");
    const [text, expected] = [it.slice(0, end).replace(/^> ?/, ""), it.slice(end + 1)];
    const read = parse(text);
    assert.ok(isMistake(read), `> ${text}: it is read`);
    assert.equal(picture(text, read), expected);
  }
}

test("mistakes are told as the command tells them", () => {
  mistakes(golden("mistakes_filters.txt"), parseFilter);
  mistakes(golden("mistakes_steps.txt"), parseStep);
  mistakes(golden("mistakes_paths.txt"), parsePath);
});

test("every example of the manual is read, and what it is written as is read as the same", () => {
  const cells = [...page.matchAll(/^\| `([^`]*)`/gm)].map(([, text]) => text!.replaceAll("\\|", "|"));
  assert.ok(cells.length > 60, String(cells.length));
  for (const text of cells) assert.equal(canonical(canonical(text)), canonical(text), text);
});

test("every filter is written in one way", () => {
  const pairs = [...golden("canonical.rs").matchAll(/^ {4}check\("((?:[^"\\]|\\.)*)", "((?:[^"\\]|\\.)*)"\);$/gm)];
  assert.ok(pairs.length > 100, String(pairs.length));
  const unescaped = (text: string) => JSON.parse(`"${text.replaceAll("\\'", "'")}"`) as string;
  let steps = 0;
  for (const [, one, other] of pairs) {
    const [text, expected] = [unescaped(one!), unescaped(other!)];
    const terms = parseFilter(text);
    // The last ones of that file are steps of paths.
    if (isMistake(terms) || writtenTerms(terms) !== expected) {
      const step = parseStep(text);
      assert.ok(!isMistake(step) && writtenPattern(step) === expected, `${text}: ${expected}`);
      steps++;
    } else assert.equal(canonical(expected), expected);
  }
  assert.ok(steps < 20, String(steps));
});

test("what is written is read again, whatever it is", () => {
  const draw = random(3);
  for (let at = 0; at < 2000; at++) {
    const text = canonical(filter(draw));
    assert.equal(canonical(text), text);
  }
});

test("any text is a filter, or a mistake within it", () => {
  const draw = random(5);
  const pieces = ["not ", "fn", "=", "~", "(", "[", "a", '"', "size", ">", "1", "..", "KiB", "alive", " at ", "peak", "-", "%", ",", "\u{1f600}", "\ud800", "and ", "0x", "{", "}", "*", "+", "?", "\\", "p{", "]"];
  for (let at = 0; at < 5000; at++) {
    const text = Array.from({ length: draw.below(9) }, () => draw.pick(pieces)).join("");
    const read = parseFilter(text);
    if (!isMistake(read)) assert.equal(canonical(writtenTerms(read)), writtenTerms(read), text);
    else assert.ok(0 <= read.start && read.start <= read.end && read.end <= text.length && read.message !== "", text);
  }
});

test("long texts are read in linear time", () => {
  for (const text of [
    "size>1 ".repeat(60) + "x".repeat(1_000_000),
    '"'.repeat(1_000_000),
    "!".repeat(1_000_000),
    `fn~${"(".repeat(100_000)}`,
    `fn~${"a{9999}".repeat(1000)}`,
    `size>${"9".repeat(1_000_000)}`,
    `size>0.${"9".repeat(1_000_000)}`,
    "leaks ".repeat(MAX_TERMS + 1),
  ]) {
    assert.ok(isMistake(parseFilter(text)), text.slice(0, 20));
  }
});

test("presets are spelled out as the manual has them", () => {
  for (const preset of PRESETS) {
    assert.ok(page.includes(`| \`${preset}\` | \`${writtenTerms(presetTerms(preset))}\` |`), preset);
  }
});

test("each term is told with its place", () => {
  const text = "  leaks and not  size >4096 fn='a b' ";
  const read = engine.parse(text);
  assert.ok(!("message" in read));
  assert.deepEqual(read.terms!.map((it) => it.text), ["leaks", "not size>4KiB", 'fn="a b"']);
  assert.deepEqual(read.terms!.map((it) => text.slice(it.start, it.end)), ["leaks", "not  size >4096", "fn='a b'"]);
});
