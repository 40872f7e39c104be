// Names for conjunctions of ordinary terms.

import { type Claim, type PresetName, type Term, ZERO } from "./term";

export const PRESETS: PresetName[] = [
  "leaks",
  "temporary",
  "long-lived",
  "churn",
  "premature",
  "peak",
  "deserialised",
];

/** The one that is called so, in any case. */
export function presetNamed(word: string): PresetName | null {
  return PRESETS.find((preset) => preset === word.toLowerCase()) ?? null;
}

/** What it stands for. */
export function presetTerms(preset: PresetName): Term[] {
  const term = (claim: Claim, negated = false): Term => ({ negated, claim });
  const shorter = (micros: bigint) =>
    term({ is: "lifetime", limits: { kind: "<", value: { kind: "time", value: micros } } });
  switch (preset) {
    case "leaks":
      return [term({ is: "freed", when: null }, true)];
    case "temporary":
      return [shorter(10_000n)];
    case "long-lived":
      return [term({ is: "lifetime", limits: { kind: ">=", value: { kind: "share", value: 250_000n } } })];
    case "churn":
      return [shorter(1_000_000n)];
    case "premature":
      return [term({ is: "promoted", when: null }), shorter(1_000_000n)];
    case "peak":
      return [term({ is: "alive", when: { kind: "at", moment: { ...ZERO, anchor: "peak" } as never } })];
    case "deserialised":
      return [
        term({
          is: "frame",
          innermost: false,
          pattern: { about: "fn", name: { operator: "=", text: "[deserialised]", pattern: null } },
        }),
      ];
  }
}
