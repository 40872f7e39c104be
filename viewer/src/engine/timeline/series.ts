// What each callsite had at the end of each part of the time.

import { DEATH, PROMOTION } from "../columns";
import { isBegin, type Lives } from "../replay";
import { LEFT_OUT } from "../shape";
import type { Parts } from "./totals";

/** The callsites that are looked at. */
export interface Rows {
  sites: number[];
  /** By node of the backtraces: the row of its callsite, or `LEFT_OUT`. */
  ofNode: Uint32Array;
}

/** Changes of each row in each part; the first column is what was before all. */
export class Series {
  private readonly blocks: Int32Array;
  private readonly value: Float64Array;
  private readonly variance: Float64Array;
  private readonly width: number;

  constructor(lives: Lives, parts: Parts, rows: Rows) {
    this.width = parts.count + 1;
    const cells = rows.sites.length * this.width;
    this.blocks = new Int32Array(cells);
    [this.value, this.variance] = [new Float64Array(cells), new Float64Array(cells)];
    this.add(lives, parts, rows);
  }

  private add(lives: Lives, { count, begin, end, isToEnd }: Parts, { ofNode }: Rows): void {
    const { chosen, born, columns } = lives;
    const { events, death, node, kind, kinds } = columns;
    const { value: values, variance: variances } = kinds.ofBytes;
    const { blocks, value, variance, width } = this;
    const isPlain = lives.beginsAtPromotion === null;
    for (let at = 0; at < events.length; at++) {
      const event = events[at]!;
      const sample = event >>> 2;
      const row = ofNode[node[sample]!]!;
      if (row === LEFT_OUT || chosen[sample] === 0) continue;
      const isDeath = (event & 3) === DEATH;
      if (!isDeath && (isPlain ? (event & 3) === PROMOTION : !isBegin(lives, event))) continue;
      const time = isDeath ? death[sample]! : born[sample]!;
      let part = time < begin ? -1 : Math.floor(((time - begin) * count) / (end - begin));
      if (part >= count) {
        if (!isToEnd) continue;
        part = count - 1;
      }
      const cell = row * width + part + 1;
      const sign = isDeath ? -1 : 1;
      blocks[cell]! += sign;
      value[cell]! += sign * values[kind[sample]!]!;
      variance[cell]! += sign * variances[kind[sample]!]!;
    }
  }

  /** What a row had at the end of each part. */
  of(row: number): { atEnd: Float64Array; variance: Float64Array } {
    const count = this.width - 1;
    const [atEnd, variances] = [new Float64Array(count), new Float64Array(count)];
    let [blocks, value, variance] = [0, 0, 0];
    for (let part = -1; part < count; part++) {
      const cell = row * this.width + part + 1;
      blocks += this.blocks[cell]!;
      value += this.value[cell]!;
      variance += this.variance[cell]!;
      // What is left of what was added and taken away again is rounding.
      if (part < 0 || blocks === 0) continue;
      atEnd[part] = Math.max(0, value);
      variances[part] = Math.max(0, variance);
    }
    return { atEnd, variance: variances };
  }
}
