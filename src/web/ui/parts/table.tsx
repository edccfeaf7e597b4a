import type { ComponentChildren, TargetedKeyboardEvent, VNode } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import { go, option, refine, route } from "../live/route.ts";
import { useWindow } from "./window.ts";

export interface Column<Row> {
  readonly id: string;
  readonly title: string;
  /** A track of the grid: `minmax(8em, 1fr)`. */
  readonly width: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** What it is sorted by; a column without stays as it is. */
  readonly by?: (row: Row) => string | number;
  readonly class?: string;
}

interface TableProps<Row> {
  readonly label: string;
  /** The worst first, unless a column is chosen. */
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  /** What is chosen in the address when a row is opened. */
  readonly componentOf: (row: Row) => string;
  readonly empty: ComponentChildren;
  readonly rowHeight?: number;
  /** Where a row leads, when not to its thing within this view. */
  readonly open?: (row: Row) => void;
  /** What is chosen, when it is not what the address opens. */
  readonly chosen?: string;
}

const ROW = 30;
const PAGE = 20;

/** A table of any length: only what can be seen is drawn. One stop of the Tab key; arrows move within, Enter opens. */
export function Table<Row extends object>(props: TableProps<Row>) {
  const { label, columns, keyOf, componentOf, empty, rowHeight = ROW } = props;
  const rows = sorted(props.rows, columns, option("sort"));
  const scroller = useRef<HTMLDivElement>(null);
  const name = useId();
  const { first, end, scrollTo } = useWindow(scroller, rows.length, rowHeight, ROW);
  const [activeKey, setActiveKey] = useState<string>();
  const active = rows.findIndex((row) => keyOf(row) === activeKey);
  const chosen = props.chosen ?? route.value.component;
  const tracks = columns.map(({ width }) => width).join(" ");

  const open = (row: Row) => {
    setActiveKey(keyOf(row));
    if (props.open) props.open(row);
    else go({ view: route.peek().view, component: componentOf(row), options: route.peek().options });
  };
  const opened = useRef(open);
  opened.current = open;
  const kept = useRef(new WeakMap<Row, { state: string; columns: typeof columns; drawing: VNode }>());
  const move = (event: TargetedKeyboardEvent<HTMLElement>) => {
    const target = movedBy(event.key, active, rows.length);
    if (event.key === "Enter" && rows[active] !== undefined) open(rows[active]);
    else if (target === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    const row = target === undefined ? undefined : rows[target];
    if (row !== undefined && target !== undefined) {
      setActiveKey(keyOf(row));
      scrollTo(target);
    }
    event.preventDefault();
  };

  const draw = (row: Row, index: number) => (
    <div
      key={keyOf(row)}
      id={`${name}-${index}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={componentOf(row) === chosen}
      class={index === active ? "row active" : "row"}
      style={{ top: `${index * rowHeight}px` }}
      onClick={() => opened.current(row)}
    >
      {columns.map((column) => (
        <div key={column.id} role="gridcell" class={`cell ${column.class ?? ""}`}>
          {column.cell(row)}
        </div>
      ))}
    </div>
  );
  /** A row that is as it was is not drawn again: scrolling costs what comes into sight. */
  const drawn = (row: Row, index: number) => {
    const state = `${index} ${index === active} ${componentOf(row) === chosen}`;
    const before = kept.current.get(row);
    if (before?.state === state && before.columns === columns) return before.drawing;
    const drawing = draw(row, index);
    kept.current.set(row, { state, columns, drawing });
    return drawing;
  };

  return (
    <div
      class="table"
      ref={scroller}
      role="grid"
      tabIndex={0}
      aria-label={label}
      aria-rowcount={rows.length + 1}
      aria-activedescendant={active >= first && active < end ? `${name}-${active}` : undefined}
      onKeyDown={move}
      style={{ "--tracks": tracks, "--row": `${rowHeight}px` }}
    >
      <div class="head" role="row" aria-rowindex={1}>
        {columns.map((column) => (
          <Head key={column.id} column={column} />
        ))}
      </div>
      {rows.length === 0 && <div class="empty">{empty}</div>}
      <div class="body" role="presentation" style={{ height: `${rows.length * rowHeight}px` }}>
        {rows.slice(first, end).map((row, at) => drawn(row, first + at))}
      </div>
    </div>
  );
}

function Head<Row>({ column }: { column: Column<Row> }) {
  const [by, down] = sorting(option("sort"));
  const sort = by === column.id ? (down ? "descending" : "ascending") : "none";
  const next = { none: column.id, ascending: `-${column.id}`, descending: "" }[sort];
  return (
    <div role="columnheader" class={`cell ${column.class ?? ""}`} aria-sort={column.by && sort}>
      {column.by ? (
        <button type="button" tabIndex={-1} onClick={() => refine({ sort: next })}>
          {column.title}
          <span aria-hidden="true">{{ none: "", ascending: " ↑", descending: " ↓" }[sort]}</span>
        </button>
      ) : (
        column.title
      )}
    </div>
  );
}

const sorting = (sort: string): [by: string, down: boolean] => (sort.startsWith("-") ? [sort.slice(1), true] : [sort, false]);

function sorted<Row>(rows: readonly Row[], columns: readonly Column<Row>[], sort: string): readonly Row[] {
  const [id, down] = sorting(sort);
  const by = columns.find((column) => column.id === id)?.by;
  if (!by) return rows;
  const natural = (one: Row, other: Row) => {
    const [a, b] = [by(one), by(other)];
    return typeof a === "number" && typeof b === "number" ? a - b : compareNames(String(a), String(b));
  };
  return rows.toSorted((one, other) => (down ? natural(other, one) : natural(one, other)));
}

const collator = new Intl.Collator("en", { numeric: true });
/** node2 before node10. */
export const compareNames = (one: string, other: string) => collator.compare(one, other);

/** The row that a key leads to. */
export function movedBy(key: string, at: number, count: number): number | undefined {
  const to: Readonly<Record<string, number>> = {
    ArrowDown: at + 1,
    ArrowUp: at < 0 ? 0 : at - 1,
    PageDown: at + PAGE,
    PageUp: at - PAGE,
    Home: 0,
    End: count - 1,
  };
  const target = to[key];
  return target === undefined ? undefined : Math.max(0, Math.min(count - 1, target));
}
