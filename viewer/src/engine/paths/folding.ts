// Backtraces in which direct repetition is folded, up to twelve functions long (crates/analysis/src/folding.rs):
// `eval, apply, eval, apply, eval` becomes `eval, apply, eval`.

import { PrefixTree } from "../prefix_tree";
import type { Shaped } from "../shape";

/** More functions than these are not looked at for a repetition. */
const LONGEST_TURN = 12;

export interface Folded {
  tree: PrefixTree;
  /** By node of the shaped tree. */
  of: Uint32Array;
}

const known = new WeakMap<Shaped, Folded>();

/** Found once: it is the same for all that is asked of the same backtraces. */
export function folded(shaped: Shaped): Folded {
  let found = known.get(shaped);
  if (found === undefined) known.set(shaped, (found = fold(shaped)));
  return found;
}

function fold({ tree, functions }: Shaped): Folded {
  const folded = new PrefixTree();
  const of = new Uint32Array(tree.size);
  for (let node = 1; node < tree.size; node++) {
    const at = folded.child(of[tree.parent[node]!]!, tree.label[node]!);
    of[node] = withoutRepetition(folded, at, functions);
  }
  return { tree: folded, of };
}

const nodes = new Uint32Array(2 * LONGEST_TURN + 1);
const called = new Uint32Array(2 * LONGEST_TURN);

/** The node, without its last lines if they repeat those before; it had no repetition before its last line. */
function withoutRepetition(folded: PrefixTree, node: number, functions: Uint32Array): number {
  let depth = 0;
  for (let at = node; at !== 0 && depth < 2 * LONGEST_TURN; at = folded.parent[at]!) {
    nodes[depth] = at;
    called[depth++] = functions[folded.label[at]!]!;
  }
  for (let turn = 1; turn <= depth >> 1; turn++) {
    if (!isRepeated(turn)) continue;
    let into = folded.parent[nodes[2 * turn - 1]!]!;
    const labels = Array.from({ length: turn }, (_, at) => folded.label[nodes[turn - 1 - at]!]!);
    for (const label of labels) into = folded.child(into, label);
    return into;
  }
  return node;
}

function isRepeated(turn: number): boolean {
  for (let at = 0; at < turn; at++) if (called[at] !== called[at + turn]) return false;
  return true;
}
