// What changed between two sides, each of one or several answers: totals, callsites, functions, and the tree of backtraces.

import type * as api from "./api";
import type { Answer } from "./answer";
import { difference } from "./diff/compare";
import { changeOf, comparePlaces, type RunEntries } from "./diff/places";
import { compareTrees } from "./diff/trees";
import type { Estimate } from "./estimate";
import { estimateAt, type Part, sumMetric, totalOf } from "./holdings";
import { lineOf } from "./shape";

const METRICS: api.Metric[] = ["allocated", "live", "peak", "objects", "byte-seconds"];

export function compare(before: api.Answer[], after: api.Answer[]): api.Difference {
  // The engine's own answers are the only ones that there are.
  const sides = [before as Answer[], after as Answer[]] as const;
  const metric = sides[1][0]!.question.metric;
  const totals = METRICS.map((it): [string, api.Change] => {
    const runs = sides.map((side) => side.map((answer) => ({ estimate: total(answer, it), grain: grain(answer, it) })));
    const found = difference(runs[0]!, runs[1]!);
    return [it, changeOf(null, found, found.pValue)];
  });
  return new Compared(sides, metric, Object.fromEntries(totals));
}

/** What is found when it is asked for. */
class Compared implements api.Difference {
  private knownChanges: api.Change[] | null = null;
  private knownFunctions: api.Change[] | null = null;
  private knownTree: api.Difference["tree"] | null = null;

  constructor(
    private readonly sides: readonly [Answer[], Answer[]],
    readonly metric: api.Metric,
    readonly totals: Record<string, api.Change>,
  ) {}

  get changes(): api.Change[] {
    const side = (at: 0 | 1) => this.sides[at].map((answer) => callsiteEntries(answer, this.metric));
    return (this.knownChanges ??= comparePlaces(side(0), side(1)));
  }

  functions(): api.Change[] {
    return (this.knownFunctions ??= compareFunctions(...this.sides, this.metric));
  }

  get tree(): api.Difference["tree"] {
    const side = (at: 0 | 1) =>
      this.sides[at].map((answer) => ({ accounts: { ...answer.accounts, metric: this.metric }, grain: grain(answer, this.metric) }));
    return (this.knownTree ??= compareTrees(side(0), side(1)));
  }
}

/** Of all backtraces, those that are left out by a focus as well. */
function total({ holdings, trace }: Answer, metric: api.Metric): Estimate {
  return estimateAt(sumMetric([{ holdings, target: new Uint32Array(trace.backtraces.nodes) }], 1, metric), 0);
}

/** What one more sampled block would add: as much as blocks that are hit once stand for. */
function grain(answer: Answer, metric: api.Metric): number {
  const { facts } = answer.trace;
  if (facts.exact && facts.hears_all) return 0;
  const { bytes, objects } = totalOf(answer.holdings, "allocated");
  const mean = objects.value > 0 ? bytes.value / objects.value : 0;
  const interval = Math.max(facts.interval_bytes, facts.interval_objects * mean);
  if (metric !== "objects" && metric !== "byte-seconds") return interval;
  return bytes.value > 0 ? (interval * total(answer, metric).value) / bytes.value : 0;
}

/** What an answer has at its callsites, in the order of their names. */
function callsiteEntries(answer: Answer, metric: api.Metric): RunEntries {
  const { sites, holdings } = answer;
  const parts: Part[] = [{ holdings, target: sites.ofBacktrace }];
  const values = sumMetric(parts, sites.count, metric);
  const everything = metric === "live" || metric === "peak" ? sumMetric(parts, sites.count, "allocated") : values;
  const order = Array.from(sites.rank, (_, site) => site).filter((site) => everything.samples[site]! > 0);
  order.sort((a, b) => sites.rank[a]! - sites.rank[b]!);
  const entries = order.map((site) => {
    const look = sites.look[site]!;
    return entryOf(look < 0 ? null : lineOf(sites.shaped, look), estimateAt(values, site));
  });
  return { entries, grain: grain(answer, metric) };
}

function entryOf(line: api.Line | null, value: Estimate) {
  // The number of a frame without a name is an address, which means nothing in another run.
  const name = line === null ? "(no backtrace)" : (line.function ?? "(unknown frame)");
  return { function: name, file: line?.file ?? "", line: line?.line ?? 0, value, shown: line && withoutCode(line) };
}

function withoutCode({ code: _, ...line }: api.Line): api.Line {
  return line;
}

function compareFunctions(before: Answer[], after: Answer[], metric: api.Metric): api.Change[] {
  const side = (answers: Answer[]) =>
    answers.map((answer): RunEntries => {
      const rows = answer.functionTotals(metric);
      const entries = rows.map(({ line, total: value }) => ({ ...entryOf(line, value), line: 0 }));
      return { entries, grain: grain(answer, metric) };
    });
  return comparePlaces(side(before), side(after));
}
