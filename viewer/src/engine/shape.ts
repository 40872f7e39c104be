// Backtraces as a reader sees them: lines instead of frames, some of them hidden, folded or cut off; what looks the same
// is the same (crates/analysis/src/shape.rs).

import type { Line } from "./api";
import type { FramePattern } from "./filter/term";
import type { FrameView } from "./filter/frames";
import { matchingLines } from "./matching_lines";
import { type Backtraces, INLINED, type Lines, MACHINERY, UNKNOWN } from "./names";
import { PrefixTree } from "./prefix_tree";

export const LEFT_OUT = 0xffff_ffff;

/** Backtraces of lines that look different. */
export interface Shaped {
  tree: PrefixTree;
  /** By look: a line of the backtraces that has it. */
  looks: number[];
  /** By node of the backtraces: its node in `tree`, or `LEFT_OUT`. */
  of: Uint32Array;
  lines: Lines;
  /** By look: what makes two lines the same function where it calls itself. */
  functions: Uint32Array;
}

export function shape(backtraces: Backtraces, view: FrameView): Shaped {
  const shaper = new Shaper(backtraces, view);
  const of = shaper.nodes();
  const { tree, looks, functions } = shaper;
  const shaped = { tree, looks, of, lines: backtraces.lines, functions: Uint32Array.from(functions) };
  return view.focus === null ? shaped : cut(shaped, view.focus);
}

class Shaper {
  readonly tree = new PrefixTree();
  readonly looks: number[] = [];
  readonly functions: number[] = [];
  private readonly lookOf: Uint32Array;
  private readonly hidden: Uint8Array;
  private readonly ids = new Map<string, number>();
  private readonly functionIds = new Map<string, number>();

  constructor(
    private readonly backtraces: Backtraces,
    private readonly view: FrameView,
  ) {
    this.lookOf = new Uint32Array(backtraces.lines.count).fill(LEFT_OUT);
    this.hidden = new Uint8Array(backtraces.lines.count);
    for (const pattern of view.hide) {
      const matches = matchingLines(pattern, backtraces.lines);
      for (let line = 0; line < matches.length; line++) this.hidden[line]! |= matches[line]!;
    }
  }

  nodes(): Uint32Array {
    const { nodes, parent, frame, first } = this.backtraces;
    const of = new Uint32Array(nodes);
    const isMet = new Uint8Array(Math.max(0, first.length - 1));
    for (let node = 1; node < nodes; node++) {
      let at = of[parent[node]!]!;
      if (isMet[frame[node]!] === 0) this.meet(frame[node]!);
      isMet[frame[node]!] = 1;
      for (let line = first[frame[node]!]!; line < first[frame[node]! + 1]!; line++) {
        if (this.hidden[line] === 0) at = this.child(at, this.look(line));
      }
      of[node] = at;
    }
    return of;
  }

  /** Looks are numbered as the command numbers them: those of a frame from the innermost line on. */
  private meet(frame: number): void {
    const { first } = this.backtraces;
    for (let line = first[frame + 1]! - 1; line >= first[frame]!; line--) if (this.hidden[line] === 0) this.look(line);
  }

  private look(line: number): number {
    if (this.lookOf[line] === LEFT_OUT) this.lookOf[line] = this.newLook(line);
    return this.lookOf[line]!;
  }

  private newLook(line: number): number {
    const { lines } = this.backtraces;
    const key = `${lines.flags[line]! & INLINED}\0${lines.module[line]}\0${placeKey(lines, line)}`;
    const known = this.ids.get(key);
    if (known !== undefined) return known;
    const look = this.looks.length;
    this.ids.set(key, look);
    this.looks.push(line);
    const name = functionKey(lines, line);
    const id = this.functionIds.get(name) ?? this.functionIds.size;
    this.functionIds.set(name, id);
    this.functions.push(id);
    return look;
  }

  private child(node: number, look: number): number {
    if (!this.view.collapseRecursion || this.tree.existing(node, look) >= 0) return this.tree.child(node, look);
    return this.tree.child(this.before(node, look), look);
  }

  /** What the backtrace is up to, and without, an earlier call of the same function; itself if there is none. */
  private before(node: number, look: number): number {
    const { parent, label } = this.tree;
    const wanted = this.functions[look];
    for (let at = node; at !== 0; at = parent[at]!) {
      if (this.functions[label[at]!] === wanted) return parent[at]!;
    }
    return node;
  }
}

/** What makes two places equal: function, file and line, or the code of a frame of which nothing is known. */
export function placeKey(lines: Lines, line: number): string {
  if ((lines.flags[line]! & UNKNOWN) !== 0) return `?${lines.code.get(line) ?? ""}`;
  return `${lines.function[line]}\0${lines.file[line]}\0${lines.line[line]}`;
}

function functionKey(lines: Lines, line: number): string {
  if ((lines.flags[line]! & UNKNOWN) !== 0) return `?${lines.code.get(line) ?? ""}`;
  if (lines.function[line] === "") return `@${lines.file[line]}\0${lines.line[line]}`;
  return `=${lines.function[line]}\0${lines.file[line]}`;
}

/** How far backtraces have come in a path; by node. */
interface Progress {
  /** Stretches that it has been through, and at which depth the last of them ended. */
  stretches: Uint32Array;
  end: Uint32Array;
  depth: Uint32Array;
}

/** Walks all backtraces of lines; tells where one comes through a stretch, and how many it has been through. */
function walkPath(
  { tree, looks, lines }: Shaped,
  focus: FramePattern[][],
  tell: (node: number, came: boolean, stretches: number) => void,
): void {
  const matches = focus.map((stretch) => stretch.map((pattern) => matchingLines(pattern, lines)));
  const column = () => new Uint32Array(tree.size);
  const progress: Progress = { stretches: column(), end: column(), depth: column() };
  for (let node = 1; node < tree.size; node++) {
    const outer = tree.parent[node]!;
    const depth = progress.depth[outer]! + 1;
    let [stretches, end] = [progress.stretches[outer]!, progress.end[outer]!];
    const stretch = matches[stretches];
    let came = stretch !== undefined && depth - end >= stretch.length;
    for (let step = (stretch?.length ?? 0) - 1, at = node; came && step >= 0; step--, at = tree.parent[at]!) {
      came = stretch![step]![looks[tree.label[at]!]!] === 1;
    }
    if (came) [stretches, end] = [stretches + 1, depth];
    [progress.stretches[node], progress.end[node], progress.depth[node]] = [stretches, end, depth];
    tell(node, came, stretches);
  }
}

/** Only the backtraces that go through a path, from its first line on; `of` says which backtrace is which now. */
export function cut(shaped: Shaped, focus: FramePattern[][], of = shaped.of): Shaped {
  const { tree } = shaped;
  const shorter = new PrefixTree();
  const within = new Uint32Array(tree.size).fill(LEFT_OUT);
  const kept = new Uint32Array(tree.size).fill(LEFT_OUT);
  walkPath(shaped, focus, (node, came, stretches) => {
    const outer = within[tree.parent[node]!]!;
    if (outer !== LEFT_OUT) within[node] = shorter.child(outer, tree.label[node]!);
    else if (came) within[node] = copied(shorter, tree, node, focus[0]!.length);
    if (stretches === focus.length) kept[node] = within[node]!;
  });
  return { ...shaped, tree: shorter, of: of.map((node) => (node === LEFT_OUT ? LEFT_OUT : kept[node]!)) };
}

/** The last lines of a backtrace, from the root of another tree on. */
function copied(into: PrefixTree, tree: PrefixTree, node: number, length: number): number {
  const parent = length === 1 ? 0 : copied(into, tree, tree.parent[node]!, length - 1);
  return into.child(parent, tree.label[node]!);
}

/** By node: where it has come through a path for the first time, the node of the path's last line; else `LEFT_OUT`. */
export function endsOf(shaped: Shaped, path: FramePattern[][]): Uint32Array {
  const ends = new Uint32Array(shaped.tree.size).fill(LEFT_OUT);
  walkPath(shaped, path, (node, came, stretches) => {
    ends[node] = came && stretches === path.length ? node : ends[shaped.tree.parent[node]!]!;
  });
  return ends;
}

/** A line as the interface has it. */
export function lineOf({ lines, looks }: Pick<Shaped, "lines" | "looks">, look: number): Line {
  const line = looks[look]!;
  const isUnknown = (lines.flags[line]! & UNKNOWN) !== 0;
  const module = lines.module[line]!;
  return {
    id: look,
    function: isUnknown ? null : lines.function[line]!,
    file: isUnknown ? null : lines.file[line]!,
    line: isUnknown || lines.line[line] === 0 ? null : lines.line[line]!,
    module: module === "" ? null : module,
    inlined: (lines.flags[line]! & INLINED) !== 0,
    machinery: (lines.flags[line]! & MACHINERY) !== 0,
    ...(isUnknown && lines.code.has(line) ? { code: lines.code.get(line)! } : {}),
  };
}
