// What the application asks of a trace, and what it is answered. The engine implements it (`engine/index.ts`); the
// interface (`ui/`) knows nothing else of it. Times are microseconds since the start of the trace.

/** A number with its 95 % interval, by the rules of `report --json` (`value`, `low95`, `high95`). */
export interface Measured {
  value: number;
  low: number;
  high: number;
}

/** An amount of memory, a quantity of `report --json`. */
export interface Quantity {
  samples: number;
  bytes: Measured;
  objects: Measured;
}

export type Metric = "allocated" | "live" | "peak" | "objects" | "byte-seconds";

/** A line of a backtrace as it looks after hiding, folding and focusing. */
export interface Line {
  id: number;
  function: string | null;
  file: string | null;
  line: number | null;
  module: string | null;
  inlined: boolean;
  machinery: boolean;
  /** Of a frame of which nothing is known, its address: `7fff1234`. */
  code?: string;
}

/** What is asked: all that an address says. */
export interface Question {
  filter: string;
  metric: Metric;
  hide: string[];
  focus: string;
  collapseRecursion: boolean;
}

/** A filter or a frame that cannot be read: where, and what may have been meant, as the command says it. */
export interface Mistake {
  message: string;
  /** Characters of the text, as JavaScript counts them. */
  start: number;
  end: number;
  /** What may have been meant, to be put in the place of the mistake; the message has it as well. */
  suggestion?: string | null;
  /** What may help, in lines. */
  hint?: string | null;
}

/** Which samples are chosen, and all sums of them; kept for as long as the question is the same. */
export interface Answer {
  question: Question;
  /** Of the filter, or null. */
  canonical: string | null;
  samples: number;
  totals: { allocated: Quantity; promoted: Quantity; peak: Quantity; peakTime: number | null; live: Quantity };
  /** Rows of callsites, those with most of the metric first. */
  callsites(): Callsite[];
  /** Callsites first (inverted), or the outermost frames first. Children are sorted, those with most first. */
  tree(inverted: boolean): Tree;
  /** Hot paths: what `--view paths` tells. */
  paths(): HotPath[];
  functions(): FunctionRow[];
  classes(): ClassRow[];
  threads(): ThreadRow[];
  sizes(): SizeRow[];
  /** Live bytes over time by callsite: equal parts of [begin, end). */
  timeline(parts: number, top: number, begin?: number, end?: number): Timeline;
  lifetimes(callsite?: number): Lifetimes;
  temporary(below: number): TemporaryRow[];
  /** What these callsites hold at the end, together; null where a place is not one callsite of what was chosen. */
  liveOf(places: Pick<Line, "function" | "file" | "line">[]): Measured | null;
  /** The lines of a backtrace that a row names as its hottest, innermost first. */
  frames(backtrace: number): Line[];
  /** Counts of lifetime (columns) by size (rows), in weighted bytes; the classes of sizes are those of `sizes`. */
  density(): Density;
  /** Callers and callees of one function. */
  sandwich(functionName: string): { callers: Tree; callees: Tree; total: Measured };
  /** The backtraces of a callsite, those with most first, innermost line first. */
  backtraces(callsite: number, top: number): { share: number; total: Measured; lines: Line[] }[];
  /** Live bytes of a callsite at equal steps from start to end. */
  growth(callsite: number, steps: number): Float64Array;
}

export interface Callsite {
  id: number;
  line: Line | null;
  share: number;
  /** What it has of the metric. */
  value: Measured;
  allocated: Quantity;
  peak: Quantity;
  live: Quantity;
  byteSeconds: Measured;
  backtraces: number;
  /** The backtrace that has most of it, for `Answer.frames`, and its part of the callsite. */
  hottest: number;
  hottestShare: number;
}

/** Nodes in typed arrays, parents before children; node 0 is the root. */
export interface Tree {
  parent: Uint32Array;
  /** Row of `lines`; of the root nothing. */
  line: Uint32Array;
  depth: Uint16Array;
  total: Float64Array;
  own: Float64Array;
  variance: Float64Array;
  /** Samples that came through a node. */
  samples: Uint32Array;
  lines: Line[];
  /** The interval of a node's total; computed when it is looked at. */
  interval(node: number): Measured;
  children(node: number): number[];
  /** Mean lifetime of what came through, weighted by bytes, where it is known; for colours. */
  meanLifetime(node: number): number | null;
}

export interface HotPath {
  share: number;
  freshShare: number;
  total: Measured;
  fresh: Measured;
  lines: Line[];
}
export interface FunctionRow {
  function: string | null;
  /** See [`Line`]. */
  code?: string;
  file: string | null;
  line: number | null;
  total: Measured;
  totalShare: number;
  own: Measured;
  ownShare: number;
}
export interface ClassRow {
  name: string | null;
  value: Measured;
  share: number;
  allocated: Quantity;
  live: Quantity;
  callsite: Line | null;
  callsiteShare: number;
}
export interface ThreadRow {
  number: number;
  kernel: number | null;
  name: string | null;
  share: number;
  allocated: Quantity;
  live: Quantity;
  freedByOthers: Quantity | null;
  freedForOthers: Quantity | null;
}
export interface SizeRow {
  least: number;
  most: number;
  allocated: Quantity;
  live: Quantity;
}
export interface Timeline {
  begin: number;
  end: number;
  parts: { begin: number; end: number; most: Measured; atEnd: Measured }[];
  /** Callsites that ever had at least half a percent of the most that was live. */
  callsitesTotal: number;
  /** Bytes at the end of each part, those that had the greatest part first. */
  callsites: { callsite: number; line: Line | null; atEnd: Float64Array; variance: Float64Array }[];
}
export interface Lifetimes {
  unit: "objects" | "bytes";
  quantiles: { share: number; value: number | null; low: number | null; high: number | null }[];
  classes: { least: number; most: number; objectsShare: number; bytesShare: number }[];
  longer: { objectsShare: number; bytesShare: number };
  watched: number;
  /** Share of objects that live longer than `time`, Kaplan-Meier's estimate. */
  survival: { time: number; share: number; low: number; high: number }[];
}
export interface TemporaryRow {
  callsite: number;
  line: Line | null;
  share: number;
  temporary: Quantity;
  allocated: Quantity;
  /** Objects. */
  perSecond: Measured;
  /** Bytes that are alive at once, on average: so much an arena or a pool must hold. */
  aliveOnAverage: Measured;
  backtraces: number;
  hottest: number;
  hottestShare: number;
}
export interface Density {
  /** Lower ends of the classes; the last lifetime class is "not freed", and begins at Infinity. */
  lifetimes: number[];
  sizes: number[];
  /** Row after row: weighted bytes. */
  bytes: Float64Array;
  objects: Float64Array;
}

/** A place that differs between two sides, as `diff` tells it. */
export interface Change {
  line: Line | null;
  before: number;
  after: number;
  change: number;
  interval: number;
  pValue: number;
  significant: boolean;
}
export interface Difference {
  metric: Metric;
  totals: Record<string, Change>;
  /** Of callsites, the greatest first. */
  changes: Change[];
  /** Of functions, with all that they call. */
  functions(): Change[];
  /** Of frames, outermost first, with what each side has. */
  tree: Tree & {
    before: Float64Array;
    after: Float64Array;
    /** Half the width of the 95 % interval of the change. */
    changeInterval: Float64Array;
    /** Corrected for the number of nodes that changed. */
    pValue: Float64Array;
    significant: Uint8Array;
  };
}

/** A trace of the page. */
export interface Trace {
  facts: import("./facts").Facts;
  documents: Record<string, any>;
  heap: any | null;
  sampleCount: number;
  /** Memory, collections: see docs/format-page.md. */
  memory: { time: Float64Array; resident: Float64Array; heap: Float64Array; live: Float64Array };
  cycles: { begin: Float64Array; end: Float64Array; generation: Uint8Array };
  ask(question: Question): Answer | Mistake;
}

export interface Engine {
  open(bundle: ArrayBuffer): Trace;
  /** `before` and `after` may be the same trace with two questions (two ranges). */
  compare(before: Answer[], after: Answer[]): Difference;
  /** Several traces added up, by names, each at its own peak. */
  together(answers: Answer[]): { totals: Answer["totals"]; callsites: Callsite[]; tree(inverted: boolean): Tree };
  /** The one text of a filter, and of each of its terms, with its place in what was typed. */
  parse(filter: string): { canonical: string; terms?: { text: string; start: number; end: number }[] } | Mistake;
  parseFrames(hide: string[], focus: string): Mistake | null;
}
