// A small line of something over time.

import { bytes } from "./format";

const WIDTH = 240;
const HEIGHT = 36;

/** Values at equal steps, from 0 up; what it shows is said in words, too. */
export function Spark(props: { values: ArrayLike<number>; label: string; wide?: boolean }) {
  const values = Array.from(props.values, (value) => Math.max(0, value));
  const most = Math.max(...values, 0);
  const x = (at: number) => (values.length > 1 ? (at / (values.length - 1)) * WIDTH : 0);
  const y = (value: number) => HEIGHT - 1 - (most > 0 ? (value / most) * (HEIGHT - 3) : 0);
  const line = values.map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  const words = `${props.label}: ${bytes(values[0] ?? 0)} first, ${bytes(most)} at most, ${bytes(values[values.length - 1] ?? 0)} last`;
  return (
    <svg class={props.wide ? "spark wide" : "spark"} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={words}>
      <title>{words}</title>
      <polygon points={`0,${HEIGHT} ${line} ${WIDTH},${HEIGHT}`} />
      <polyline points={line} vector-effect="non-scaling-stroke" />
    </svg>
  );
}
