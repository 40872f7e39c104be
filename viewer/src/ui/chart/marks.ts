// What is drawn over a time chart: collections as ticks at its foot, and the peak.

import type uPlot from "uplot";
import type { Trace } from "../../engine/api";
import { variable } from "./colours";

/** By generation: minor, major, compaction. */
const HEIGHTS = [5, 11, 16];

export function marks(plot: uPlot, trace: Trace, peak: { time: number; label: string } | null): void {
  const { ctx } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height);
  ctx.clip();
  cycles(plot, trace);
  if (peak !== null) peakLine(plot, peak);
  ctx.restore();
}

/** One a pixel, the highest. */
function cycles(plot: uPlot, { cycles }: Trace): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const columns = new Map<number, number>();
  for (let at = 0; at < cycles.generation.length; at++) {
    const time = Number.isNaN(cycles.end[at]) ? cycles.begin[at] : cycles.end[at];
    const x = Math.round(plot.valToPos(time * 1e-6, "x", true));
    if (Number.isNaN(x)) continue;
    columns.set(x, Math.max(columns.get(x) ?? 0, cycles.generation[at]));
  }
  ctx.fillStyle = variable("--fg");
  ctx.globalAlpha = 0.65;
  for (const [x, generation] of columns) {
    const height = (HEIGHTS[generation] ?? HEIGHTS[0]) * ratio;
    ctx.fillRect(x, bbox.top + bbox.height - height, generation > 0 ? 1.5 * ratio : ratio * 0.75, height);
  }
  ctx.globalAlpha = 1;
}

function peakLine(plot: uPlot, { time, label: text }: { time: number; label: string }): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const x = Math.round(plot.valToPos(time * 1e-6, "x", true));
  if (x < bbox.left || x > bbox.left + bbox.width) return;
  ctx.strokeStyle = ctx.fillStyle = variable("--fg");
  ctx.lineWidth = ratio;
  ctx.setLineDash([3 * ratio, 3 * ratio]);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  const isRight = x > bbox.left + bbox.width - 130 * ratio;
  ctx.font = `600 ${11 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = isRight ? "right" : "left";
  ctx.textBaseline = "top";
  // Readable upon whatever is drawn beneath.
  ctx.setLineDash([]);
  ctx.lineWidth = 3 * ratio;
  ctx.strokeStyle = variable("--panel");
  const label = [text, x + (isRight ? -5 : 5) * ratio, bbox.top + 2 * ratio] as const;
  ctx.strokeText(...label);
  ctx.fillText(...label);
}
