// The command that is copied is one that a shell reads as it was meant: a shell is asked.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { first, type Address } from "../../src/ui/address";
import { command, quoted } from "../../src/ui/command";

function words(text: string): string[] {
  const { stdout, stderr, status } = spawnSync("bash", ["-c", `printf '%s\\0' ${text}`], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return stdout.split("\0").slice(0, -1);
}

const traces = ["app.lt", "-x y.lt"].map((file) => ({ facts: { file } })) as never;

function address(change: Partial<Address>, question: Partial<Address["question"]> = {}): Address {
  const beginning = first({});
  return { ...beginning, ...change, question: { ...beginning.question, ...question } };
}

test("a shell reads every word as it was", () => {
  const all = ["plain", "", "a b", "it's", "$(touch x) `id` \\ \"q\" !! *", "line\nbreak\ttab\\", "\u202eright\u202c", "\u001b[31m", "~", "#x", "é€😀", "fn~^go.$"];
  assert.deepEqual(words(all.map(quoted).join(" ")), all);
  assert.ok(!/[\n\u001b\u202e]/.test(all.map(quoted).join(" ")));
});

test("a command has the view, the metric, the filter and the frames", () => {
  const question = { filter: "leaks size>=64KiB", metric: "live" as const, hide: ["~^core::"], focus: "main;*;b c", collapseRecursion: true };
  const text = command(address({ view: "flame", state: { inverted: "1" } }, question), traces);
  assert.equal(text, "lifetrace report --view tree --metric live --filter 'leaks size>=64KiB' --hide '~^core::' --focus 'main;*;b c' --collapse-recursion --inverted app.lt");
  assert.deepEqual(words(text).slice(-1), ["app.lt"]);
});

test("a file whose name looks like an option is a file", () => {
  assert.deepEqual(words(command(address({ trace: 1 }), traces)), ["lifetrace", "report", "./-x y.lt"]);
});

test("what a report has no choice of is not asked for", () => {
  assert.equal(command(address({ view: "leaks" }, { metric: "objects" }), traces), "lifetrace report --view leaks app.lt");
  assert.equal(command(address({ view: "temporary" }, { metric: "live" }), traces), "lifetrace report --view temporary app.lt");
  assert.equal(command(address({ view: "sandwich", state: { fn: "a;b" } }), traces), "lifetrace report --view calls --focus 'fn=\"a;b\"' app.lt");
});

test("a comparison of two parts of a trace makes traces of them first", () => {
  assert.equal(command(address({ view: "diff" }, { metric: "live" }), traces), "lifetrace diff --metric live app.lt './-x y.lt'");
  const halves = "lifetrace slice app.lt --filter 'allocated before 50%' -o before.lt && lifetrace slice app.lt --filter 'allocated after 50%' -o after.lt && lifetrace diff before.lt after.lt";
  assert.equal(command(address({ view: "diff" }), (traces as unknown[]).slice(0, 1) as never), halves);
});
