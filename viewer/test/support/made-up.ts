// Traces that are made up: a server that leaks a little, of which tests know all; and small ones at random.

import type { MadeFrame, MadeSample, MadeTrace } from "./bundle";

/** Random numbers that are the same each time (Mulberry32). */
export function random(seed: number): { next(): number; below(count: number): number; pick<T>(from: readonly T[]): T } {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (count: number) => Math.floor(next() * count);
  return { next, below, pick: (from) => from[below(from.length)]! };
}

const SERVER = "/usr/bin/server";
const frame = (name: string, file: string, line: number): MadeFrame => [{ function: name, file, line, module: SERVER }];
const MALLOC: MadeFrame = [{ function: "malloc", file: "libc.so.6", module: "/lib/libc.so.6", machinery: true }];
const START: MadeFrame = [{ function: "_start", module: SERVER, starts: true }];
const MAIN = frame("main", "/src/main.c", 12);

/** Where a server allocates: backtraces, sizes, and how long blocks live; Infinity for what leaks. */
const PLACES: { frames: MadeFrame[]; sizes: number[]; lives: number; often: number }[] = [
  { frames: [START, MAIN, frame("serve", "/src/serve.c", 40), frame("createClient", "/src/client.c", 88), MALLOC], sizes: [512, 4096], lives: Infinity, often: 2 },
  { frames: [START, MAIN, frame("serve", "/src/serve.c", 44), frame("parse", "/src/parse.c", 7), frame("parse", "/src/parse.c", 31), MALLOC], sizes: [16, 32, 64], lives: 300, often: 9 },
  { frames: [START, MAIN, frame("serve", "/src/serve.c", 44), frame("parse", "/src/parse.c", 7), MALLOC], sizes: [24, 128], lives: 9000, often: 5 },
  { frames: [START, MAIN, frame("reply", "/src/reply.c", 3), [{ function: "std::string::append", file: "/usr/include/string", line: 9, machinery: true, module: SERVER }], MALLOC], sizes: [256, 65536], lives: 2000, often: 4 },
  { frames: [START, MAIN, frame("cache_fill", "/src/cache.c", 21), MALLOC], sizes: [1024], lives: 400_000, often: 3 },
  { frames: [[{ code: 0x7fff_1234 }], frame("plugin", "/src/plugin.c", 5), MALLOC], sizes: [48], lives: 50_000, often: 1 },
];

/** A server of so many samples, in a second. */
export function server(count = 400, seed = 1): MadeTrace {
  const draw = random(seed);
  const often = PLACES.flatMap((place) => Array.from({ length: place.often }, () => place));
  const samples = Array.from({ length: count }, (_, at): MadeSample => {
    const { frames, sizes, lives } = draw.pick(often);
    const born = Math.floor((at * 1_000_000) / count);
    const died = born + Math.floor(-Math.log(1 - draw.next()) * lives);
    const bytes = draw.pick(sizes);
    return {
      frames,
      born,
      ...(died < 1_000_000 ? { died } : {}),
      bytes,
      weight: 1 / (1 - (1 - 1 / 4096) ** bytes),
      thread: draw.below(3),
    };
  });
  const threads = ["main", "worker-1", "worker-2"].map((name, number) => ({ number, name, kernel: 100 + number }));
  const facts = { program: "server", command: "server --port 80", peak: 600_000, threads, labels: { build: "release" } };
  return { samples, facts };
}

const NAMES = ["a", "b", "c", "d"];

/** A small trace in which all that can happen does: few names, recursion, equal times, promotions, growth. */
export function small(seed: number): MadeTrace {
  const draw = random(seed);
  const line = (): MadeFrame[number] => {
    if (draw.below(9) === 0) return { code: draw.below(3) };
    const name = draw.pick(NAMES);
    return { function: name, file: `/src/${name}.c`, line: 1 + draw.below(2), machinery: name === "d", module: draw.pick(["", "/lib/x.so"]) };
  };
  const frames = (): MadeFrame[] =>
    Array.from({ length: draw.below(7) }, () =>
      draw.below(5) === 0 ? [line(), { ...line(), inlined: true }] : [line()],
    );
  let born = 0;
  const samples = Array.from({ length: 1 + draw.below(60) }, (): MadeSample => {
    born += draw.below(3);
    const source = draw.below(5);
    const promoted = source === 1 && draw.below(2) === 0 ? born + draw.below(4) : undefined;
    const died = draw.below(3) > 0 ? (promoted ?? born) + draw.below(12) : undefined;
    const weight = draw.pick([1, 1.5, 20.25, 130]);
    return {
      frames: frames(),
      born,
      ...(died === undefined ? {} : { died }),
      ...(promoted === undefined ? {} : { promoted }),
      bytes: draw.pick([0, 8, 24, 1000]),
      weight,
      source,
      thread: draw.below(2),
      growth: draw.below(8) === 0,
    };
  });
  const sources = [
    { name: "malloc", source: "native" as const, ocaml: false, ruby: false, unit: "byte" as const, rate: 0.1 },
    { name: "ocaml", source: "minor" as const, ocaml: true, ruby: false, unit: "word" as const, rate: 0.1 },
    { name: "ocaml", source: "major" as const, ocaml: true, ruby: false, unit: "word" as const, rate: 0.1 },
    { name: "mmap", source: "external" as const, ocaml: false, ruby: false, unit: "byte" as const, rate: 1 },
    { name: "arena", source: "external" as const, ocaml: false, ruby: false, unit: "byte" as const, rate: 1 },
  ];
  const threads = [
    { number: 0, name: "main", kernel: 100 },
    { number: 4, name: null, kernel: 101 },
  ];
  return { samples, facts: { sources, threads, peak: Math.floor(born / 2), labels: { build: "release" } } };
}

/** A trace of so many samples by functions `fn_0` to `fn_39` in files `file_0.c` to `file_9.c`, in ten minutes. */
export function wide(count: number, seed = 1): MadeTrace {
  const draw = random(seed);
  const duration = 600_000_000;
  const names = Array.from({ length: 40 }, (_, at) => frame(`fn_${at}`, `/src/file_${at % 10}.c`, 1 + at));
  const backtraces = Array.from({ length: 2000 }, () => [MAIN, ...Array.from({ length: 1 + draw.below(12) }, () => draw.pick(names)), MALLOC]);
  const sizes = [16, 48, 64, 1000, 65536];
  const samples = Array.from({ length: count }, (_, at): MadeSample => {
    const born = Math.floor((at * duration) / count);
    const died = born + Math.floor(-Math.log(1 - draw.next()) * draw.pick([200, 5_000_000, 90_000_000, Infinity]));
    const bytes = draw.pick(sizes);
    return { frames: draw.pick(backtraces), born, bytes, weight: 1 / (1 - (1 - 1 / 4096) ** bytes), ...(died < duration ? { died } : {}) };
  });
  return { samples, facts: { duration, end: duration, peak: 400_000_000 } };
}
