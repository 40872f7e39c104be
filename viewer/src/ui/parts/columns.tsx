// Columns that many tables have.

import type { Line, Measured, Quantity } from "../../engine/api";
import type { Facts } from "../../engine/facts";
import { Bar } from "./Bar";
import { estimate, percent, type Unit } from "./format";
import { Location, placeText } from "./Location";
import { Amount, amountText, Estimate, Percent } from "./Number";
import type { Column } from "./Table";

/** A share with its bar; grey where `noise` says so. */
export function shareColumn<Row>(of: (row: Row) => number, noise: (row: Row) => boolean, help?: string): Column<Row> {
  return {
    id: "share",
    title: "share",
    help,
    numeric: true,
    key: of,
    text: (row) => percent(of(row)),
    cell: (row) => (
      <span class="share">
        <Bar share={of(row)} noise={noise(row)} /> <Percent of={of(row)} noise={noise(row)} />
      </span>
    ),
  };
}

/** An amount's bytes or objects. */
export function amountColumn<Row>(
  id: string,
  title: string,
  of: (row: Row) => Quantity | null,
  unit: "bytes" | "objects",
  facts: Facts,
): Column<Row> {
  return {
    id,
    title,
    numeric: true,
    key: (row) => of(row)?.[unit].value ?? null,
    text: (row) => (of(row) ? amountText(of(row)!, unit, facts) : ""),
    cell: (row) => of(row) && <Amount of={of(row)!} unit={unit} facts={facts} />,
  };
}

/** An estimate; empty where it is of nothing. */
export function estimateColumn<Row>(id: string, title: string, of: (row: Row) => Measured, unit: Unit, help?: string): Column<Row> {
  return {
    id,
    title,
    help,
    numeric: true,
    key: (row) => of(row).value,
    text: (row) => (of(row).value > 0 ? estimate(of(row), unit) : ""),
    cell: (row) => of(row).value > 0 && <Estimate of={of(row)} unit={unit} />,
  };
}

/** A place; a click on its name does something where `onPick` says so. */
export function placeColumn<Row>(title: string, of: (row: Row) => Line | null, onPick?: (line: Line) => void): Column<Row> {
  return {
    id: "place",
    title,
    wide: true,
    head: true,
    key: (row) => placeText(of(row)),
    cell: (row) => {
      const line = of(row);
      return <Location line={line} onPick={onPick && line?.function ? () => onPick(line) : undefined} />;
    },
  };
}
