// The same examples as crates/human/src/estimate.rs and lib.rs have.

import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, change, count, estimate, isNoise, percent, perHour, relative } from "../../src/ui/parts/format";
import { about, duration, filterSize, filterSpan, lifetime, quantile } from "../../src/ui/parts/spans";

const MIB = 2 ** 20;
const even = (value: number, half: number) => ({ value, low: value - half, high: value + half });

test("an estimate has the digits it deserves", () => {
  const check = (value: number, half: number, expected: string) =>
    assert.equal(estimate(even(value, half), "bytes"), expected);
  check(412.34 * MIB, 9.1 * MIB, "412 ± 9 MiB");
  check(412.34 * MIB, 2.31 * MIB, "412.3 ± 2.3 MiB");
  check(412.34 * MIB, 91 * MIB, "410 ± 90 MiB");
  check(1000.34 * MIB, 912 * MIB, "1,000 ± 900 MiB");
  check(2 * MIB, 1e-3 * MIB, "2.000 ± 0.001 MiB");
  check(2 * MIB, 100, "2 MiB");
  check(2048, 0, "2 KiB");
  check(600, 0.3, "600 B");
  check(600, 0.6, "600 ± 1 B");
});

test("few samples are a range, and what may be nothing is a bound", () => {
  const check = (low: number, value: number, high: number, expected: string) =>
    assert.equal(estimate({ value: value * MIB, low: low * MIB, high: high * MIB }, "bytes"), expected);
  check(0.17, 1, 3.3, "1.0 (0.2–3.3) MiB");
  check(0.9, 2.5, 5.5, "2.5 (0.9–5.5) MiB");
  check(-1, 1, 2.5, "< 2.5 MiB");
  check(0.01, 0.5, 2.5, "< 2.5 MiB");
  assert.equal(estimate({ value: 0, low: 0, high: 0 }, "bytes"), "0 B");
  assert.equal(estimate(even(4.2 * MIB, 0.31 * MIB), "byte-seconds"), "4.20 ± 0.31 MiB·s");
});

test("objects are whole", () => {
  const check = (value: number, half: number, expected: string) =>
    assert.equal(estimate(even(value, half), "objects"), expected);
  check(1_234_567, 0, "1,234,567");
  check(23_456_789, 0, "23.5 million");
  check(123_456, 1_234, "123,500 ± 1,200");
  check(23_456_789, 123_456, "23.46 ± 0.12 million");
  check(3, 1.3, "3 ± 1");
  check(1.001, 0.02, "1");
  check(3, 5.6, "< 9");
});

test("sizes, counts and shares", () => {
  assert.equal(bytes(0), "0 B");
  assert.equal(bytes(1023), "1,023 B");
  assert.equal(bytes(524_288), "512 KiB");
  assert.equal(bytes(80_000), "78.1 KiB");
  assert.equal(bytes(1e9), "954 MiB");
  assert.equal(bytes(1.5 * 2 ** 30), "1.50 GiB");
  assert.equal(bytes(1e30), "888,178,419,700,125 PiB");
  assert.equal(bytes(-2048), "−2 KiB");
  assert.equal(count(12_300_000), "12.3 million");
  assert.equal(percent(0.342), "34.2 %");
  assert.equal(percent(Number.NaN), "");
});

test("a change has a sign only if it is known which", () => {
  assert.equal(change(38 * MIB, 13 * MIB, "bytes"), "+38 ± 13 MiB");
  assert.equal(change(-38 * MIB, 13 * MIB, "bytes"), "−38 ± 13 MiB");
  assert.equal(change(3 * MIB, 58 * MIB, "bytes"), "< 61 MiB");
  assert.equal(relative(100, 131.7), "+31.7 %");
  assert.equal(relative(0, 1), "new");
  assert.equal(relative(1, 0), "gone");
});

test("noise is what may be nothing, or rests on fewer than five samples", () => {
  assert.equal(isNoise({ value: 1, low: 0, high: 5 }), true);
  assert.equal(isNoise({ value: 2.5, low: 0.9, high: 5.5 }), false);
  assert.equal(isNoise({ value: 2.5, low: 0.9, high: 5.5 }, 4), true);
  assert.equal(isNoise({ value: 2.5, low: 2.5, high: 2.5 }, 1), false, "what is exact is no noise");
  assert.equal(isNoise({ value: -2, low: -3, high: -1 }), false);
  assert.equal(isNoise({ value: -2, low: -5, high: 1 }), true);
});

test("spans of time", () => {
  const check = (seconds: number, expected: string) => assert.equal(about(seconds * 1e6), expected);
  check(0, "0 µs");
  check(1e-6, "1 µs");
  check(123e-6, "120 µs");
  check(999e-6, "1.0 ms");
  check(3.21e-3, "3.2 ms");
  check(0.5, "500 ms");
  check(1.24, "1.2 s");
  check(100, "100 s");
  check(7.4 * 60, "7.4 min");
  check(47 * 3600, "47 h");
  check(700 * 86_400, "700 days");
  assert.equal(lifetime(0), "< 1 µs");
  assert.equal(duration(812_000), "812 ms");
  assert.equal(duration(123_456_000), "2 min 3 s");
  assert.equal(duration(26 * 3600e6 + 245e6), "26 h 4 min");
  assert.equal(quantile({ value: 120, low: 100, high: 2000 }), "120 µs (100 µs – 2.0 ms)");
  assert.equal(quantile({ value: 120, low: 100, high: 150 }), "120 µs (100–150 µs)");
  assert.equal(quantile({ value: 120, low: null, high: null }), "perhaps 120 µs");
});

test("filters have the greatest unit that leaves a whole number", () => {
  assert.equal(filterSpan(1000), "1ms");
  assert.equal(filterSpan(1_500_000), "1500ms");
  assert.equal(filterSpan(90 * 60e6), "90min");
  assert.equal(filterSpan(0), "0us");
  assert.equal(filterSize(65_536), "64KiB");
  assert.equal(filterSize(100), "100B");
  assert.equal(filterSize(0), "0B");
});

test("rates have a sign or a bound", () => {
  const check = (value: number, half: number, expected: string) =>
    assert.equal(perHour(value, value - half, value + half), expected);
  check(8.21 * MIB, 0.91 * MIB, "8.2 ± 0.9 MiB/h");
  check(0.1 * MIB, 0.2 * MIB, "< 310 KiB/h");
  check(-0.1 * MIB, 0.4 * MIB, "< 310 KiB/h");
  check(-8.21 * MIB, 0.91 * MIB, "−8.2 ± 0.9 MiB/h");
  check(0, Infinity, "unknown");
  check(0, 0, "0 B/h");
});
