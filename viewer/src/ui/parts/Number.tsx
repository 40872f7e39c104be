// Numbers with their intervals. What is noise looks like noise: grey, and said to a screen reader.

import type { Measured, Quantity } from "../../engine/api";
import type { Facts } from "../../engine/facts";
import { bytes, change, count, estimate, FEW_SAMPLES, isNoise, percent, type Unit } from "./format";

/** An estimate: `412 ± 9 MiB`. */
export function Estimate(props: { of: Measured; unit: Unit; samples?: number }) {
  const { of, unit, samples } = props;
  if (of.value === 0 && of.high <= 0) return <span class="number none">0</span>;
  const noise = isNoise(of, samples);
  return (
    <span class={noise ? "number noise" : "number"} title={whyNoise(of, noise, samples)}>
      {estimate(of, unit)}
    </span>
  );
}

/** An amount's bytes or objects; `none sampled` where nothing was met. */
export function Amount(props: { of: Quantity; unit?: "bytes" | "objects"; facts?: Facts }) {
  const { of, unit = "bytes", facts } = props;
  if (of.samples === 0) return <span class="number none">{nothing(facts)}</span>;
  return <Estimate of={of[unit]} unit={unit} samples={of.samples} />;
}

/** The text of [`Amount`], for copying. */
export function amountText(of: Quantity, unit: "bytes" | "objects" = "bytes", facts?: Facts): string {
  return of.samples === 0 ? nothing(facts) : estimate(of[unit], unit);
}

/** A share with its text; grey where what it is of is noise. */
export function Percent(props: { of: number; noise?: boolean }) {
  return <span class={props.noise ? "number noise" : "number"}>{percent(props.of)}</span>;
}

/** A change with its interval, its direction in a sign and a colour; grey and without a sign where it may be chance. */
export function ChangeNumber(props: { change: number; halfWidth: number; unit: Unit; significant: boolean }) {
  const text = change(props.change, props.halfWidth, props.unit);
  const bare = props.significant ? text : text.replace(/^[+−]/, "");
  const kind = !props.significant ? "noise" : props.change > 0 ? "more" : "less";
  return (
    <span class={`number ${kind}`} title={props.significant ? undefined : "may be noise"}>
      {bare}
    </span>
  );
}

/** A count or a size that is exact. */
export function Exact(props: { of: number; unit: "bytes" | "objects" }) {
  return <span class="number">{props.unit === "bytes" ? bytes(props.of) : count(props.of)}</span>;
}

function nothing(facts?: Facts): string {
  if (facts?.exact) return "0";
  return facts && !facts.hears_all ? "none heard" : "none sampled";
}

function whyNoise(of: Measured, noise: boolean, samples?: number): string | undefined {
  if (samples !== undefined && samples > 0) {
    const rests = `rests on ${count(samples)} ${samples === 1 ? "sample" : "samples"}`;
    return noise ? `${rests}: little more than a hint` : rests;
  }
  if (!noise) return undefined;
  return of.low <= 0 ? "may be nothing" : `rests on fewer than ${FEW_SAMPLES} samples, or few large ones`;
}
