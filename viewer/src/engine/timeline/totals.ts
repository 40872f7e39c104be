// What lived in each part of the time. One loop over millions of events, without calls or closures in it: each number
// that is handed to one may be allocated.

import { DEATH, PROMOTION } from "../columns";
import type { Estimate } from "../estimate";
import { isBegin, type Lives } from "../replay";

/** What parts of bytes are in bytes. */
const PART = 2 ** -32;

/** Parts of the time. */
export interface Parts {
  count: number;
  begin: number;
  end: number;
  /** To the end of the trace: then what happens in its last moment belongs to the last part. */
  isToEnd: boolean;
}

/** Estimates by part of the time. */
export interface Estimates {
  value: Float64Array;
  variance: Float64Array;
  uncertain: Float64Array;
}

export function estimateAt({ value, variance, uncertain }: Estimates, part: number): Estimate {
  return { value: value[part]!, variance: variance[part]!, uncertain: uncertain[part]! };
}

/** The most that lived in each part, and what did at its end. What is taken away again leaves nothing: values are added up
 * exactly, variances with what rounding took from them (Knuth 1969). */
export function totals(lives: Lives, { count, begin, end, isToEnd }: Parts): { most: Estimates; atEnd: Estimates } {
  const { chosen, born, columns } = lives;
  const { events, death, kind, kinds } = columns;
  const { variance: variances, uncertain: uncertains } = kinds.ofBytes;
  const { whole, part: fraction } = kinds.exactBytes;
  const [most, atEnd] = [newEstimates(count), newEstimates(count)];
  const { value: mostValue, variance: mostVariance, uncertain: mostUncertain } = most;
  const { value: lastValue, variance: lastVariance, uncertain: lastUncertain } = atEnd;
  let [blocks, wholes, fractions, value] = [0, 0, 0, 0];
  let [variance, varianceLost, uncertain, uncertainLost] = [0, 0, 0, 0];
  const isPlain = lives.beginsAtPromotion === null;
  // Up to this part, all have what was live then.
  let reached = -1;
  for (let at = 0; at < events.length; at++) {
    const event = events[at]!;
    const sample = event >>> 2;
    if (chosen[sample] === 0) continue;
    const isDeath = (event & 3) === DEATH;
    if (!isDeath && (isPlain ? (event & 3) === PROMOTION : !isBegin(lives, event))) continue;
    const time = isDeath ? death[sample]! : born[sample]!;
    let part = time < begin ? -1 : Math.floor(((time - begin) * count) / (end - begin));
    if (part >= count) {
      if (!isToEnd) continue;
      part = count - 1;
    }
    while (reached < part) {
      reached++;
      mostValue[reached] = lastValue[reached] = value;
      mostVariance[reached] = lastVariance[reached] = blocks === 0 ? 0 : variance + varianceLost;
      mostUncertain[reached] = lastUncertain[reached] = blocks === 0 ? 0 : uncertain + uncertainLost;
    }
    const of = kind[sample]!;
    const sign = isDeath ? -1 : 1;
    blocks += sign;
    wholes += sign * whole[of]!;
    fractions += sign * fraction[of]!;
    value = wholes + fractions * PART;
    const moreVariance = sign * variances[of]!;
    const nextVariance = variance + moreVariance;
    const restVariance = nextVariance - variance;
    varianceLost += variance - (nextVariance - restVariance) + (moreVariance - restVariance);
    variance = nextVariance;
    const moreUncertain = sign * uncertains[of]!;
    const nextUncertain = uncertain + moreUncertain;
    const restUncertain = nextUncertain - uncertain;
    uncertainLost += uncertain - (nextUncertain - restUncertain) + (moreUncertain - restUncertain);
    uncertain = nextUncertain;
    if (part < 0) continue;
    lastValue[part] = value;
    lastVariance[part] = blocks === 0 ? 0 : variance + varianceLost;
    lastUncertain[part] = blocks === 0 ? 0 : uncertain + uncertainLost;
    if (value <= mostValue[part]!) continue;
    mostValue[part] = value;
    mostVariance[part] = lastVariance[part]!;
    mostUncertain[part] = lastUncertain[part]!;
  }
  for (reached++; reached < count; reached++) {
    mostValue[reached] = lastValue[reached] = value;
    mostVariance[reached] = lastVariance[reached] = blocks === 0 ? 0 : variance + varianceLost;
    mostUncertain[reached] = lastUncertain[reached] = blocks === 0 ? 0 : uncertain + uncertainLost;
  }
  return { most, atEnd };
}

function newEstimates(count: number): Estimates {
  return { value: new Float64Array(count), variance: new Float64Array(count), uncertain: new Float64Array(count) };
}
