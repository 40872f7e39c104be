// A table that sorts, opens its rows, and can be copied; long ones have pages.

import { Fragment, type ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { CopyButton } from "./Copy";
import { count } from "./format";
import { nextOrder, pageOf, PAGE_ROWS, readOrder, separated, sorted, writeOrder, type Order } from "./rows";

export interface Column<Row> {
  id: string;
  title: ComponentChildren;
  /** The title in words, where `title` is none. */
  label?: string;
  /** What a hover tells of the column. */
  help?: string;
  cell(row: Row, at: number): ComponentChildren;
  /** By what it sorts; without it, it does not. */
  key?(row: Row): number | string | null;
  /** The cell in a copy; without it the key. */
  text?(row: Row): string;
  /** Numbers stand at the right and sort with the greatest first. */
  numeric?: boolean;
  /** Takes what room there is. */
  wide?: boolean;
  /** The cell names its row. */
  head?: boolean;
}

export interface TableProps<Row> {
  /** What the table is of, for screen readers; shown if `showCaption`. */
  caption: string;
  showCaption?: boolean;
  columns: Column<Row>[];
  rows: Row[];
  rowKey(row: Row, at: number): string | number;
  /** `total`, `-total`; with `onSort` the address keeps it. */
  sort?: string;
  onSort?(sort: string): void;
  /** What a row has to say when it is opened. */
  detail?(row: Row): ComponentChildren;
  /** The key of the open row; with `onOpen` the address keeps it. */
  opened?: string;
  onOpen?(key: string): void;
  empty?: ComponentChildren;
  /** No wider than it must be. */
  fit?: boolean;
}

/** A table of rows. */
export function Table<Row>(props: TableProps<Row>) {
  const { columns, rows } = props;
  const [ownSort, setOwnSort] = useState("");
  const [page, setPage] = useState(0);
  const order = readOrder(props.onSort ? (props.sort ?? "") : ownSort || (props.sort ?? ""));
  const ordered = useMemo(() => inOrder(rows, columns, order), [rows, order?.column, order?.descending]);
  useEffect(() => setPage(0), [rows]);
  const shown = pageOf(ordered.length, page);
  const sortBy = (column: Column<Row>) => {
    const sort = writeOrder(nextOrder(order, column.id, column.numeric === true));
    setPage(0);
    if (props.onSort) props.onSort(sort);
    else setOwnSort(sort);
  };
  if (rows.length === 0) return <p class="empty">{props.empty ?? "Nothing to show."}</p>;
  return (
    <div class={props.fit ? "table fit" : "table"}>
      <div class="table-scroll" tabIndex={0} role="group" aria-label={props.caption}>
        <table>
          <caption class={props.showCaption ? "" : "hidden"}>{props.caption}</caption>
          <thead>
            <tr>
              {props.detail && <th class="opener" aria-label="Details" />}
              {columns.map((column) => (
                <Head key={column.id} column={column} order={order} onSort={() => sortBy(column)} />
              ))}
            </tr>
          </thead>
          <tbody>
            <Rows {...props} rows={ordered.slice(shown.from, shown.to)} first={shown.from} />
          </tbody>
        </table>
      </div>
      <Foot {...props} rows={ordered} shown={shown} onPage={setPage} />
    </div>
  );
}

function inOrder<Row>(rows: Row[], columns: Column<Row>[], order: Order | null): Row[] {
  const key = columns.find((column) => column.id === order?.column)?.key;
  return order && key ? sorted(rows, key, order.descending) : rows;
}

function Head<Row>(props: { column: Column<Row>; order: Order | null; onSort(): void }) {
  const { column, order } = props;
  const now = order?.column === column.id ? (order.descending ? "descending" : "ascending") : undefined;
  const classes = [column.numeric ? "right" : "", column.wide ? "wide" : ""].filter(Boolean).join(" ");
  const arrow = now === "descending" ? "▾" : now === "ascending" ? "▴" : "";
  return (
    <th scope="col" class={classes} aria-sort={now} title={column.help} aria-label={column.label}>
      {column.key ? (
        <button type="button" class="sort" onClick={props.onSort}>
          {column.title}
          <span class="arrow" aria-hidden="true">
            {arrow}
          </span>
        </button>
      ) : (
        column.title
      )}
    </th>
  );
}

function Rows<Row>(props: TableProps<Row> & { first: number }) {
  const [ownOpened, setOwnOpened] = useState("");
  const opened = props.onOpen ? (props.opened ?? "") : ownOpened;
  const open = (key: string) => {
    const next = key === opened ? "" : key;
    if (props.onOpen) props.onOpen(next);
    else setOwnOpened(next);
  };
  return (
    <>
      {props.rows.map((row, at) => {
        const key = String(props.rowKey(row, props.first + at));
        return (
          <Fragment key={key}>
            <OneRow {...props} row={row} at={props.first + at} isOpen={key === opened} onToggle={() => open(key)} />
          </Fragment>
        );
      })}
    </>
  );
}

function OneRow<Row>(props: TableProps<Row> & { row: Row; at: number; isOpen: boolean; onToggle(): void }) {
  const { columns, row, isOpen, detail } = props;
  return (
    <>
      <tr class={isOpen ? "open" : ""} onClick={detail && ((event) => toggles(event) && props.onToggle())}>
        {detail && (
          <td class="opener">
            <button type="button" aria-expanded={isOpen} aria-label="Details" onClick={props.onToggle}>
              {isOpen ? "▾" : "▸"}
            </button>
          </td>
        )}
        {columns.map((column) => {
          const classes = [column.numeric ? "right" : "", column.wide ? "wide" : ""].filter(Boolean).join(" ");
          const cell = column.cell(row, props.at);
          return column.head ? (
            <th key={column.id} scope="row" class={classes}>
              {cell}
            </th>
          ) : (
            <td key={column.id} class={classes}>
              {cell}
            </td>
          );
        })}
      </tr>
      {isOpen && detail && (
        <tr class="detail">
          <td colSpan={columns.length + 1}>{detail(row)}</td>
        </tr>
      )}
    </>
  );
}

/** A click anywhere in a row opens it, but for one on something that does something itself, or that chooses text. */
function toggles(event: MouseEvent): boolean {
  const on = event.target as Element;
  return on.closest("button, a, input") === null && String(getSelection() ?? "") === "";
}

function Foot<Row>(
  props: TableProps<Row> & { shown: { page: number; pages: number; from: number; to: number }; onPage(page: number): void },
) {
  const { shown, rows } = props;
  return (
    <div class="table-foot">
      {rows.length > PAGE_ROWS && (
        <span role="group" aria-label="Pages">
          <button type="button" disabled={shown.page === 0} onClick={() => props.onPage(shown.page - 1)}>
            Previous
          </button>
          <span class="number">
            {" "}
            {count(shown.from + 1)}–{count(shown.to)} of {count(rows.length)}{" "}
          </span>
          <button type="button" disabled={shown.page + 1 >= shown.pages} onClick={() => props.onPage(shown.page + 1)}>
            Next
          </button>
        </span>
      )}
      {props.columns.some(isCopied) && <CopyButton text={() => copied(props.columns, rows)} label="Copy table" />}
    </div>
  );
}

function isCopied<Row>(column: Column<Row>): boolean {
  return column.text !== undefined || column.key !== undefined;
}

function copied<Row>(columns: Column<Row>[], rows: Row[]): string {
  const kept = columns.filter(isCopied);
  const cell = (column: Column<Row>, row: Row) => column.text?.(row) ?? String(column.key?.(row) ?? "");
  const heads = kept.map((column) => column.label ?? String(column.title));
  return separated(
    heads,
    rows.map((row) => kept.map((column) => cell(column, row))),
  );
}
