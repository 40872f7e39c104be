// Rows of a table in order, and the pages that they are shown in.

/** More rows are shown page by page. */
export const PAGE_ROWS = 200;

/** By what rows are sorted, as the address has it: `total`, or `-total` for the greatest first. */
export interface Order {
  column: string;
  descending: boolean;
}

export function readOrder(text: string): Order | null {
  if (text === "") return null;
  return text.startsWith("-") ? { column: text.slice(1), descending: true } : { column: text, descending: false };
}

export function writeOrder(order: Order): string {
  return (order.descending ? "-" : "") + order.column;
}

/** After a click on a column's head: numbers begin with the greatest, names with the first. */
export function nextOrder(now: Order | null, column: string, numeric: boolean): Order {
  if (now?.column !== column) return { column, descending: numeric };
  return { column, descending: !now.descending };
}

/** Rows in order of a key; what has none is last either way, and equals stay as they were. */
export function sorted<Row>(rows: Row[], key: (row: Row) => number | string | null, descending: boolean): Row[] {
  const keyed = rows.map((row) => [key(row), row] as const);
  const sign = descending ? -1 : 1;
  return keyed.sort(([a], [b]) => compare(a, b, sign)).map(([, row]) => row);
}

function compare(a: number | string | null, b: number | string | null, sign: number): number {
  const [noA, noB] = [isNone(a), isNone(b)];
  if (noA || noB) return Number(noA) - Number(noB);
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  const [x, y] = [String(a), String(b)];
  return x < y ? -sign : x > y ? sign : 0;
}

function isNone(key: number | string | null): boolean {
  return key === null || Number.isNaN(key) || key === "";
}

/** Which rows a page has, counted from 0; a page that does not exist is the nearest one. */
export function pageOf(total: number, page: number): { page: number; pages: number; from: number; to: number } {
  const pages = Math.max(1, Math.ceil(total / PAGE_ROWS));
  const shown = Math.min(Math.max(0, page), pages - 1);
  return { page: shown, pages, from: shown * PAGE_ROWS, to: Math.min(total, (shown + 1) * PAGE_ROWS) };
}

/** Rows as text for a clipboard: tabs between cells. */
export function separated(heads: string[], rows: string[][]): string {
  const clean = (cell: string) => cell.replace(/[\t\n\r]+/g, " ");
  return [heads, ...rows].map((row) => row.map(clean).join("\t")).join("\n") + "\n";
}
