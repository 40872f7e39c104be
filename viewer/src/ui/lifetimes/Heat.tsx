// Lifetime by size as a field of cells, with the sums of both beside it. A click or a drag chooses.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Density } from "../../engine/api";
import { useDark } from "../flame/Legend";
import { themeOf, type Theme } from "../flame/paint";
import { percent, plain } from "../parts/format";
import { about, lifetime } from "../parts/spans";
import { useWidth } from "../parts/width";
import { margins, mostOf, ordered, sumOf, termsOf, type Cells } from "./cells";
import { sizeName } from "./names";

export interface HeatProps {
  density: Density;
  of: "bytes" | "objects";
  onChoose(terms: string): void;
}

interface Grid {
  left: number;
  top: number;
  cell: number;
  row: number;
  /** Before the column of what was not freed. */
  gap: number;
  side: number;
}

const ROW = 17;
const SIDE = 70;
const TOP = 54;
const BOTTOM = 34;
const LEFT = 62;
/** Pixels from one label to the next. */
const LEAST_TICK = 58;

export function Heat(props: HeatProps) {
  const { density } = props;
  const values = density[props.of];
  const canvas = useRef<HTMLCanvasElement>(null);
  const { of: box, width } = useWidth<HTMLDivElement>(0);
  const [cursor, setCursor] = useState<Cells | null>(null);
  const [dragging, setDragging] = useState(false);
  const dark = useDark();
  const sums = useMemo(() => margins(density, values), [density, values]);
  const [columns, rows] = [density.lifetimes.length, density.sizes.length];
  const grid = gridOf(width, columns);
  const height = TOP + rows * ROW + BOTTOM;

  useEffect(() => setCursor(null), [density]);
  useLayoutEffect(() => {
    if (width === 0) return;
    const pixels = window.devicePixelRatio || 1;
    const context = canvas.current!.getContext("2d")!;
    canvas.current!.width = width * pixels;
    canvas.current!.height = height * pixels;
    context.setTransform(pixels, 0, 0, pixels, 0, 0);
    draw(context, density, values, sums, grid, themeOf(canvas.current!), cursor);
  }, [density, values, width, cursor, dark]);

  const cellAt = (event: MouseEvent): { column: number; row: number } | null => {
    const { left, top } = canvas.current!.getBoundingClientRect();
    let x = event.clientX - left - grid.left;
    if (x > (columns - 1) * grid.cell) x -= grid.gap;
    const [column, row] = [Math.floor(x / grid.cell), rows - 1 - Math.floor((event.clientY - top - TOP) / ROW)];
    return column >= 0 && column < columns && row >= 0 && row < rows ? { column, row } : null;
  };
  const move = (event: PointerEvent) => {
    const at = cellAt(event);
    if (!at) return dragging ? undefined : setCursor(null);
    const { column, row } = at;
    setCursor(dragging && cursor ? { ...cursor, toColumn: column, toRow: row } : { column, row, toColumn: column, toRow: row });
  };
  const choose = (cells: Cells | null) => {
    setDragging(false);
    if (cells && sumOf(density, values, cells) > 0) props.onChoose(termsOf(density, cells));
  };
  const key = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step) setCursor(moved(cursor, step, event.shiftKey, columns, rows));
    else if (event.key === "Enter") choose(cursor);
    else if (event.key === "Escape" && cursor) setCursor(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const words = cursor ? inWords(density, values, props.of, cursor, sums.all) : "";
  return (
    <div class="heat" ref={box}>
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-roledescription="density"
        aria-label="Lifetime by size. Arrows walk, with Shift they choose several, Enter filters. The same as a table is below."
        style={{ height: `${height}px` }}
        onPointerDown={(event) => (canvas.current!.setPointerCapture(event.pointerId), setDragging(cellAt(event) !== null))}
        onPointerMove={move}
        onPointerUp={() => dragging && choose(cursor)}
        onPointerLeave={() => !dragging && setCursor(null)}
        onKeyDown={key}
      />
      <p class="note heat-said" aria-live="polite">
        {words || "A click filters by what is in a cell; drag over several, or walk with arrows."}
      </p>
    </div>
  );
}

const STEPS: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

function moved(cursor: Cells | null, [x, y]: [number, number], wider: boolean, columns: number, rows: number): Cells {
  if (!cursor) return { column: 0, row: 0, toColumn: 0, toRow: 0 };
  const toColumn = Math.max(0, Math.min(columns - 1, cursor.toColumn + x));
  const toRow = Math.max(0, Math.min(rows - 1, cursor.toRow + y));
  return wider ? { ...cursor, toColumn, toRow } : { column: toColumn, row: toRow, toColumn, toRow };
}

function gridOf(width: number, columns: number): Grid {
  const side = width < 560 ? 0 : SIDE;
  const gap = 8;
  const cell = Math.min(40, Math.max(4, (width - LEFT - side - gap - 4) / columns));
  return { left: LEFT, top: TOP, cell, row: ROW, gap, side };
}

function inWords(density: Density, values: Float64Array, unit: "bytes" | "objects", cells: Cells, all: number): string {
  const sum = sumOf(density, values, cells);
  return `${termsOf(density, cells) || "everything"}: ${plain(sum, unit)}, ${percent(all > 0 ? sum / all : 0)}`;
}

type Sums = ReturnType<typeof margins>;

function draw(
  context: CanvasRenderingContext2D,
  of: Density,
  values: Float64Array,
  sums: Sums,
  grid: Grid,
  theme: Theme,
  cursor: Cells | null,
) {
  const columns = of.lifetimes.length;
  const rows = of.sizes.length;
  const x = (column: number) => grid.left + column * grid.cell + (column === columns - 1 ? grid.gap : 0);
  const y = (row: number) => grid.top + (rows - 1 - row) * grid.row;
  context.clearRect(0, 0, 1e5, 1e5);
  const most = values.reduce((most, value) => Math.max(most, value), 0);
  for (let row = 0; row < rows; row += 1)
    for (let column = 0; column < columns; column += 1) {
      const value = values[row * columns + column];
      context.fillStyle = value > 0 ? shade(value / most, theme.dark) : theme.dark ? "oklch(0.24 0 0)" : "oklch(0.945 0 0)";
      context.fillRect(x(column), y(row), grid.cell - 1, grid.row - 1);
    }
  bars(context, sums, grid, theme, x, y, rows);
  axes(context, of, grid, theme, x, y);
  if (cursor) frame(context, cursor, grid, theme, x, y);
}

/** Amounts differ by powers of ten: as deep as the root of the root. */
function shade(part: number, dark: boolean): string {
  const depth = Math.sqrt(Math.sqrt(part));
  return dark ? `oklch(${0.28 + 0.5 * depth} ${0.03 + 0.11 * depth} ${262 - 180 * depth})` : `oklch(${0.96 - 0.55 * depth} ${0.02 + 0.13 * depth} ${230 + 40 * depth})`;
}

type At = (index: number) => number;

function bars(context: CanvasRenderingContext2D, sums: Sums, grid: Grid, theme: Theme, x: At, y: At, rows: number) {
  context.fillStyle = theme.accent;
  const tallest = Math.max(...sums.lifetimes);
  sums.lifetimes.forEach((value, column) => {
    const height = tallest > 0 ? (value / tallest) * (TOP - 10) : 0;
    context.fillRect(x(column), grid.top - 4 - height, grid.cell - 1, height);
  });
  if (grid.side === 0) return;
  const widest = Math.max(...sums.sizes);
  const left = x(sums.lifetimes.length - 1) + grid.cell + 4;
  for (let row = 0; row < rows; row += 1) {
    context.fillRect(left, y(row), widest > 0 ? (sums.sizes[row] / widest) * (grid.side - 8) : 0, grid.row - 1);
  }
}

function axes(context: CanvasRenderingContext2D, of: Density, grid: Grid, theme: Theme, x: At, y: At) {
  context.fillStyle = theme.muted;
  context.font = theme.font.replace("12px", "11px");
  context.textBaseline = "middle";
  context.textAlign = "right";
  // A class ends at a power of two, which is at its upper end.
  of.sizes.forEach((_, row) => {
    if (row % 2 === 0) context.fillText(sizeName(mostOf(of, row)), grid.left - 6, y(row) + 1);
  });
  context.textAlign = "center";
  const bottom = y(0) + grid.row;
  const last = of.lifetimes.length - 1;
  const every = Math.max(1, Math.ceil(LEAST_TICK / grid.cell));
  for (let column = 0; column < last && x(column) + LEAST_TICK < x(last); column += every) {
    const text = of.lifetimes[column] < 1 ? lifetime(0) : about(of.lifetimes[column]);
    context.fillText(text, x(column), bottom + 10);
    context.fillRect(x(column) - 0.5, bottom, 1, 3);
  }
  context.textAlign = "right";
  context.fillText("not freed", x(last) + grid.cell, bottom + 10);
  context.textAlign = "left";
  context.fillText("size ↑, lifetime →", grid.left, bottom + 26);
}

function frame(context: CanvasRenderingContext2D, cells: Cells, grid: Grid, theme: Theme, x: At, y: At) {
  const { column, row, toColumn, toRow } = ordered(cells);
  context.strokeStyle = theme.text;
  context.lineWidth = 1.5;
  context.strokeRect(x(column) - 0.5, y(toRow) - 0.5, x(toColumn) - x(column) + grid.cell, y(row) - y(toRow) + grid.row);
}
