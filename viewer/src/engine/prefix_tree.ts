// A prefix tree that grows: nodes are numbered in the order in which they were met, the root is 0.

const NONE = 0xffff_ffff;

export class PrefixTree {
  /** How many there are, the root included. */
  size = 1;
  parent = new Uint32Array(64);
  /** What each node has more than its parent; of the root nothing. */
  label = new Uint32Array(64);
  /** Places of nodes by (parent, label), with linear probing. */
  private table = new Uint32Array(256).fill(NONE);

  /** The node that has `label` below `parent`; it is made if it was not met before. */
  child(parent: number, label: number): number {
    let slot = this.slot(parent, label);
    if (this.table[slot] !== NONE) return this.table[slot]!;
    if (this.size * 2 > this.table.length) {
      this.grow();
      slot = this.slot(parent, label);
    }
    if (this.size === this.parent.length) this.widen();
    const node = this.size++;
    this.parent[node] = parent;
    this.label[node] = label;
    this.table[slot] = node;
    return node;
  }

  /** The same, or -1 if it was not met. */
  existing(parent: number, label: number): number {
    const node = this.table[this.slot(parent, label)]!;
    return node === NONE ? -1 : node;
  }

  private slot(parent: number, label: number): number {
    const mask = this.table.length - 1;
    let hash = Math.imul(parent ^ Math.imul(label, 0x9e37_79b1), 0x85eb_ca6b);
    hash ^= hash >>> 15;
    let slot = (hash ^ label) & mask;
    for (;;) {
      const node = this.table[slot]!;
      if (node === NONE || (this.parent[node] === parent && this.label[node] === label)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  private grow(): void {
    this.table = new Uint32Array(this.table.length * 2).fill(NONE);
    for (let node = 1; node < this.size; node++) this.table[this.slot(this.parent[node]!, this.label[node]!)] = node;
  }

  private widen(): void {
    const wider = (from: Uint32Array) => {
      const to = new Uint32Array(from.length * 2);
      to.set(from);
      return to;
    };
    this.parent = wider(this.parent);
    this.label = wider(this.label);
  }
}
