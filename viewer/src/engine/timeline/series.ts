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

/** What each row had at the end of each part. Rows stand side by side, part after part, as events come in the order of
 * time; the first part is all that was before. */
export class Series {
  private readonly blocks: Int32Array;
  private readonly value: Float64Array;
  private readonly variance: Float64Array;
  private readonly rows: number;

  constructor(
    lives: Lives,
    private readonly parts: Parts,
    rows: Rows,
  ) {
    this.rows = rows.sites.length;
    const cells = this.rows * (parts.count + 1);
    this.blocks = new Int32Array(cells);
    [this.value, this.variance] = [new Float64Array(cells), new Float64Array(cells)];
    this.addChanges(lives, rows);
    this.addUp();
  }

  private addChanges(lives: Lives, { ofNode }: Rows): void {
    const { chosen, born, columns } = lives;
    const { events, death, node, kind, kinds } = columns;
    const { value: values, variance: variances } = kinds.ofBytes;
    const { count, begin, end, isToEnd } = this.parts;
    const { blocks, value, variance, rows } = this;
    const isPlain = lives.beginsAtPromotion === null;
    for (let at = 0; at < events.length; at++) {
      const event = events[at]!;
      const sample = event >>> 2;
      if (chosen[sample] === 0) continue;
      const row = ofNode[node[sample]!]!;
      if (row === LEFT_OUT) continue;
      const isDeath = (event & 3) === DEATH;
      if (!isDeath && (isPlain ? (event & 3) === PROMOTION : !isBegin(lives, event))) continue;
      const time = isDeath ? death[sample]! : born[sample]!;
      let part = time < begin ? -1 : Math.floor(((time - begin) * count) / (end - begin));
      if (part >= count) {
        if (!isToEnd) continue;
        part = count - 1;
      }
      const cell = (part + 1) * rows + row;
      const sign = isDeath ? -1 : 1;
      blocks[cell]! += sign;
      value[cell]! += sign * values[kind[sample]!]!;
      variance[cell]! += sign * variances[kind[sample]!]!;
    }
  }

  /** From changes to what there was. */
  private addUp(): void {
    const { blocks, value, variance, rows } = this;
    for (let cell = rows; cell < value.length; cell++) {
      blocks[cell]! += blocks[cell - rows]!;
      value[cell]! += value[cell - rows]!;
      variance[cell]! += variance[cell - rows]!;
    }
  }

  /** The most that each row had at the end of a part. */
  greatest(): Float64Array {
    const { blocks, value, rows } = this;
    const most = new Float64Array(rows);
    for (let part = 1, cell = rows; part <= this.parts.count; part++) {
      for (let row = 0; row < rows; row++, cell++) {
        if (blocks[cell] !== 0 && value[cell]! > most[row]!) most[row] = value[cell]!;
      }
    }
    return most;
  }

  /** What a row had at the end of each part. */
  of(row: number): { atEnd: Float64Array; variance: Float64Array } {
    const { count } = this.parts;
    const [atEnd, variance] = [new Float64Array(count), new Float64Array(count)];
    for (let part = 0; part < count; part++) {
      const cell = (part + 1) * this.rows + row;
      // What is left of what was added and taken away again is rounding.
      if (this.blocks[cell] === 0) continue;
      atEnd[part] = Math.max(0, this.value[cell]!);
      variance[part] = Math.max(0, this.variance[cell]!);
    }
    return { atEnd, variance };
  }
}
