// What changed between two sides, each of one or several answers: totals, callsites, functions, and the tree of backtraces.

import type * as api from "./api";
import type { Answer } from "./answer";
import { benjaminiHochberg, difference, type Run } from "./diff/compare";
import { changeOf, comparePlaces, LEVEL, type RunEntries } from "./diff/places";
import { rebuiltName } from "./diff/rebuilt";
import { type Estimate, measured, NOTHING } from "./estimate";
import { estimateAt, type Part, sumMetric, totalOf } from "./holdings";
import { PrefixTree } from "./prefix_tree";
import { lineOf, LEFT_OUT } from "./shape";
import { childrenOf } from "./tree";

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
    return (this.knownTree ??= compareTrees(...this.sides, this.metric));
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
  return { function: name, file: line?.file ?? "", line: line?.line ?? 0, value, shown: line };
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

/** The trees of all runs laid over each other by the names of functions. */
class NameTree {
  readonly tree = new PrefixTree();
  readonly lines: api.Line[] = [];
  private readonly ids = new Map<string, number>();

  /** The nodes that those of an answer's tree have become. */
  lay({ sites }: Answer): Uint32Array {
    const { tree, looks } = sites.shaped;
    const ids = looks.map((_, look) => this.id(lineOf(sites.shaped, look)));
    const nodes = new Uint32Array(tree.size);
    for (let node = 1; node < tree.size; node++) {
      nodes[node] = this.tree.child(nodes[tree.parent[node]!]!, ids[tree.label[node]!]!);
    }
    return nodes;
  }

  private id(line: api.Line): number {
    const name = rebuiltName(line.function ?? "?");
    const known = this.ids.get(name);
    if (known !== undefined) return known;
    const id = this.lines.length;
    this.ids.set(name, id);
    this.lines.push({ ...line, id, function: name, file: null, line: null });
    return id;
  }
}

function compareTrees(before: Answer[], after: Answer[], metric: api.Metric): api.Difference["tree"] {
  const common = new NameTree();
  const laid = [before, after].map((side) => side.map((answer) => ({ answer, nodes: common.lay(answer) })));
  const { tree } = common;
  const sides = laid.map((side) =>
    side.map(({ answer, nodes }) => ({ totals: through(answer, metric, nodes, tree), grain: grain(answer, metric) })),
  );
  const at = (side: number, node: number): Run[] =>
    sides[side]!.map(({ totals, grain }) => ({ estimate: estimateAt(totals, node), grain }));
  const nodes = Uint32Array.from({ length: tree.size }, (_, node) => node);
  const nowhere = difference([{ estimate: NOTHING, grain: 0 }], [{ estimate: NOTHING, grain: 0 }]);
  const isThere = (node: number) => sides.some((side) => side.some(({ totals }) => totals.samples[node]! > 0));
  const differences = Array.from(nodes, (node) => (isThere(node) ? difference(at(0, node), at(1, node)) : nowhere));
  const changed = Array.from(nodes).filter((node) => node > 0 && differences[node]!.change !== 0);
  const corrected = benjaminiHochberg(changed.map((node) => differences[node]!.pValue));
  const [pValues, significant] = [new Float64Array(tree.size).fill(1), new Uint8Array(tree.size)];
  changed.forEach((node, rank) => {
    pValues[node] = corrected[rank]!;
    significant[node] = Number(corrected[rank]! <= LEVEL);
  });
  const pick = (of: (node: number) => number) => Float64Array.from(nodes, of);
  const larger = pick((node) => Math.max(differences[node]!.before, differences[node]!.after));
  const depth = new Uint16Array(tree.size);
  for (let node = 1; node < tree.size; node++) depth[node] = Math.min(0xffff, depth[tree.parent[node]!]! + 1);
  const parent = tree.parent.slice(0, tree.size);
  const own = larger.slice();
  for (let node = 1; node < tree.size; node++) own[parent[node]!]! -= larger[node]!;
  return {
    parent,
    line: tree.label.slice(0, tree.size),
    depth,
    total: larger,
    own: own.map((value) => Math.max(0, value)),
    variance: pick((node) => (differences[node]!.interval / 1.959963984540054) ** 2),
    samples: new Uint32Array(tree.size),
    lines: common.lines,
    interval: (node) => measured(differences[node]!.change, (differences[node]!.interval / 1.959963984540054) ** 2, 0),
    children: childrenOf(parent, larger),
    meanLifetime: () => null,
    before: pick((node) => differences[node]!.before),
    after: pick((node) => differences[node]!.after),
    changeInterval: pick((node) => differences[node]!.interval),
    pValue: pValues,
    significant,
  };
}

/** What came through the nodes of the common tree. */
function through(answer: Answer, metric: api.Metric, nodes: Uint32Array, tree: PrefixTree) {
  const { holdings, sites } = answer;
  const target = sites.shaped.of.map((node) => (node === LEFT_OUT ? LEFT_OUT : nodes[node]!));
  const sums = sumMetric([{ holdings, target }], tree.size, metric);
  for (let node = tree.size - 1; node > 0; node--) {
    const outer = tree.parent[node]!;
    sums.value[outer]! += sums.value[node]!;
    sums.variance[outer]! += sums.variance[node]!;
    sums.samples[outer]! += sums.samples[node]!;
  }
  return sums;
}
