// Which lines a search finds, and how much of a tree comes through them.

import type { Line, Tree } from "../../engine/api";

/** Whether a line is found: text anywhere in its function, file or module, or `/a regular expression/`. */
export function matcher(text: string): ((line: Line) => boolean) | null {
  if (text.trim() === "") return null;
  const expression = /^\/(.+)\/(i?)$/s.exec(text.trim());
  const finds = expression ? byExpression(expression[1], expression[2]) : byText(text.trim());
  return (line) => [line.function, line.file, line.module].some((name) => name !== null && finds(name));
}

/** Upper and lower case differ only if the text has upper case. */
function byText(text: string): (name: string) => boolean {
  const exact = text !== text.toLowerCase();
  return exact ? (name) => name.includes(text) : (name) => name.toLowerCase().includes(text);
}

function byExpression(source: string, flags: string): (name: string) => boolean {
  try {
    const expression = new RegExp(source, flags);
    return (name) => expression.test(name.slice(0, 4096));
  } catch {
    return () => false;
  }
}

export interface Found {
  /** Of each row of the tree's lines. */
  lines: Uint8Array;
  nodes: number;
  /** What came through any of them, each once. */
  total: number;
}

export function find(tree: Tree, matches: (line: Line) => boolean): Found {
  const lines = Uint8Array.from(tree.lines, (line) => Number(matches(line)));
  const covered = new Uint8Array(tree.parent.length);
  let [nodes, total] = [0, 0];
  for (let node = 1; node < tree.parent.length; node += 1) {
    const above = covered[tree.parent[node]];
    const found = lines[tree.line[node]];
    covered[node] = above | found;
    nodes += found;
    if (found && !above) total += tree.total[node];
  }
  return { lines, nodes, total };
}
