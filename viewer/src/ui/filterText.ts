// Terms put into a filter's text and taken out of it. The engine says where each begins and ends.

import type { Engine } from "../engine/api";
import { isMistake } from "./answers";

/** A filter's terms as they are written; the whole as one where it cannot be read. */
export function termsOf(engine: Engine, filter: string): string[] {
  const parsed = engine.parse(filter);
  if (isMistake(parsed) || !parsed.terms) return filter.trim() === "" ? [] : [filter.trim()];
  return parsed.terms.map(({ start, end }) => filter.slice(start, end));
}

/** Whether a preset stands among terms, not negated. */
export function hasPreset(terms: string[], preset: string): boolean {
  return terms.some((term) => term.toLowerCase() === preset);
}

/** A filter with the preset if it was without, and without it if it had it. */
export function togglePreset(terms: string[], preset: string): string {
  if (!hasPreset(terms, preset)) return [...terms, preset].join(" ");
  return terms.filter((term) => term.toLowerCase() !== preset).join(" ");
}

/** Whether a term says when blocks were allocated, freed or alive: what dragging a range says anew. */
export function isOfTime(term: string): boolean {
  return /^(allocated|freed|alive)\s/i.test(term) || term.toLowerCase() === "peak";
}

/** A filter with another time than it had; the rest of it stays. */
export function withTime(terms: string[], time: string): string {
  return [...terms.filter((term) => !isOfTime(term)), time].join(" ");
}
