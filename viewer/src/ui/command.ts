// The command that shows what the page shows, to be pasted into a shell.

import type { Address } from "./address";
import type { Trace } from "../engine/api";
import { sideOf } from "./diff/sides";
import { tells } from "./told";

/** Views of the page by what `lifetrace report --view` calls them; whether they take `--metric`. */
const REPORTS: Record<string, { view: string; takesMetric: boolean }> = {
  summary: { view: "summary", takesMetric: true },
  timeline: { view: "timeline", takesMetric: false },
  flame: { view: "tree", takesMetric: true },
  callsites: { view: "hot", takesMetric: true },
  leaks: { view: "leaks", takesMetric: false },
  paths: { view: "paths", takesMetric: true },
  functions: { view: "functions", takesMetric: true },
  sandwich: { view: "calls", takesMetric: true },
  lifetimes: { view: "lifetimes", takesMetric: true },
  classes: { view: "classes", takesMetric: true },
  threads: { view: "threads", takesMetric: false },
  sizes: { view: "sizes", takesMetric: false },
  temporary: { view: "temporary", takesMetric: true },
  collector: { view: "gc", takesMetric: false },
};

/** A `lifetrace report` for one trace, or for all where they are looked at together. */
export function command(address: Address, traces: Trace[]): string {
  const { view, state } = address;
  if (view === "diff") return diff(address, traces);
  const current = traces[address.trace] ?? traces[0];
  const files = view === "processes" ? traces : [current];
  const words = [...report(address), ...options(address)];
  if (view === "flame" && state.inverted) words.push("--inverted");
  return words.concat(files.map(({ facts }) => file(facts.file))).join(" ");
}

/** Which options a `lifetrace report` has of this question. */
function options({ view, question, state }: Address): string[] {
  const soon = view === "temporary" && (question.metric === "live" || question.metric === "peak");
  const takes = !soon && (REPORTS[view]?.takesMetric ?? view === "processes");
  const metric = takes && question.metric !== "allocated" ? ["--metric", question.metric] : [];
  const narrow = view === "sandwich" && state.fn ? { ...question, focus: quotedStep(state.fn) } : question;
  return [...metric, ...chosen(narrow)];
}

function report({ view }: Address): string[] {
  if (view === "heap") return ["lifetrace", "heap"];
  if (view === "processes") return ["lifetrace", "report", "--per-process"];
  const name = REPORTS[view]?.view ?? "summary";
  return ["lifetrace", "report", ...(name === "summary" ? [] : ["--view", name])];
}

/** A side that has a filter of its own is a trace of its own first. */
function diff({ question, state, trace }: Address, traces: Trace[]): string {
  const sides = (["a", "b"] as const).map((name) => sideOf(name, state, traces.length, trace, tells(traces[trace].facts, "times")));
  const steps = sides.map(({ trace, filter }, at) => {
    const whole = file(traces[trace].facts.file);
    const part = at === 0 ? "before.lt" : "after.lt";
    return filter ? { slice: `lifetrace slice ${whole} --filter ${quoted(filter)} -o ${part}`, part } : { slice: "", part: whole };
  });
  const metric = question.metric === "allocated" ? [] : ["--metric", question.metric];
  const compared = ["lifetrace", "diff", ...metric, ...chosen(question), ...steps.map(({ part }) => part)].join(" ");
  return [...steps.map(({ slice }) => slice).filter(Boolean), compared].join(" && ");
}

function chosen({ filter, hide, focus, collapseRecursion }: Address["question"]): string[] {
  return [
    ...(filter.trim() ? ["--filter", quoted(filter.trim())] : []),
    ...hide.flatMap((frame) => ["--hide", quoted(frame)]),
    ...(focus ? ["--focus", quoted(focus)] : []),
    ...(collapseRecursion ? ["--collapse-recursion"] : []),
  ];
}

/** A function as a step of `--focus`: one with a `;` in its name needs quotes. */
function quotedStep(name: string): string {
  return /[;"]/.test(name) ? `fn="${name.replace(/"/g, '""')}"` : name;
}

/** A file whose name looks like an option is told by its path. */
function file(name: string): string {
  return quoted(name.startsWith("-") && name !== "-" ? `./${name}` : name);
}

/** What drives terminals, ends lines, or turns the order of what is around it. */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

/** One word of a POSIX shell, whatever is in it. */
export function quoted(word: string): string {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(word)) return word;
  if (UNSAFE.test(word)) return ansi(word);
  return `'${word.replace(/'/g, "'\\''")}'`;
}

/** What drives a terminal is written out, as bash, zsh and ksh read it. */
function ansi(word: string): string {
  const escaped = [...word].map((character) => {
    if (character === "\\" || character === "'") return `\\${character}`;
    if (!UNSAFE.test(character)) return character;
    return [...new TextEncoder().encode(character)].map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
  });
  return `$'${escaped.join("")}'`;
}
