// Draws the blocks of a flame graph on a canvas.

import type { Colouring } from "./colour";
import type { Visible } from "./layout";
import type { TextFit } from "./text";

export const ROW = 19;
const PADDING = 5;
/** Narrower blocks have no name. */
const LEAST_NAMED = 24;

/** The colours of the page, as the canvas has them. */
export interface Theme {
  dark: boolean;
  background: string;
  text: string;
  muted: string;
  accent: string;
  rest: string;
  font: string;
}

export interface Painting {
  context: CanvasRenderingContext2D;
  theme: Theme;
  visible: Visible;
  colouring: Colouring;
  styles: string[];
  fit: TextFit;
  name(node: number): string;
  /** Rows of nodes that a search found; null without one. */
  found: ((node: number) => boolean) | null;
  /** From this pixel down. */
  top: number;
  height: number;
  width: number;
  /** The root is at the bottom. */
  flipped: boolean;
}

/** The blocks between `top` and `top + height`. */
export function paint(of: Painting) {
  const { context, theme } = of;
  context.fillStyle = theme.background;
  context.fillRect(0, 0, of.width, of.height);
  const [from, to] = blocksIn(of);
  for (let at = from; at < to; at += 1) block(of, at);
  context.globalAlpha = 1;
  context.font = theme.font;
  context.textBaseline = "middle";
  for (let at = from; at < to; at += 1) label(of, at);
  context.globalAlpha = 1;
}

function blocksIn(of: Painting): [number, number] {
  const [first, last] = [Math.floor(of.top / ROW), Math.ceil((of.top + of.height) / ROW)];
  const { visible } = of;
  if (!of.flipped) return [lowerEnd(visible, first), lowerEnd(visible, last)];
  return [lowerEnd(visible, visible.levels - last), lowerEnd(visible, visible.levels - first)];
}

/** How far down a row is. */
export function rowTop(level: number, levels: number, flipped: boolean): number {
  return (flipped ? levels - 1 - level : level) * ROW;
}

/** The first block of a row: blocks are in order of rows. */
function lowerEnd(visible: Visible, level: number): number {
  let [low, high] = [0, visible.count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (visible.level[middle] < level) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Where a block is on the canvas; what is wider than the canvas is cut. */
export function boxOf(of: Painting, at: number) {
  const left = Math.max(0, of.visible.x[at]);
  const right = Math.min(of.width, of.visible.x[at] + of.visible.width[at]);
  return { x: left, y: rowTop(of.visible.level[at], of.visible.levels, of.flipped) - of.top, width: right - left };
}

function block(of: Painting, at: number) {
  const { context, visible, theme } = of;
  const { x, y, width } = boxOf(of, at);
  const node = visible.node[at];
  const isRest = visible.rest[at] === 1;
  const style = of.colouring.of(node);
  context.globalAlpha = of.found && (isRest || !of.found(node)) ? 0.3 : 1;
  context.fillStyle = isRest || node === 0 ? theme.rest : of.styles[style];
  const inner = width > 3 ? width - 1 : Math.max(width, 0.5);
  context.fillRect(x, y, inner, ROW - 1);
  if (!isRest && node > 0 && of.colouring.hatched?.(style)) hatch(of, x, y, inner);
  if (!isRest && of.found?.(node)) {
    context.fillStyle = theme.accent;
    context.fillRect(x, y + ROW - 3, inner, 2);
  }
}

/** Thin strokes, so that more can be told from less without colour. */
function hatch(of: Painting, x: number, y: number, width: number) {
  if (width < 6) return;
  const { context, theme } = of;
  context.save();
  context.beginPath();
  context.rect(x, y, width, ROW - 1);
  context.clip();
  context.strokeStyle = theme.dark ? "rgb(255 255 255 / 0.13)" : "rgb(0 0 0 / 0.1)";
  context.beginPath();
  for (let at = x - ROW; at < x + width; at += 8) {
    context.moveTo(at, y + ROW - 1);
    context.lineTo(at + ROW, y);
  }
  context.stroke();
  context.restore();
}

function label(of: Painting, at: number) {
  const { context, visible, theme } = of;
  const { x, y, width } = boxOf(of, at);
  if (width < LEAST_NAMED || visible.rest[at] === 1) return;
  const node = visible.node[at];
  const text = of.fit.fit((of.colouring.sign?.(node) ?? "") + of.name(node), width - 2 * PADDING);
  if (text === "") return;
  context.globalAlpha = of.found && !of.found(node) ? 0.5 : 1;
  context.fillStyle = theme.text;
  context.fillText(text, x + PADDING, y + ROW / 2);
}

/** A frame around a block. */
export function outline(of: Painting, at: number, colour: string, thickness: number) {
  const { context } = of;
  const { x, y, width } = boxOf(of, at);
  const inset = thickness / 2;
  context.strokeStyle = colour;
  context.lineWidth = thickness;
  context.strokeRect(x + inset, y + inset, Math.max(width - 1, 2) - thickness, ROW - 1 - thickness);
  context.lineWidth = 1;
}

/** The page's colours around an element. Whether it is dark is told by its background. */
export function themeOf(element: Element): Theme {
  const style = getComputedStyle(element);
  const variable = (name: string, or: string) => style.getPropertyValue(name).trim() || or;
  const background = variable("--bg", "#ffffff");
  const dark = isDark(style.backgroundColor || background);
  return {
    dark,
    background: style.backgroundColor || background,
    text: style.color,
    muted: variable("--muted", "#666677"),
    accent: variable("--accent", "#2a62c9"),
    rest: dark ? "oklch(0.33 0 0)" : "oklch(0.93 0 0)",
    font: `12px ${variable("--sans", "system-ui, sans-serif")}`,
  };
}

function isDark(colour: string): boolean {
  const numbers = colour.match(/[\d.]+/g)?.map(Number) ?? [255, 255, 255];
  const [red, green, blue] = colour.startsWith("rgb") ? numbers : [255, 255, 255];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 110;
}
