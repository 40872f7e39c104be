// A small line of bytes over time, with its words.

import { bytes } from "./format";
import { Sparkline } from "./Sparkline";

/** Values at equal steps, from 0 up; what it shows is said in words, too. */
export function Spark(props: { values: ArrayLike<number>; label: string }) {
  const values = Array.from(props.values, (value) => Math.max(0, value));
  const most = Math.max(...values, 0);
  const words = `${props.label}: ${bytes(values[0] ?? 0)} first, ${bytes(most)} at most, ${bytes(values[values.length - 1] ?? 0)} last`;
  return <Sparkline values={values} label={words} width={560} height={48} />;
}
