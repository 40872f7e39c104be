// Memory over time on a canvas, by uPlot; a range is chosen by dragging, or by the keys.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Trace } from "../../engine/api";
import { bytes } from "../parts/format";
import { contributor, ofOthers, variable, type Theme } from "./colours";
import { marks } from "./marks";
import { cumulated, type Stack } from "./stack";
import { secondsLabel, STEPS_OF_BYTES, STEPS_OF_SECONDS } from "./axes";

export interface Range {
  /** Microseconds. */
  begin: number;
  end: number;
}

interface TimeChartProps {
  trace: Trace;
  stack: Stack;
  span: Range;
  range: Range | null;
  /** When it was, and what is written beside it. */
  peak: { time: number; label: string } | null;
  behind: boolean;
  /** A layer that stands out. */
  highlighted: number | null;
  theme: Theme;
  onRange(range: Range | null): void;
  /** At which part the pointer is. */
  onCursor(at: number | null): void;
}

const HEIGHT = 300;
/** What is dragged less far is a click. */
const LEAST_PIXELS = 4;

export function TimeChart(props: TimeChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const { stack, span, theme, behind, highlighted, trace, peak, range } = props;

  useEffect(() => {
    const element = host.current!;
    const made = new uPlot(options(latest, element.clientWidth), data(latest.current), element);
    plot.current = made;
    showRange(made, latest.current.range);
    const watch = new ResizeObserver(() => resize(made, element, latest.current.range));
    watch.observe(element);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [stack, span.begin, span.end, theme, behind, highlighted, trace, peak?.time, peak?.label]);
  useEffect(() => {
    if (plot.current) showRange(plot.current, range);
  }, [range?.begin, range?.end]);

  return (
    <div
      ref={host}
      class="time-chart"
      role="application"
      aria-roledescription="chart"
      aria-label={`Live bytes over time, from ${secondsLabel(span.begin * 1e-6)} to ${secondsLabel(span.end * 1e-6)}; the same as a table is below. Arrows move the chosen range, with Shift they widen it.`}
      tabIndex={0}
      onKeyDown={(event) => keyed(event, latest.current)}
    />
  );
}

/** The layers, greatest first, so that each is drawn over the one that has it; then what is behind. */
function data({ stack, behind }: TimeChartProps): uPlot.AlignedData {
  const lines = [stack.most, ...(behind ? [stack.resident, stack.heap] : [])].filter((it) => it !== null);
  return [stack.seconds, ...cumulated(stack.layers).reverse(), ...lines] as uPlot.AlignedData;
}

function options(latest: { current: TimeChartProps }, width: number): uPlot.Options {
  const { span } = latest.current;
  const ink = variable("--muted");
  const grid = { stroke: variable("--line"), width: 1 };
  const font = "11px system-ui, sans-serif";
  return {
    width: Math.max(width, 200),
    height: HEIGHT,
    legend: { show: false },
    padding: [14, 14, 0, 0],
    scales: {
      x: { time: false, range: [span.begin * 1e-6, span.end * 1e-6] },
      y: { range: (_, __, most) => [0, Math.max(1, most * 1.04)] },
    },
    axes: [
      { stroke: ink, grid: { show: false }, ticks: { ...grid, size: 5 }, font, size: 30, gap: 3, space: 76, incrs: STEPS_OF_SECONDS, values: (_, ticks) => ticks.map(secondsLabel) },
      { stroke: ink, grid, ticks: { show: false }, font, size: 66, incrs: STEPS_OF_BYTES, values: (_, ticks) => ticks.map((tick) => (tick ? bytes(tick) : "0")) },
    ],
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false, dist: LEAST_PIXELS } },
    series: [{}, ...layerSeries(latest.current), ...lineSeries(latest.current)],
    hooks: {
      draw: [(plot) => marks(plot, latest.current.trace, latest.current.peak)],
      setSelect: [(plot) => latest.current.onRange(chosen(plot, latest.current.span))],
      setCursor: [throttled((plot) => latest.current.onCursor(plot.cursor.idx ?? null))],
    },
  };
}

function layerSeries({ stack, theme, highlighted }: TimeChartProps): uPlot.Series[] {
  const each = stack.layers.map(({ callsite }, at) => {
    const colour = callsite === null ? ofOthers(theme) : contributor(at, theme);
    const pale = highlighted !== null && highlighted !== at;
    return { label: String(at), stroke: variable("--panel"), width: 0.6, fill: pale ? faded(colour, theme) : colour, points: { show: false } };
  });
  return each.reverse();
}

function faded(colour: string, theme: Theme): string {
  const [under, part] = [theme === "dark" ? 0x1a : 0xff, 0.22];
  const channel = (at: number) => Math.round(parseInt(colour.slice(at, at + 2), 16) * part + under * (1 - part));
  return `rgb(${channel(1)} ${channel(3)} ${channel(5)})`;
}

function lineSeries({ stack, behind }: TimeChartProps): uPlot.Series[] {
  const line = (dash: number[], width = 1.2): uPlot.Series => ({ stroke: variable("--fg"), width, dash, points: { show: false } });
  const most = stack.most ? [line([], 0.7)] : [];
  return behind ? [...most, ...(stack.resident ? [line([6, 3])] : []), ...(stack.heap ? [line([2, 3])] : [])] : most;
}

/** Draws a range as chosen, without saying so again. */
function showRange(plot: uPlot, range: Range | null): void {
  const { height } = plot.over.getBoundingClientRect();
  const at = (micros: number) => plot.valToPos(micros * 1e-6, "x");
  const left = range ? at(range.begin) : 0;
  plot.setSelect({ left, width: range ? at(range.end) - left : 0, top: 0, height }, false);
}

function resize(plot: uPlot, element: HTMLElement, range: Range | null): void {
  const width = Math.max(element.clientWidth, 200);
  if (width === plot.width) return;
  plot.setSize({ width, height: HEIGHT });
  showRange(plot, range);
}

function chosen(plot: uPlot, span: Range): Range | null {
  const { left, width } = plot.select;
  if (width < LEAST_PIXELS) return null;
  const at = (pixels: number) => Math.round(plot.posToVal(pixels, "x") * 1e6);
  return { begin: Math.max(at(left), span.begin), end: Math.min(at(left + width), span.end) };
}

/** Once a frame, whatever the pointer does. */
function throttled(does: (plot: uPlot) => void): (plot: uPlot) => void {
  let frame = 0;
  return (plot) => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => does(plot));
  };
}

function keyed(event: KeyboardEvent, { span, range, stack, onRange }: TimeChartProps): void {
  const direction = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
  if (event.key === "Escape" && range) return void onRange(null);
  if (!direction) return;
  event.preventDefault();
  const step = Math.max(1, Math.round((span.end - span.begin) / Math.max(1, Math.min(50, stack.seconds.length)))) * direction;
  const from = range ?? { begin: span.begin, end: Math.min(span.end, span.begin + Math.abs(step)) };
  const end = Math.min(span.end, Math.max(from.begin + 1, from.end + step));
  const begin = event.shiftKey ? from.begin : Math.max(span.begin, from.begin + (end - from.end));
  onRange(range ? { begin, end } : from);
}
