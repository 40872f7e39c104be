import assert from "node:assert/strict";
import { test } from "node:test";
import { callsiteTerm, frameOf, functionOf, functionTerm, groupOf, printable, sourceOf } from "../../src/ui/parts/names";
import { nextOrder, PAGE_ROWS, pageOf, readOrder, separated, sorted, writeOrder } from "../../src/ui/parts/rows";

const line = (part: object) => ({
  id: 0, function: null, file: null, line: null, module: null, inlined: false, machinery: false, ...part,
});

test("what has no key is last, whichever way is sorted, and equals stay in their order", () => {
  const rows = [{ k: 2, n: "a" }, { k: null, n: "b" }, { k: 3, n: "c" }, { k: 2, n: "d" }];
  const names = (descending: boolean) => sorted(rows, (row) => row.k, descending).map((row) => row.n).join("");
  assert.equal(names(true), "cadb");
  assert.equal(names(false), "adcb");
});

test("sorting a hundred thousand rows does not change what they are", () => {
  const rows = Array.from({ length: 100_000 }, (_, at) => (at * 7919) % 100_003);
  const order = sorted(rows, (row) => row, true);
  assert.equal(new Set(order).size, rows.length);
  assert.ok(order.every((row, at) => at === 0 || order[at - 1] > row));
});

test("a click sorts numbers by the greatest, names by the first, and a second turns it", () => {
  const first = nextOrder(null, "total", true);
  assert.equal(writeOrder(first), "-total");
  assert.equal(writeOrder(nextOrder(readOrder("-total"), "total", true)), "total");
  assert.equal(writeOrder(nextOrder(first, "name", false)), "name");
  assert.equal(readOrder(""), null);
});

test("pages have all rows, once", () => {
  for (const total of [0, 1, PAGE_ROWS, PAGE_ROWS + 1, 5 * PAGE_ROWS]) {
    let seen = 0;
    for (let page = 0; page < pageOf(total, 0).pages; page += 1) {
      const { from, to } = pageOf(total, page);
      assert.equal(from, seen);
      seen = to;
    }
    assert.equal(seen, total);
  }
  assert.equal(pageOf(10, 99).page, 0);
});

test("a cell cannot make a second one in a copy", () => {
  assert.equal(separated(["a", "b"], [["x\ty", "1\n2"]]), "a\tb\nx y\t1 2\n");
});

test("names are shown as they are written, and cannot turn what is around them", () => {
  assert.equal(printable("a\u001b[31m\nb"), "a\\u{1b}[31m\\u{a}b");
  assert.equal(printable("free\u202ecod"), "free\\u{202e}cod");
  assert.equal(functionOf(line({ function: "x".repeat(60_000) })).length, 401);
  assert.equal(functionOf(null), "(no backtrace)");
  assert.equal(functionOf(line({ file: "a.c", line: 1 })), "(unnamed function)");
  assert.equal(functionOf(line({ function: "" })), "(unnamed function)");
  assert.equal(functionOf(line({ code: "7fff1234" })), "(unknown frame 0x7fff1234)");
  assert.equal(functionOf(line({})), "(unknown frame)");
  assert.equal(sourceOf(line({ file: "/src/a.c", line: 3 })), "/src/a.c:3");
  assert.equal(sourceOf(line({ function: "libz.so.1+0x12", module: "/lib/libz.so.1" })), "");
  assert.equal(groupOf(line({ module: "/lib/libz.so.1" })), "libz.so.1");
  assert.equal(groupOf(line({ file: "src/a/b.c" })), "src/a");
  assert.equal(groupOf(line({ function: "Kernel#require" })), "Kernel");
  assert.equal(groupOf(line({ function: "zmalloc" })), "");
});

test("names become terms and frames that are read as those names", () => {
  assert.equal(functionTerm(line({ function: "main" })), "fn=main");
  assert.equal(functionTerm(line({ function: "operator new(unsigned long)" })), 'fn="operator new(unsigned long)"');
  assert.equal(functionTerm(line({ function: 'say "hi"' })), 'fn="say ""hi"""');
  assert.equal(functionTerm(line({})), null);
  assert.equal(callsiteTerm(line({ function: "f" })), "innermost fn=f");
  assert.equal(frameOf(line({ function: "operator new(unsigned long)" })), "operator new(unsigned long)");
  assert.equal(frameOf(line({ function: "file:x" })), 'fn="file:x"');
  assert.equal(frameOf(line({ function: "a;b" })), 'fn="a;b"');
});
