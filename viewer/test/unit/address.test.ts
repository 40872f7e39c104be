// What an address says is what is shown, and the other way round.

import assert from "node:assert/strict";
import { test } from "node:test";
import { first, read, write, type Address } from "../../src/ui/address";

const nothing = first({});

function round(address: Address): Address {
  return read(`#${write(address)}`, nothing);
}

test("every part of an address comes back", () => {
  const address: Address = {
    view: "flame",
    trace: 2,
    question: { filter: "leaks size>=64KiB fn~^a|b.$ allocated 50%..", metric: "byte-seconds", hide: ["~^core::", "a&b=c#d"], focus: "main;*;fn:p%", collapseRecursion: true },
    state: { zoom: "a b\u202e+'\"", inverted: "1" },
  };
  assert.deepEqual(round(address), address);
});

test("filters are percent-encoded as docs/filters.md has it", () => {
  const question = { ...nothing.question, filter: "leaks size>=64KiB 50%" };
  assert.equal(write({ ...nothing, question }), "view=summary&filter=leaks%20size%3E%3D64KiB%2050%25");
  assert.equal(read("#filter=a%20b+c&collapse-recursion", nothing).question.filter, "a b+c");
  assert.equal(read("#filter=a&collapse-recursion", nothing).question.collapseRecursion, true);
});

test("an empty address is what the page begins with, and only that", () => {
  const beginning = first({ filter: "leaks", view: "flame", metric: "peak", hide: ["x"], focus: "main", collapse_recursion: true });
  assert.equal(beginning.question.filter, "leaks");
  assert.deepEqual(read("", beginning), beginning);
  assert.equal(read("#view=summary", beginning).question.filter, "");
});

test("what makes no sense is nothing", () => {
  const address = read("#metric=gold&trace=-1&filter=%zz&&=&view=", nothing);
  assert.deepEqual([address.question.metric, address.trace, address.question.filter, address.view], ["allocated", 0, "%zz", "summary"]);
  assert.equal(round({ ...nothing, question: { ...nothing.question, filter: "fn=\ud800" } }).question.filter, "fn=\ufffd");
});
