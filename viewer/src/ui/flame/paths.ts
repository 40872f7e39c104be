// Nodes by the names on the way to them, so that an address finds them again in another tree; and ways between nodes.

import type { Line, Tree } from "../../engine/api";
import type { Layout } from "./layout";

/** A node's name in a path: its function, and its line where that is known. */
function stepOf(line: Line): string {
  const name = (line.function ?? line.file ?? line.module ?? "?").slice(0, 200);
  const step = line.line === null ? name : `${name}:${line.line}`;
  return step.replace(/[\\;]/g, "\\$&");
}

/** The names from the root to a node: `main:3;parse:7`; nothing for the root. Of those that are called alike below one
 * node, all but the widest have a number: `parse:7#2`. */
export function pathOf(tree: Tree, layout: Layout, node: number): string {
  const steps: string[] = [];
  for (let at = node; at > 0; at = tree.parent[at]) {
    const number = alike(tree, layout, at).indexOf(at);
    steps.push(stepOf(tree.lines[tree.line[at]]) + (number > 0 ? `#${number + 1}` : ""));
  }
  return steps.reverse().join(";");
}

/** Nodes beside a node that are called like it, itself included. */
function alike(tree: Tree, layout: Layout, node: number): number[] {
  const name = stepOf(tree.lines[tree.line[node]]);
  return [...childrenOf(layout, tree.parent[node])].filter((other) => stepOf(tree.lines[tree.line[other]]) === name);
}

function childrenOf(layout: Layout, node: number): Uint32Array {
  return layout.children.subarray(layout.first[node], layout.first[node + 1]);
}

/** The node of a path; where it goes on beyond what the tree has, the last one that is there. */
export function nodeAt(tree: Tree, layout: Layout, path: string): number {
  let node = 0;
  for (const step of steps(path)) {
    const next = childNamed(tree, layout, node, step);
    if (next < 0) return node;
    node = next;
  }
  return node;
}

function steps(path: string): string[] {
  return path === "" ? [] : (path.match(/(?:\\.|[^\\;])+/gs) ?? []);
}

/** The child of exactly this name and line, or else the first of this name. */
function childNamed(tree: Tree, layout: Layout, node: number, step: string): number {
  const children = childrenOf(layout, node);
  const name = (child: number) => stepOf(tree.lines[tree.line[child]]);
  const [, exact, number] = /^(.*?)(?:#(\d+))?$/s.exec(step)!;
  const called = [...children].filter((child) => name(child) === exact || name(child) === step);
  if (called.length > 0) return called[Math.min(Number(number ?? 1), called.length) - 1];
  const bare = (text: string) => text.replace(/:\d+$/, "");
  return children.find((child) => bare(name(child)) === bare(exact)) ?? -1;
}

export type Direction = "up" | "down" | "left" | "right";

/** The node beside another; where there is none, itself. */
export function beside(layout: Layout, node: number, direction: Direction): number {
  const { parent, first, children } = layout;
  if (direction === "up") return node === 0 ? 0 : parent[node];
  if (direction === "down") return first[node] < first[node + 1] ? children[first[node]] : node;
  if (node === 0) return 0;
  const above = parent[node];
  const at = children.subarray(first[above], first[above + 1]).indexOf(node) + first[above];
  const next = direction === "left" ? at - 1 : at + 1;
  return next >= first[above] && next < first[above + 1] ? children[next] : node;
}

/** Whether `node` is `other`, or below it. */
export function isWithin(layout: Layout, node: number, other: number): boolean {
  let at = node;
  while (at > other) at = layout.parent[at];
  return at === other;
}
