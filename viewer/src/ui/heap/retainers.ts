// The document of a heap snapshot's retainers as a tree, and the ways in it to a class.

import type { Line, Tree } from "../../engine/api";

interface Retainer {
  class: string;
  slot?: string;
  description?: string;
  address?: string;
  bytes: number;
  outside_bytes?: number;
  retained_bytes: number;
  retained_objects: number;
  retainers?: Retainer[];
  others?: Others[];
}

interface Others {
  class: string;
  objects: number;
  retained_bytes: number;
}

/** What a page has of a snapshot: docs/format-page.md. */
export interface Snapshot {
  file?: string;
  number?: number;
  time_unix_ns?: number;
  runtime?: string;
  cause?: string;
  complaints?: string[];
  retainers: RetainersDocument;
}

export interface RetainersDocument {
  bytes: number;
  retainers: Retainer[];
  others?: Others[];
}

/** What a node of the tree stands for. */
export interface Held {
  class: string;
  name: string;
  address: string;
  bytes: number;
  objects: number;
  /** Several objects, summed up. */
  summed: boolean;
}

export interface HeapTree {
  tree: Tree;
  held: Held[];
}

/** Numbers of a snapshot are exact. */
export function heapTree(document: RetainersDocument): HeapTree {
  const nodes = new Nodes();
  nodes.add(-1, { class: "", name: "what the roots hold", address: "", bytes: 0, objects: 0, summed: false }, document.bytes);
  nodes.below(0, document.retainers, document.others ?? []);
  return { tree: nodes.tree(), held: nodes.held };
}

class Nodes {
  held: Held[] = [];
  private parents: number[] = [];
  private totals: number[] = [];

  add(parent: number, held: Held, retained: number): number {
    this.held.push(held);
    this.parents.push(Math.max(0, parent));
    this.totals.push(retained);
    return this.held.length - 1;
  }

  below(parent: number, retainers: Retainer[], others: Others[]) {
    for (const it of retainers) {
      const held = { class: it.class, name: nameOf(it), address: it.address ?? "", bytes: it.bytes, objects: it.retained_objects, summed: false };
      const node = this.add(parent, held, it.retained_bytes);
      this.below(node, it.retainers ?? [], it.others ?? []);
    }
    for (const it of others) {
      const name = `${it.objects.toLocaleString("en")} × ${it.class}`;
      this.add(parent, { class: it.class, name, address: "", bytes: it.retained_bytes, objects: it.objects, summed: true }, it.retained_bytes);
    }
  }

  tree(): Tree {
    const { held, totals } = this;
    const parent = Uint32Array.from(this.parents);
    const total = Float64Array.from(totals);
    const depth = new Uint16Array(parent.length);
    const children: number[][] = held.map(() => []);
    for (let node = 1; node < parent.length; node += 1) {
      depth[node] = depth[parent[node]] + 1;
      children[parent[node]].push(node);
    }
    children.forEach((some) => some.sort((a, b) => total[b] - total[a]));
    return {
      parent,
      depth,
      total,
      line: Uint32Array.from(parent, (_, node) => node),
      own: Float64Array.from(held, (it) => it.bytes),
      variance: new Float64Array(parent.length),
      samples: new Uint32Array(parent.length),
      lines: held.map(lineOf),
      interval: (node) => ({ value: total[node], low: total[node], high: total[node] }),
      children: (node) => children[node],
      meanLifetime: () => null,
    };
  }
}

function nameOf(of: Retainer): string {
  const name = [of.class, of.description ?? ""].filter(Boolean).join(" ");
  return of.slot ? `${of.slot}: ${name}` : name;
}

function lineOf(held: Held, id: number): Line {
  return { id, function: held.name, file: held.address || null, line: null, module: null, inlined: false, machinery: held.summed };
}

export interface Way {
  node: number;
  /** From the roots. */
  steps: number[];
}

/** Ways to what a search finds, those that lead to most first; what is within something found is not told again. */
export function waysTo(heap: HeapTree, text: string, most: number): { ways: Way[]; found: number; bytes: number } {
  const { tree, held } = heap;
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return { ways: [], found: 0, bytes: 0 };
  const covered = new Uint8Array(held.length);
  const hits: number[] = [];
  for (let node = 1; node < held.length; node += 1) {
    const isFound = held[node].name.toLowerCase().includes(wanted);
    covered[node] = covered[tree.parent[node]] | Number(isFound);
    if (isFound && !covered[tree.parent[node]]) hits.push(node);
  }
  hits.sort((a, b) => tree.total[b] - tree.total[a]);
  const bytes = hits.reduce((sum, node) => sum + tree.total[node], 0);
  return { ways: hits.slice(0, most).map((node) => ({ node, steps: stepsTo(tree, node) })), found: hits.length, bytes };
}

function stepsTo(tree: Tree, node: number): number[] {
  const steps: number[] = [];
  for (let at = node; at > 0; at = tree.parent[at]) steps.push(at);
  return steps.reverse();
}
