// Where the nodes of a flame graph are. Positions are in the unit of the weight, from 0 at the left; what is in view,
// and how wide a pixel is, is for whoever draws.

/** Narrower than so many pixels is not drawn by itself. */
export const LEAST_PIXELS = 0.5;

export interface Layout {
  parent: Uint32Array;
  depth: Uint16Array;
  weight: Float64Array;
  left: Float64Array;
  /** Children of a node: `children[first[node]]` up to `children[first[node + 1]]`, the widest first. */
  first: Uint32Array;
  children: Uint32Array;
}

/** What is seen of the weights: from where to where. */
export interface Span {
  from: number;
  to: number;
}

/** Blocks to draw, row by row from the root. */
export interface Visible {
  count: number;
  node: Uint32Array;
  x: Float32Array;
  width: Float32Array;
  /** 1 where a block is all the children of `node` that are too narrow to be drawn. */
  rest: Uint8Array;
  level: Uint16Array;
  /** Rows. */
  levels: number;
}

/** Places all nodes; parents come before their children, and no child weighs more than its parent. */
export function layoutOf(parent: Uint32Array, depth: Uint16Array, weight: Float64Array): Layout {
  const first = firstChildren(parent);
  const children = sortedChildren(parent, weight, first);
  const left = new Float64Array(parent.length);
  for (let node = 0; node < parent.length; node += 1) {
    let at = left[node];
    for (let child = first[node]; child < first[node + 1]; child += 1) {
      left[children[child]] = at;
      at += weight[children[child]];
    }
  }
  return { parent, depth, weight, left, first, children };
}

function firstChildren(parent: Uint32Array): Uint32Array {
  const first = new Uint32Array(parent.length + 1);
  for (let node = 1; node < parent.length; node += 1) first[parent[node] + 1] += 1;
  for (let node = 0; node < parent.length; node += 1) first[node + 1] += first[node];
  return first;
}

function sortedChildren(parent: Uint32Array, weight: Float64Array, first: Uint32Array): Uint32Array {
  const children = new Uint32Array(Math.max(0, parent.length - 1));
  const next = first.slice();
  for (let node = 1; node < parent.length; node += 1) children[next[parent[node]]++] = node;
  for (let node = 0; node < parent.length; node += 1) {
    if (first[node + 1] - first[node] < 2) continue;
    children.subarray(first[node], first[node + 1]).sort((a, b) => weight[b] - weight[a] || a - b);
  }
  return children;
}

/** What a node covers. */
export function spanOf(layout: Layout, node: number): Span {
  return { from: layout.left[node], to: layout.left[node] + layout.weight[node] };
}

/** The blocks in view, for so many pixels. What is narrower than half a pixel is one block with its neighbours. */
export function visible(layout: Layout, span: Span, pixels: number): Visible {
  const into = new Growing();
  const scale = pixels / (span.to - span.from || 1);
  const { left, weight, first, children } = layout;
  let row = layout.parent.length > 0 ? [0] : [];
  into.add(row[0] ?? 0, (left[0] - span.from) * scale, (weight[0] ?? 0) * scale, 0, 0);
  for (let level = 1; row.length > 0; level += 1) {
    const below: number[] = [];
    for (const node of row) {
      let at = first[node];
      const end = first[node + 1];
      for (; at < end && weight[children[at]] * scale >= LEAST_PIXELS; at += 1) {
        const child = children[at];
        if (left[child] >= span.to || left[child] + weight[child] <= span.from) continue;
        into.add(child, (left[child] - span.from) * scale, weight[child] * scale, level, 0);
        below.push(child);
      }
      if (at < end) addRest(into, layout, node, at, span, scale, level);
    }
    row = below;
  }
  return into.done();
}

/** The children of `node` from `at` on, all of them too narrow. */
function addRest(into: Growing, layout: Layout, node: number, at: number, span: Span, scale: number, level: number) {
  const { left, weight, first, children } = layout;
  const last = children[first[node + 1] - 1];
  const from = left[children[at]];
  const to = left[last] + weight[last];
  if (to <= span.from || from >= span.to || (to - from) * scale < LEAST_PIXELS) return;
  into.add(node, (from - span.from) * scale, (to - from) * scale, level, 1);
}

/** The node at a place, or -1. Within a row nodes stand in the order of their parents' children. */
export function hit(layout: Layout, at: number, level: number): number {
  if (layout.parent.length === 0 || at < 0 || at >= layout.weight[0]) return -1;
  let node = 0;
  for (let row = 0; row < level; row += 1) {
    node = childAt(layout, node, at);
    if (node < 0) return -1;
  }
  return node;
}

function childAt(layout: Layout, node: number, at: number): number {
  let [low, high] = [layout.first[node], layout.first[node + 1]];
  while (low < high) {
    const middle = (low + high) >> 1;
    const child = layout.children[middle];
    if (layout.left[child] + layout.weight[child] <= at) low = middle + 1;
    else high = middle;
  }
  if (low >= layout.first[node + 1]) return -1;
  const child = layout.children[low];
  return layout.left[child] <= at && layout.weight[child] > 0 ? child : -1;
}

/** Columns that grow. */
class Growing {
  count = 0;
  levels = 0;
  node = new Uint32Array(1024);
  x = new Float32Array(1024);
  width = new Float32Array(1024);
  rest = new Uint8Array(1024);
  level = new Uint16Array(1024);

  add(node: number, x: number, width: number, level: number, rest: number) {
    if (this.count === this.node.length) this.grow();
    const at = this.count++;
    this.node[at] = node;
    this.x[at] = x;
    this.width[at] = width;
    this.level[at] = level;
    this.rest[at] = rest;
    this.levels = Math.max(this.levels, level + 1);
  }

  grow() {
    const size = 2 * this.count;
    const wider = <T extends Uint32Array | Float32Array | Uint8Array | Uint16Array>(from: T, to: T): T => {
      to.set(from);
      return to;
    };
    this.node = wider(this.node, new Uint32Array(size)) as typeof this.node;
    this.x = wider(this.x, new Float32Array(size)) as typeof this.x;
    this.width = wider(this.width, new Float32Array(size)) as typeof this.width;
    this.rest = wider(this.rest, new Uint8Array(size)) as typeof this.rest;
    this.level = wider(this.level, new Uint16Array(size)) as typeof this.level;
  }

  done(): Visible {
    const { count, levels, node, x, width, rest, level } = this;
    return { count, levels, node, x, width, rest, level };
  }
}
