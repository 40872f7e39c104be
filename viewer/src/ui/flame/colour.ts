// Colours of blocks: by what they belong to, by how long it lives, by how it changed. All have the same lightness, so
// that names can be read on each; what a colour says is said in words as well.

import type { Line, Tree } from "../../engine/api";
import { groupOf } from "../parts/names";
import { about } from "../parts/spans";

export type ColourBy = "module" | "lifetime" | "change";

/** How a tree is coloured: each node has a row of the styles. */
export interface Colouring {
  of(node: number): number;
  styles(dark: boolean): string[];
  /** Rows that are hatched, so that colour does not say it alone. */
  hatched?: (style: number) => boolean;
  /** A sign before the name. */
  sign?: (node: number) => string;
  legend: { label: string; style: number }[];
}

const LEGEND_GROUPS = 8;

/** FNV-1a: the same name has the same colour in every page. */
export function hash(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return hash;
}

/** All bits of a hash have a part in its last ones. */
function mixed(hash: number): number {
  const half = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b);
  return (half ^ (half >>> 16)) >>> 0;
}

/** Lightness and colourfulness of the names that share a hue, so that more can be told apart than there are hues. */
const TONES = [
  { light: 0.89, chroma: 0.065 },
  { light: 0.79, chroma: 0.085 },
  { light: 0.85, chroma: 0.045 },
];
const HUES = 36;

/** The colour of a name. */
export function colourOf(name: string, pale: boolean, dark: boolean): string {
  if (name === "") return pale ? tone(250, 0.012, dark, 0.9) : tone(0, 0, dark, 0.82);
  const number = mixed(hash(name));
  const { light, chroma } = TONES[Math.floor(number / HUES) % TONES.length];
  return tone((number % HUES) * (360 / HUES), pale ? chroma / 4 : chroma, dark, light);
}

/** Dark pages have dark blocks: what is lighter here is lighter there. */
function tone(hue: number, chroma: number, dark: boolean, light = 0.86): string {
  return dark ? `oklch(${0.43 + (light - 0.86)} ${chroma * 0.9} ${hue})` : `oklch(${light} ${chroma} ${hue})`;
}

/** By object file, or by folder; machinery is paler. */
export function byModule(tree: Tree): Colouring {
  return byGroup(tree, groupOf, "paler: allocation machinery");
}

/** By what a line belongs to; `pale` says what lines with the mark of machinery are. */
export function byGroup(tree: Tree, groupOf: (line: Line) => string, pale: string): Colouring {
  const groups = new Map<string, number>();
  const names: string[] = [];
  const group = (name: string) => {
    if (!groups.has(name)) {
      groups.set(name, names.length);
      names.push(name);
    }
    return groups.get(name)!;
  };
  const style = Uint32Array.from(tree.lines, (line) => 2 * group(groupOf(line)) + Number(line.machinery));
  const styles = (dark: boolean) => names.flatMap((name) => [false, true].map((pale) => colourOf(name, pale, dark)));
  return { of: (node) => style[tree.line[node]], styles, legend: legendOf(tree, style, names, pale) };
}

/** Those that fill most of the graph, each with the colour that fills most of it; and what pale ones are. */
function legendOf(tree: Tree, style: Uint32Array, names: string[], pale: string): { label: string; style: number }[] {
  const area = new Float64Array(2 * names.length);
  for (let node = 1; node < tree.total.length; node += 1) area[style[tree.line[node]]] += tree.total[node];
  const groups = names.map((label, at) => {
    const [own, faint] = [area[2 * at], area[2 * at + 1]];
    return { label, area: label === "" ? own : own + faint, style: 2 * at + Number(label !== "" && faint > own) };
  });
  groups.sort((a, b) => b.area - a.area);
  const shown = groups.filter((group) => group.area > 0).slice(0, LEGEND_GROUPS);
  const legend = shown.map(({ label, style }) => ({ label: label || "no module known", style }));
  return [...legend, ...palest(area, pale)];
}

/** Of the pale colours, the one that fills most. */
function palest(area: Float64Array, label: string): { label: string; style: number }[] {
  let most = -1;
  for (let style = 1; style < area.length; style += 2) if (area[style] > (area[most] ?? 0)) most = style;
  return most < 0 ? [] : [{ label, style: most }];
}

const LIFETIME_STEPS = 9;
/** Powers of ten of microseconds. */
const SHORTEST = 0;

/** By the mean lifetime of what came through, from blue (short) to orange (long); grey where it is not known. */
export function byLifetime(tree: Tree, longest: number): Colouring {
  const top = Math.max(1, Math.log10(Math.max(longest, 10)));
  const known = new Int8Array(tree.parent.length).fill(-1);
  const of = (node: number) => {
    if (known[node] < 0) known[node] = lifetimeStep(tree.meanLifetime(node), top);
    return known[node];
  };
  const legend = [{ label: "not known", style: LIFETIME_STEPS }];
  for (let step = 0; step < LIFETIME_STEPS; step += 2) {
    legend.push({ label: about(10 ** (SHORTEST + (step / (LIFETIME_STEPS - 1)) * top)), style: step });
  }
  return { of, styles: lifetimeStyles, legend };
}

function lifetimeStep(lifetime: number | null, top: number): number {
  if (lifetime === null || Number.isNaN(lifetime)) return LIFETIME_STEPS;
  const part = Math.log10(Math.max(1, lifetime)) / top;
  return Math.round(Math.max(0, Math.min(1, part)) * (LIFETIME_STEPS - 1));
}

function lifetimeStyles(dark: boolean): string[] {
  const steps = Array.from({ length: LIFETIME_STEPS }, (_, step) => {
    const part = step / (LIFETIME_STEPS - 1);
    return tone(part < 0.5 ? 245 : 60, 0.02 + 0.18 * Math.abs(part - 0.5), dark);
  });
  return [...steps, tone(0, 0, dark)];
}

const CHANGE_STEPS = 4;

/** By change: red with hatching and a plus for more, green and a minus for less, grey for what may be chance. */
export function byChange(before: Float64Array, after: Float64Array, significant: Uint8Array): Colouring {
  const of = (node: number) => {
    if (!significant[node]) return 2 * CHANGE_STEPS;
    const larger = Math.max(before[node], after[node]);
    const part = larger > 0 ? (after[node] - before[node]) / larger : 0;
    const step = Math.min(CHANGE_STEPS - 1, Math.floor(Math.abs(part) * CHANGE_STEPS));
    return part > 0 ? step : CHANGE_STEPS + step;
  };
  return {
    of,
    styles: changeStyles,
    hatched: (style) => style < CHANGE_STEPS,
    sign: (node) => (!significant[node] ? "" : after[node] > before[node] ? "+ " : "− "),
    legend: [
      { label: "+ more, hatched", style: CHANGE_STEPS - 1 },
      { label: "− less", style: 2 * CHANGE_STEPS - 1 },
      { label: "may be noise", style: 2 * CHANGE_STEPS },
    ],
  };
}

function changeStyles(dark: boolean): string[] {
  const ramp = (hue: number) => Array.from({ length: CHANGE_STEPS }, (_, step) => tone(hue, 0.04 + 0.035 * step, dark));
  return [...ramp(25), ...ramp(150), dark ? "oklch(0.31 0 0)" : "oklch(0.92 0 0)"];
}
