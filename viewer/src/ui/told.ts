// What a trace tells: an imported profile may lack times, lifetimes, or amounts. What it lacks is not shown, since it
// would be made up (crates/study/src/origin/needs.rs).

import type { Metric } from "../engine/api";
import type { Facts } from "../engine/facts";
import type { View } from "./view";

const OF_METRICS: Record<Metric, string[]> = {
  allocated: ["allocated"],
  live: ["live"],
  peak: ["peak"],
  objects: ["allocated", "objects"],
  "byte-seconds": ["lifetimes"],
};

const OF_VIEWS: Record<string, string[]> = {
  timeline: ["times"],
  collector: ["times"],
  threads: ["threads"],
  sizes: ["sizes", "objects", "allocated"],
  leaks: ["times", "live"],
  temporary: ["times", "lifetimes"],
  lifetimes: ["lifetimes"],
};

/** Whether a trace tells of this: `times`, `lifetimes`, `peak`, `sizes`, `threads`, `allocated`, `live`, `objects`. */
export function tells(facts: Facts, ...what: string[]): boolean {
  return !what.some((lack) => facts.in_import?.lacks.includes(lack));
}

export function tellsMetric(facts: Facts, metric: Metric): boolean {
  return tells(facts, ...OF_METRICS[metric]);
}

/** The metric that is asked for, or one that the trace tells. */
export function toldMetric(facts: Facts, metric: Metric): Metric {
  const usual: Metric[] = [metric, "allocated", "live", "peak"];
  return usual.find((each) => tellsMetric(facts, each)) ?? metric;
}

/** A view that is there only for traces that tell what it shows. */
export function ifTold(view: View): View {
  const needs = OF_VIEWS[view.id] ?? [];
  return { ...view, isFor: (trace, traces) => tells(trace.facts, ...needs) && view.isFor(trace, traces) };
}
