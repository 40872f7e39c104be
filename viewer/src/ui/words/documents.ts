// What `lifetrace report --json` says (docs/json.md), as the page's parts take it.

import type { Line, Measured, Quantity } from "../../engine/api";

/** A quantity of a document. An interval without ends is of nothing sampled. */
export function quantity(of: any): Quantity {
  const measured = (name: "bytes" | "objects"): Measured => {
    const value = of?.[name] ?? 0;
    return { value, low: of?.[`${name}_low95`] ?? value, high: of?.[`${name}_high95`] ?? value };
  };
  return { samples: of?.samples ?? 0, bytes: measured("bytes"), objects: measured("objects") };
}

/** A number of a document: `value`, `low95`, `high95`. */
export function measured(of: any): Measured {
  return { value: of.value, low: of.low95 ?? of.value, high: of.high95 ?? of.value };
}

/** A place: `function`, `file`, `line`. */
export function line(of: any): Line {
  const { function: name = null, file = null, line = null, inlined = false } = of ?? {};
  return { id: -1, function: name, file: file || null, line, module: null, inlined, machinery: false };
}

/** A share with its interval, `97 % (90–99 %)`; without it where it cannot be seen. */
export function proportion(share: number, low: number | null, high: number | null): string {
  const [least, most] = [low ?? share, high ?? share];
  if (most - least < 0.001) return `${(100 * share).toFixed(1)} %`;
  const digits = (part: number) => (100 * part).toFixed(most - least < 0.02 ? 1 : 0);
  return `${digits(share)} % (${digits(least)}–${digits(most)} %)`;
}
