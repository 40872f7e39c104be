// What the interface knows of the engine: see `api.ts`.

import type * as api from "./api";
import { Bundle } from "./bundle";
import { compare } from "./diff";
import { parsePath, parseStep } from "./filter/frames";
import { isMistake, parseFilter, termSpans } from "./filter/parse";
import { writtenTerms } from "./filter/term";
import { together } from "./together";
import { Trace } from "./trace";

export { DamagedBundle } from "./bundle";

export const engine: api.Engine = {
  open: (bundle) => new Trace(Bundle.read(bundle)),
  compare,
  together,
  parse(filter) {
    const [terms, spans] = [parseFilter(filter), termSpans(filter)];
    if (isMistake(terms) || isMistake(spans)) return terms as api.Mistake;
    const written = (at: number) => writtenTerms(terms.slice(at, at + 1));
    return { canonical: writtenTerms(terms), terms: spans.map((span, at) => ({ text: written(at), ...span })) };
  },
  parseFrames(hide, focus) {
    for (const text of hide) {
      const pattern = parseStep(text);
      if (isMistake(pattern)) return pattern;
    }
    const path = focus.trim() === "" ? null : parsePath(focus);
    return path !== null && isMistake(path) ? path : null;
  },
};
