// A tree as a list that opens: the same data as a flame graph, for screen readers, for copying, and for those who like
// numbers.

import { useMemo, useState } from "preact/hooks";
import type { Tree } from "../../engine/api";
import { Bar } from "../parts/Bar";
import { CopyButton } from "../parts/Copy";
import { count, estimate, isNoise, percent, plain, type Unit } from "../parts/format";
import { Location, placeText } from "../parts/Location";
import { Estimate } from "../parts/Number";
import { separated } from "../parts/rows";

/** Children that are shown at first, and with each "more". */
const FIRST = 12;
/** Levels that are open at first, where there is one child that has nearly all. */
const OPEN_SHARE = 0.7;
const OPEN_LEVELS = 16;

const INDENT = 12;

interface Row {
  node: number;
  level: number;
  /** Steps to the right: what stands alone below a line is not indented further. */
  indent: number;
  children: number;
  open: boolean;
  /** Of a row that stands for more children of `node`. */
  more?: { left: number; sum: number };
}

export interface TreeListProps {
  label: string;
  tree: Tree;
  unit: Unit;
  /** What the rows are; functions if nothing is said. */
  head?: string;
  /** Instead of the total with its interval: what a node has, and the head of it. */
  amount?: { head: string; text(node: number): string; noise(node: number): boolean };
  onPick?(node: number): void;
}

export function TreeList(props: TreeListProps) {
  const { tree, unit, amount } = props;
  const from = 0;
  const [opened, setOpened] = useState<{ of: Tree; from: number; nodes: Map<number, number> } | null>(null);
  const initial = useMemo(() => heaviest(tree, from), [tree, from]);
  const nodes = opened?.of === tree && opened.from === from ? opened.nodes : initial;
  const set = (node: number, shown: number) => setOpened({ of: tree, from, nodes: new Map(nodes).set(node, shown) });
  const rows = useMemo(() => rowsOf(tree, from, nodes), [tree, from, nodes]);
  const all = tree.total[from] || 1;
  const key = (event: KeyboardEvent, row: Row) => {
    if (event.key === "ArrowRight" && row.children > 0 && !row.open) set(row.node, FIRST);
    else if (event.key === "ArrowLeft" && row.open) set(row.node, 0);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") step(event.currentTarget as HTMLElement, event.key);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="table">
      <div class="table-scroll">
        <table class="treelist" role="treegrid" aria-label={props.label}>
          <thead>
            <tr>
              <th scope="col" class="right">share</th>
              <th scope="col" class="bar-cell" aria-hidden="true" />
              <th scope="col" class="right">{amount?.head ?? "total"}</th>
              <th scope="col" class="wide">{props.head ?? "function"}</th>
              {!amount && <th scope="col" class="right">own</th>}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr
                key={row.more ? `${row.node}+` : row.node}
                role="row"
                tabIndex={0}
                aria-level={row.level + 1}
                aria-expanded={row.children > 0 && !row.more ? row.open : undefined}
                onKeyDown={(event) => key(event, row)}
              >
                {row.more ? (
                  <More row={row} all={all} unit={unit} columns={amount ? 0 : 1} onMore={() => set(row.node, (nodes.get(row.node) ?? 0) + 4 * FIRST)} />
                ) : (
                  <Cells {...props} row={row} all={all} onToggle={() => set(row.node, row.open ? 0 : FIRST)}/>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div class="table-foot">
        <CopyButton label="Copy list" text={() => copied(props, rows, all)} />
      </div>
    </div>
  );
}

function Cells(props: TreeListProps & { row: Row; all: number; onToggle(): void }) {
  const { row, tree, unit, amount } = props;
  const { node } = row;
  const interval = tree.interval(node);
  const share = tree.total[node] / props.all;
  const noise = amount?.noise(node) ?? isNoise(interval, tree.samples[node]);
  return (
    <>
      <td class={noise ? "right number noise" : "right number"}>{percent(share)}</td>
      <td class="bar-cell">
        <Bar share={share} noise={noise} />
      </td>
      <td class="right">
        {amount ? (
          <span class={noise ? "number noise" : "number"}>{amount.text(node)}</span>
        ) : (
          <Estimate of={interval} unit={unit} samples={tree.samples[node]} />
        )}
      </td>
      <td class="wide">
        <span class="tree-name" style={{ paddingLeft: `${Math.min(row.indent, 40) * INDENT}px` }}>
          {row.children > 0 ? (
            <button type="button" class="toggle" tabIndex={-1} aria-hidden="true" onClick={props.onToggle}>
              {row.open ? "▾" : "▸"}
            </button>
          ) : (
            <span class="toggle" />
          )}
          {node === 0 ? (
            <span class="place">all</span>
          ) : (
            <Location line={tree.lines[tree.line[node]]} onPick={props.onPick && (() => props.onPick?.(node))} />
          )}
        </span>
      </td>
      {!amount && <td class="right number">{tree.own[node] > 0 ? plain(tree.own[node], unit) : ""}</td>}
    </>
  );
}

function More(props: { row: Row; all: number; unit: Unit; columns: number; onMore(): void }) {
  const { left, sum } = props.row.more!;
  return (
    <>
      <td class="right number noise">{percent(sum / props.all)}</td>
      <td class="bar-cell" />
      <td class="right number noise">{plain(sum, props.unit)}</td>
      <td class="wide">
        <span class="tree-name" style={{ paddingLeft: `${Math.min(props.row.indent, 40) * INDENT + 18}px` }}>
          <button type="button" class="link more" onClick={props.onMore}>
            and {count(left)} more
          </button>
        </span>
      </td>
      {props.columns > 0 && <td />}
    </>
  );
}

/** How many children are shown of each open node, as it begins: the way to where most of it is. */
function heaviest(tree: Tree, from: number): Map<number, number> {
  const open = new Map<number, number>();
  let node = from;
  for (let level = 0; level < OPEN_LEVELS; level += 1) {
    const children = tree.children(node);
    if (children.length === 0) break;
    open.set(node, FIRST);
    if (tree.total[children[0]] < OPEN_SHARE * tree.total[node] && level > 0) break;
    node = children[0];
  }
  return open;
}

function rowsOf(tree: Tree, from: number, opened: Map<number, number>): Row[] {
  const rows: Row[] = [];
  const add = (node: number, level: number, indent: number) => {
    const children = tree.children(node);
    const shown = Math.min(opened.get(node) ?? 0, children.length);
    rows.push({ node, level, indent, children: children.length, open: shown > 0 });
    const below = children.length > 1 || node === from ? indent + 1 : indent;
    children.slice(0, shown).forEach((child) => add(child, level + 1, below));
    if (shown === 0 || shown === children.length) return;
    const sum = children.slice(shown).reduce((sum, child) => sum + tree.total[child], 0);
    rows.push({ node, level: level + 1, indent: below, children: 0, open: false, more: { left: children.length - shown, sum } });
  };
  add(from, 0, 0);
  return rows;
}

function copied(props: TreeListProps, rows: Row[], all: number): string {
  const { tree, unit, amount } = props;
  const cells = rows
    .filter((row) => !row.more)
    .map(({ node, level }) => [
      percent(tree.total[node] / all),
      amount ? amount.text(node) : estimate(tree.interval(node), unit),
      plain(tree.own[node], unit),
      "  ".repeat(level) + (node === 0 ? "all" : placeText(tree.lines[tree.line[node]])),
    ]);
  return separated(["share", amount?.head ?? "total", "own", "name"], cells);
}

function step(row: HTMLElement, key: string) {
  const next = key === "ArrowDown" ? row.nextElementSibling : row.previousElementSibling;
  (next as HTMLElement | null)?.focus();
}
