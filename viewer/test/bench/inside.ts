// What is measured, in the page.

import { engine } from "../../src/engine";
import type { Answer, Question, Trace } from "../../src/engine/api";

const METRICS = ["allocated", "live", "peak", "objects", "byte-seconds"] as const;

async function unpacked(base64: string): Promise<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(base64), (it) => it.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

/** Filters of all kinds, about what the trace has. */
function filters(trace: Trace, whole: Answer): string[] {
  const functions = whole.functions().slice(0, 40).flatMap((row) => row.function || []);
  const quoted = (name: string | undefined) => `"${(name ?? "main").replaceAll('"', '""')}"`;
  const [first, second] = [functions.at(3), functions.at(-1)];
  return [
    "leaks",
    "not leaks",
    "peak",
    "temporary",
    "churn",
    "long-lived",
    "premature",
    "promoted",
    "not in old heap",
    "in old heap",
    "allocated after 50%",
    "allocated 25%..75% alive at end",
    "allocated 10%..20% freed 10%..20%",
    "alive at peak size>=64",
    "alive 40%..60% not freed before 80%",
    "size 64B..4KiB",
    "size!=128 lifetime>=1ms",
    "lifetime 1ms..1s",
    `fn=${quoted(first)}`,
    `not fn=${quoted(second)}`,
    "fn~(?i)[aeiou]l+o",
    `innermost fn~^[a-m] fn:${quoted(first?.slice(0, 3))}`,
    "file:src module:/ not class:String",
    `thread=${trace.facts.threads[0]?.number ?? 0} source=external`,
    `label build not source:x fn:${quoted(second?.slice(0, 4))} size<1MiB lifetime<25% allocated before 90%`,
  ];
}

/** The views, as somebody opens them. */
function views(answer: Answer): Record<string, () => unknown> {
  const site = () => answer.callsites()[0]?.id ?? 0;
  return {
    callsites: () => answer.callsites(),
    tree: () => answer.tree(false),
    "tree inverted": () => answer.tree(true),
    paths: () => answer.paths(),
    functions: () => answer.functions(),
    classes: () => answer.classes(),
    threads: () => answer.threads(),
    sizes: () => answer.sizes(),
    timeline: () => answer.timeline(200, 8),
    lifetimes: () => answer.lifetimes(),
    "lifetimes of a callsite": () => answer.lifetimes(site()),
    temporary: () => answer.temporary(10_000),
    density: () => answer.density(),
    backtraces: () => answer.backtraces(site(), 10),
    growth: () => answer.growth(site(), 60),
    sandwich: () => answer.sandwich(answer.functions()[0]?.function ?? "main"),
  };
}

export async function measure(base64: string) {
  const times = new Map<string, number[]>();
  const timed = <T>(name: string, make: () => T): T => {
    const begin = performance.now();
    const made = make();
    times.set(name, [...(times.get(name) ?? []), performance.now() - begin]);
    return made;
  };
  const bundle = await unpacked(base64);
  const trace = timed("open", () => engine.open(bundle));
  const question: Question = { filter: "", metric: "allocated", hide: [], focus: "", collapseRecursion: false };
  const asked = (filter: string, at: number) => {
    const answer = trace.ask({ ...question, filter, metric: METRICS[at % METRICS.length]! });
    if ("message" in answer) throw new Error(`${filter}: ${answer.message}`);
    return answer;
  };
  const whole = timed("first question", () => asked("", 0));
  let before = whole;
  filters(trace, whole).forEach((filter, at) => {
    const answer = timed("filter", () => asked(filter, at));
    for (const [name, look] of Object.entries(views(answer))) timed(name, look);
    const fair = asked(filter, 0);
    const difference = timed("compare", () => engine.compare([before], [fair]));
    timed("compare callsites", () => difference.changes);
    timed("compare trees", () => difference.tree);
    before = fair;
  });
  return [...times].map(([name, all]) => {
    const sorted = all.sort((a, b) => a - b);
    const rounded = (ms: number) => Math.round(ms * 10) / 10;
    return {
      name,
      samples: trace.sampleCount,
      median_ms: rounded(sorted[sorted.length >> 1]!),
      worst_ms: rounded(sorted.at(-1)!),
    };
  });
}
