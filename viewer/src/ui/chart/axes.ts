// Where the ticks of a time chart are, and what they are called.

/** Steps that people count time in, in seconds. */
export const STEPS_OF_SECONDS: number[] = [
  ...[-6, -5, -4, -3, -2, -1].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power)),
  ...[1, 2, 5, 10, 20, 30],
  ...[1, 2, 5, 10, 20, 30].map((minutes) => 60 * minutes),
  ...[1, 2, 3, 6, 12].map((hours) => 3600 * hours),
  ...[1, 2, 5, 10, 20, 50, 100].map((days) => 86_400 * days),
];

/** Powers of two of bytes, and in between. */
export const STEPS_OF_BYTES: number[] = Array.from({ length: 54 }, (_, power) => 2 ** power);

/** A moment of the trace: `250 ms`, `12.5 s`, `3 min 20 s`, `2 h 5 min`. */
export function secondsLabel(seconds: number): string {
  const trim = (value: number) => String(Number(value.toPrecision(6)));
  if (seconds === 0) return "0 s";
  if (Math.abs(seconds) < 1e-3) return `${trim(seconds * 1e6)} µs`;
  if (Math.abs(seconds) < 1) return `${trim(seconds * 1e3)} ms`;
  if (seconds < 120) return `${trim(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return pair(whole, 60, "min", "s");
  return whole < 172_800 ? pair(Math.round(whole / 60), 60, "h", "min") : pair(Math.round(whole / 3600), 24, "d", "h");
}

function pair(value: number, base: number, great: string, small: string): string {
  const rest = value % base;
  return rest ? `${Math.floor(value / base)} ${great} ${rest} ${small}` : `${value / base} ${great}`;
}
