// What the interface knows of the engine: see `api.ts`.

import type * as api from "./api";
import { Bundle } from "./bundle";
import { compare } from "./diff";
import { parsePath, parseStep } from "./filter/frames";
import { isMistake, parseFilter } from "./filter/parse";
import { writtenTerms } from "./filter/term";
import { together } from "./together";
import { Trace } from "./trace";

export { DamagedBundle } from "./bundle";

export const engine: api.Engine = {
  open: (bundle) => new Trace(Bundle.read(bundle)),
  compare,
  together,
  parse(filter) {
    const terms = parseFilter(filter);
    return isMistake(terms) ? terms : { canonical: writtenTerms(terms) };
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
