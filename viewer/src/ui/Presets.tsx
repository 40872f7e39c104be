// Filters that have a name, to be put on and taken off.

import type { Engine, Trace } from "../engine/api";
import { hasPreset, termsOf, togglePreset } from "./filterText";

interface Preset {
  word: string;
  help: string;
  isFor?(trace: Trace): boolean;
}

const isManaged = ({ facts }: Trace) => facts.sources.some(({ source }) => source === "minor");
const isOcaml = ({ facts }: Trace) => facts.sources.some(({ ocaml }) => ocaml);

const PRESETS: Preset[] = [
  { word: "leaks", help: "not freed: what is still there at the end" },
  { word: "peak", help: "alive at peak: what lived when most bytes did" },
  { word: "temporary", help: "lifetime<10ms: what the stack, an arena or a reused buffer could do" },
  { word: "churn", help: "lifetime<1s: what comes and goes" },
  { word: "long-lived", help: "lifetime>=25%: what stays for a quarter of the run or more, freed or not" },
  { word: "premature", help: "promoted lifetime<1s: what a larger young heap would have kept out of the old one", isFor: isManaged },
  { word: "deserialised", help: "fn=[deserialised]: what was built from bytes that were read", isFor: isOcaml },
];

export function Presets({ engine, trace, filter, ask }: { engine: Engine; trace: Trace; filter: string; ask(filter: string): void }) {
  const terms = termsOf(engine, filter);
  return (
    <div class="pills" role="group" aria-label="Presets">
      {PRESETS.filter(({ isFor }) => !isFor || isFor(trace)).map(({ word, help }) => (
        <button
          type="button"
          key={word}
          class="pill"
          title={help}
          aria-pressed={hasPreset(terms, word)}
          onClick={() => ask(togglePreset(terms, word))}
        >
          {word}
        </button>
      ))}
    </div>
  );
}
