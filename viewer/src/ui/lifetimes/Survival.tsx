// How much of what is allocated lives longer than a time: a curve with its band.

import { useMemo } from "preact/hooks";
import type { Lifetimes } from "../../engine/api";
import { percent } from "../parts/format";
import { about, lifetime } from "../parts/spans";
import { useWidth } from "../parts/width";

const HEIGHT = 240;
const LEFT = 46;
const RIGHT = 10;
const TOP = 8;
const BOTTOM = 24;
/** More points cannot be told apart. */
const MOST_POINTS = 600;

/** Pixels from one power of ten to the next. */
const LEAST_TICK = 76;

type Point = Lifetimes["survival"][number];

export function Survival(props: { of: Lifetimes; label: string }) {
  const points = useMemo(() => thinned(props.of.survival), [props.of]);
  const { of, width } = useWidth<HTMLDivElement>(720);
  return (
    <div class="survival" ref={of}>
      <Curve points={points} width={Math.max(width, 200)} label={props.label} />
    </div>
  );
}

function Curve(props: { points: Point[]; width: number; label: string }) {
  const { points, width } = props;
  if (points.length === 0) return <p class="empty">No lifetimes are known.</p>;
  const decades = range(points);
  const x = (time: number) => LEFT + ((Math.log10(Math.max(time, 1)) - decades.from) / (decades.to - decades.from)) * (width - LEFT - RIGHT);
  const y = (share: number) => TOP + (1 - share) * (HEIGHT - TOP - BOTTOM);
  const stairs = (value: (point: Point) => number) => steps(points, x, (point) => y(value(point)), y(1));
  const band = [...stairs((point) => point.high), ...stairs((point) => point.low).reverse()].join(" ");
  const last = points[points.length - 1];
  return (
    <svg viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={`${props.label}: ${percent(last.share)} outlives ${about(last.time)}`}>
      {[0, 0.25, 0.5, 0.75, 1].map((share) => (
        <g key={share} class="tick">
          <line x1={LEFT} x2={width - RIGHT} y1={y(share)} y2={y(share)} />
          <text x={LEFT - 6} y={y(share) + 4} text-anchor="end">
            {100 * share} %
          </text>
        </g>
      ))}
      {ticks(decades, width).map((power) => (
        <text key={power} class="time" x={x(10 ** power)} y={HEIGHT - 6} text-anchor="middle">
          {power <= 0 ? lifetime(10 ** power) : about(10 ** power)}
        </text>
      ))}
      <polygon points={band} />
      <polyline points={stairs((point) => point.share).join(" ")} />
    </svg>
  );
}

/** Stairs: a share holds up to the next time. */
function steps(points: Point[], x: (time: number) => number, y: (point: Point) => number, begin: number): string[] {
  const corners: string[] = [`${LEFT},${begin}`];
  let before = begin;
  for (const point of points) {
    corners.push(`${x(point.time).toFixed(1)},${before.toFixed(1)}`, `${x(point.time).toFixed(1)},${y(point).toFixed(1)}`);
    before = y(point);
  }
  return corners;
}

function range(points: Point[]): { from: number; to: number } {
  const from = Math.floor(Math.log10(Math.max(1, points[0].time)));
  return { from, to: Math.max(from + 1, Math.log10(Math.max(1, points[points.length - 1].time))) };
}

function ticks(decades: { from: number; to: number }, width: number): number[] {
  const every = Math.ceil(((decades.to - decades.from) * LEAST_TICK) / width);
  const all: number[] = [];
  for (let power = decades.from; power <= decades.to - 0.2; power += every) all.push(power);
  return all;
}

/** As many points as can be seen, evenly by their number. */
export function thinned(points: Point[]): Point[] {
  const step = Math.ceil(points.length / MOST_POINTS);
  return step <= 1 ? points : points.filter((_, at) => at % step === 0 || at === points.length - 1);
}
