// A flame graph that is looked at: what is in view, what is selected, how it moves. It knows of no components.

import type { Colouring } from "./colour";
import { hit, LEAST_PIXELS, spanOf, visible, type Layout, type Span, type Visible } from "./layout";
import { outline, paint, ROW, rowTop, themeOf, type Painting, type Theme } from "./paint";
import { TextFit } from "./text";

const ZOOM_MILLISECONDS = 160;

export interface Subject {
  layout: Layout;
  colouring: Colouring;
  name(node: number): string;
  found: ((node: number) => boolean) | null;
  /** The root is at the bottom. */
  flipped: boolean;
}

export class Scene {
  hovered = -1;
  selected = -1;
  onHeight: (pixels: number) => void = () => {};

  private subject: Subject | null = null;
  private zoomed = 0;
  private span: Span = { from: 0, to: 1 };
  private seen: Visible | null = null;
  private theme: Theme;
  private styles: string[] = [];
  private fit: TextFit;
  private frame = 0;
  private width = 0;
  private height = 0;
  private top = 0;
  private tells = -1;

  constructor(
    private canvas: HTMLCanvasElement,
    private context: CanvasRenderingContext2D,
  ) {
    this.theme = themeOf(canvas);
    this.fit = this.newFit();
  }

  show(subject: Subject, zoomed: number) {
    const same = this.subject?.layout === subject.layout;
    this.subject = subject;
    this.styles = subject.colouring.styles(this.theme.dark);
    const target = this.target(zoomed);
    if (same && this.zoomed === zoomed) this.jump(target);
    else if (same) this.glide(target);
    else this.jump(target);
    this.zoomed = zoomed;
  }

  /** The page's colours may have changed. */
  readTheme() {
    this.theme = themeOf(this.canvas);
    this.fit = this.newFit();
    if (this.subject) this.styles = this.subject.colouring.styles(this.theme.dark);
    this.redraw();
  }

  resize(width: number, height: number) {
    if (width === this.width && height === this.height) return;
    const density = window.devicePixelRatio || 1;
    if (width !== this.width) this.seen = null;
    this.width = width;
    this.height = height;
    this.canvas.width = Math.max(1, Math.round(width * density));
    this.canvas.height = Math.max(1, Math.round(height * density));
    this.draw();
  }

  scroll(top: number) {
    this.top = top;
    this.redraw();
  }

  /** The node at a place on the canvas, or -1. */
  nodeAt(x: number, y: number): number {
    const { subject } = this;
    if (!subject || this.width === 0) return -1;
    const scale = (this.span.to - this.span.from) / this.width;
    const node = hit(subject.layout, this.span.from + x * scale, this.levelAt(y));
    const isDrawn = node >= 0 && subject.layout.weight[node] >= LEAST_PIXELS * scale;
    return isDrawn ? node : -1;
  }

  /** From which pixel a node's row reaches, counted from the top of all rows. */
  rowOf(node: number): number {
    const { subject } = this;
    return subject ? rowTop(subject.layout.depth[node], this.levels(), subject.flipped) : 0;
  }

  /** Where the middle of a node is, in view. */
  middleOf(node: number): { x: number; y: number } {
    const { from, to } = this.span;
    const own = this.subject ? spanOf(this.subject.layout, node) : { from: 0, to: 0 };
    const middle = (Math.max(own.from, from) + Math.min(own.to, to)) / 2;
    return { x: ((middle - from) / (to - from)) * this.width, y: this.rowOf(node) - this.top + ROW / 2 };
  }

  private levels(): number {
    return this.seen?.levels ?? 1;
  }

  private levelAt(y: number): number {
    const row = Math.floor((y + this.top) / ROW);
    return this.subject?.flipped ? this.levels() - 1 - row : row;
  }

  redraw() {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.draw());
  }

  close() {
    cancelAnimationFrame(this.frame);
  }

  private target(node: number): Span {
    const { from, to } = spanOf(this.subject!.layout, node);
    return to > from ? { from, to } : { from: 0, to: 1 };
  }

  private jump(to: Span) {
    this.span = to;
    this.seen = null;
    this.redraw();
  }

  private glide(to: Span) {
    const from = this.span;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return this.jump(to);
    const begun = performance.now();
    const step = (now: number) => {
      const part = Math.min(1, Math.max(0, (now - begun) / ZOOM_MILLISECONDS));
      const eased = 1 - (1 - part) ** 3;
      this.span = { from: from.from + (to.from - from.from) * eased, to: from.to + (to.to - from.to) * eased };
      this.seen = null;
      this.draw();
      if (part < 1) this.frame = requestAnimationFrame(step);
    };
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(step);
  }

  private draw() {
    this.frame = 0;
    if (!this.subject || this.width === 0) return;
    this.seen ??= visible(this.subject.layout, this.span, this.width);
    this.tellHeight();
    const density = window.devicePixelRatio || 1;
    this.context.setTransform(density, 0, 0, density, 0, 0);
    const painting = this.painting(this.subject, this.seen);
    paint(painting);
    this.outlines(painting);
  }

  private painting(subject: Subject, seen: Visible): Painting {
    const { context, theme, styles, fit, top, height, width } = this;
    const { colouring, name, found, flipped } = subject;
    return { context, theme, visible: seen, colouring, styles, fit, name, found, top, height, width, flipped };
  }

  private outlines(painting: Painting) {
    const { visible: seen } = painting;
    for (let at = 0; at < seen.count; at += 1) {
      if (seen.rest[at]) continue;
      if (seen.node[at] === this.selected) outline(painting, at, this.theme.accent, 2);
      else if (seen.node[at] === this.hovered) outline(painting, at, this.theme.text, 1);
    }
  }

  private tellHeight() {
    const pixels = (this.seen?.levels ?? 1) * ROW;
    if (pixels === this.tells) return;
    this.tells = pixels;
    this.onHeight(pixels);
  }

  private newFit(): TextFit {
    this.context.font = this.theme.font;
    return new TextFit((text) => this.context.measureText(text).width);
  }
}
