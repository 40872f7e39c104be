// Rust's regular expressions mean the same here, or are refused in words.

import assert from "node:assert/strict";
import { test } from "node:test";
import { compile } from "../../src/engine/filter/regex";
import { random } from "../support/made-up";

function check(expression: string, matching: string[], others: string[]): void {
  const pattern = compile(expression);
  assert.ok(!("message" in pattern), `${expression}: ${"message" in pattern ? pattern.message : ""}`);
  for (const name of matching) assert.ok(pattern.test(name), `${expression} matches ${JSON.stringify(name)}`);
  for (const name of others) assert.ok(!pattern.test(name), `${expression} does not match ${JSON.stringify(name)}`);
}

test("what both write alike means what Rust means", () => {
  check("^caml_(alloc|copy)", ["caml_alloc", "caml_copy_string"], ["xcaml_alloc", "caml_free"]);
  check("a.c", ["abc", "a\rc", "a\u2028c"], ["a\nc"]);
  check("(?s)a.c", ["a\nc"], ["ac"]);
  check("^a$", ["a"], ["a\n", "b\na"]);
  check("(?m)^a$", ["b\na\nc"], ["ba"]);
  check(String.raw`\d+`, ["7", "\u0667"], ["x"]);
  check(String.raw`^\w+$`, ["größe_1", "日本"], ["a b", "a-b"]);
  check(String.raw`\bnew\b`, ["operator new(int)"], ["renew", "newü"]);
  check(String.raw`\s`, ["a\u00a0b"], ["ab"]);
  check(String.raw`\Ax\z`, ["x"], ["x\n", "ax"]);
  check("(?i)hash", ["HASH", "hAsh"], ["has"]);
  check("a++", ["aa"], ["b"]);
  check("x{2,}?", ["xx"], ["x"]);
  check("(?P<name>a)(?<other>b)", ["ab"], ["a"]);
  check("(?x) a b # c", ["ab"], ["a b"]);
  check("(?:(?s).)b.c", ["\nbxc"], ["\nb\nc"]);
});

test("sets are Rust's", () => {
  check("^[]a]+$", ["]a"], ["b"]);
  check("[^[:alpha:]]", ["1"], ["a"]);
  check(String.raw`^[\w&&[^\d]]+$`, ["ab"], ["a1"]);
  check("^[a-z--b]+$", ["ac"], ["ab"]);
  check("^[0-9a-z--b&&a-f]+$", ["ac"], ["ab", "x", "1"]);
  check(String.raw`^[\]\-\[]+$`, ["]-["], ["a"]);
  check("^[a-]+$", ["a-"], ["b"]);
  check(String.raw`^[\x41-\u{43}]+$`, ["ABC"], ["D"]);
  check(String.raw`^\p{Greek}\pL\P{L}$`, ["αb1"], ["aβ1", "αbc"]);
  check("^[(){}|/&]+$", ["(){}|/&"], ["a"]);
  check("]}", ["]}"], ["]"]);
});

test("what cannot be read is told in Rust's words", () => {
  const check = (expression: string, reason: string, start: number, end: number) => {
    const bad = compile(expression);
    assert.ok("message" in bad, `${expression} is read`);
    assert.equal(bad.message, `the regular expression cannot be read: ${reason}`);
    assert.deepEqual(bad.span, { start, end }, expression);
  };
  check("(a", "unclosed group", 0, 1);
  check("a)", "unopened group", 1, 2);
  check("x[a", "unclosed character class", 1, 2);
  check("*a", "repetition operator missing expression", 0, 1);
  check("a{3,2}", "invalid repetition count range, the start must be <= the end", 1, 6);
  check("(?=a)", "look-around, including look-ahead and look-behind, is not supported", 0, 3);
  check(String.raw`(a)\1`, "backreferences are not supported", 3, 5);
  check(String.raw`\p{Foo}`, "Unicode property not found", 0, 7);
  check(String.raw`\q`, "unrecognized escape sequence", 0, 2);
  check("[z-a]", "invalid character class range, the start must be <= the end", 1, 4);
  check("a(?i)b", "here (?i) is understood only before all else", 1, 4);
});

test("nothing that is typed makes an exception", () => {
  const pieces = ["a", "(", ")", "[", "]", "{", "}", "2", ",", "*", "+", "?", "|", "\\", "^", "$", ".", "-", "&", "p", "x", ":", "(?", "i", "<", ">", "=", "!"];
  let state = 1;
  for (let at = 0; at < 30_000; at++) {
    let text = "";
    for (let length = 0; length < 8; length++) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      text += pieces[(state >>> 8) % pieces.length];
    }
    const pattern = compile(text);
    if ("message" in pattern) assert.ok(pattern.message.startsWith("the regular expression"), text);
    else pattern.test("aa22x");
  }
});

test("what the browser's search finds is found", () => {
  const draw = random(3);
  const piece = (depth: number): string => {
    if (depth > 3) return draw.pick(["a", "b"]);
    return draw.pick([
      () => draw.pick(["a", "b", "c", ".", "[ab]", "[^a]", "^", "$"]),
      () => `(${piece(depth + 1)}|${piece(depth + 1)})`,
      () => piece(depth + 1) + piece(depth + 1),
      () => `(${piece(depth + 1)})${draw.pick(["*", "+", "?", "{2}", "{1,}", "{0,2}", "*?"])}`,
      () => `(|${piece(depth + 1)})`,
    ])();
  };
  let matching = 0;
  for (let round = 0; round < 3000; round++) {
    const expression = piece(0) + piece(0);
    const [pattern, twin] = [compile(expression), new RegExp(expression, "u")];
    assert.ok(!("message" in pattern), expression);
    for (let name = 0; name < 6; name++) {
      const text = Array.from({ length: draw.below(8) }, () => draw.pick(["a", "b", "c"])).join("");
      assert.equal(pattern.test(text), twin.test(text), `${expression} in "${text}"`);
      matching += Number(twin.test(text));
    }
  }
  assert.ok(matching > 3000 && matching < 17_000, String(matching));
});

// The browser's own search would take longer than the universe has been there.
test("no expression takes forever", () => {
  const name = "a".repeat(60_000);
  check("(a+)+$", [name], [`${name}!`]);
  check("^(a|a|aa)*$", [name], [`${name}!`]);
  check("(.*)*(.*)*x", [`${name}x`], [name]);
  check("(a?){50}a{50}$", ["a".repeat(50)], ["a".repeat(49)]);
  check("^(((a*)*)*)*$", [name, ""], ["b"]);
  assert.ok("message" in compile("(){999999999}"));
});
