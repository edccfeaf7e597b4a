import type { TargetedKeyboardEvent, TargetedPointerEvent } from "preact";
import { useId, useMemo, useRef, useState } from "preact/hooks";
import { type Health, HEALTHS } from "../../../api/health.ts";
import { healthRank } from "./health.tsx";
import { movedBy } from "./table.tsx";
import { useWindow } from "./window.ts";

export interface MatrixCell {
  readonly health: Health;
  /** For people, as the cell is pointed at. */
  readonly text: () => string;
  readonly component?: string;
  /** A healthy one is drawn larger the more of something it has. */
  readonly weight?: 0 | 1 | 2;
}

interface MatrixProps {
  readonly label: string;
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  readonly cell: (row: string, column: string) => MatrixCell | undefined;
  readonly open: (component: string) => void;
  readonly chosen?: string | undefined;
  readonly corner: string;
}

const CELL = 22;
const HEAD = { least: 44, most: 118, perLetter: 5.6 };
const TITLE = { least: 90, most: 210, perLetter: 7.2 };

const roomFor = (texts: readonly string[], { least, most, perLetter }: typeof HEAD) =>
  Math.min(most, Math.max(least, 16 + perLetter * texts.reduce((longest, { length }) => Math.max(longest, length), 0)));

/** In a square of 22: the worse, the more of it is filled, and each has a shape of its own. */
const PATHS: Readonly<Record<Health, (x: number, weight: number) => string>> = {
  Healthy: (x, weight) => `M${x + 8 - 2 * weight} ${8 - 2 * weight}h${6 + 4 * weight}v${6 + 4 * weight}h-${6 + 4 * weight}z`,
  Degraded: (x) => `M${x + 11} 5l6.5 12h-13z`,
  Unknown: (x) => `M${x + 11} 4l7 7l-7 7l-7-7zM${x + 11} 7.5l-3.5 3.5l3.5 3.5l3.5-3.5z`,
  Down: (x) =>
    `M${x + 2} 2h18v18h-18zM${x + 6} 7.4L${x + 9.6} 11L${x + 6} 14.6L${x + 7.4} 16L${x + 11} 12.4L${x + 14.6} 16L${x + 16} 14.6L${x + 12.4} 11L${x + 16} 7.4L${x + 14.6} 6L${x + 11} 9.6L${x + 7.4} 6z`,
};

/**
 * A grid of rows and columns, with one path per row and health: a thousand columns render as fast as ten. It is one Tab stop; arrows move between
 * cells, and the text of the current cell is read aloud and shown below.
 */
export function Matrix({ label, rows, columns, cell, open, chosen, corner }: MatrixProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const name = useId();
  const head = useMemo(() => roomFor(columns, HEAD), [columns]);
  const title = useMemo(() => roomFor([...rows, corner], TITLE), [rows, corner]);
  const { first, end, scrollTo } = useWindow(scroller, rows.length, CELL, head);
  const [[row, column], setAt] = useState<[number, number]>([-1, -1]);
  const at = cellAt(row, column);
  const names = useMemo(() => <Names columns={columns} active={column} />, [columns, column]);

  function cellAt(row: number, column: number): MatrixCell | undefined {
    const [down, across] = [rows[row], columns[column]];
    return down === undefined || across === undefined ? undefined : cell(down, across);
  }
  const move = (event: TargetedKeyboardEvent<HTMLElement>) => {
    const across = new Map([
      ["ArrowLeft", column - 1],
      ["ArrowRight", column + 1],
    ]).get(event.key);
    const down = movedBy(event.key, row, rows.length);
    if (event.key === "Enter" && at?.component !== undefined) open(at.component);
    else if (across !== undefined) setAt([Math.max(0, row), Math.max(0, Math.min(columns.length - 1, across))]);
    else if (down !== undefined) {
      setAt([down, Math.max(0, column)]);
      scrollTo(down);
    } else return;
    event.preventDefault();
  };
  const pointed = (event: TargetedPointerEvent<SVGElement>, row: number) => {
    const column = Math.floor(event.offsetX / CELL);
    setAt((old) => (old[0] === row && old[1] === column ? old : [row, column]));
  };

  return (
    <div class="matrix-frame">
      <div
        class="matrix"
        ref={scroller}
        role="application"
        tabIndex={0}
        aria-label={label}
        aria-describedby={name}
        onKeyDown={move}
        onPointerLeave={() => setAt([-1, -1])}
        style={{ "--across": `${columns.length * CELL}px`, "--head": `${head}px`, "--title": `${title}px` }}
      >
        <div class="columns" role="presentation">
          <span class="corner soft">{corner}</span>
          {names}
        </div>
        <div class="body" role="presentation" style={{ height: `${rows.length * CELL}px` }}>
          {rows.slice(first, end).map((title, offset) => {
            const index = first + offset;
            return (
              <div key={title} class={`line ${index === row ? "active" : ""}`} style={{ top: `${index * CELL}px` }}>
                <span class="title cut" title={title}>
                  {title}
                </span>
                <svg
                  width={columns.length * CELL}
                  height={CELL}
                  onPointerMove={(event) => pointed(event, index)}
                  onClick={() => at?.component !== undefined && open(at.component)}
                >
                  <Cells row={title} columns={columns} cell={cell} chosen={chosen} />
                  {index === row && column >= 0 && (
                    <rect class="cursor" x={column * CELL + 0.75} y="0.75" width={CELL - 1.5} height={CELL - 1.5} rx="3" />
                  )}
                </svg>
              </div>
            );
          })}
        </div>
      </div>
      <p id={name} class="readout cut" role="status">
        {at?.text() ?? "Point at a cell, or move with the arrow keys, to read what it says."}
      </p>
    </div>
  );
}

function Names({ columns, active }: { columns: readonly string[]; active: number }) {
  return (
    <div class="names" aria-hidden="true">
      {columns.map((title, index) => (
        <span key={title} class={index === active ? "active" : ""} style={{ left: `${index * CELL}px` }} title={title}>
          {title}
        </span>
      ))}
    </div>
  );
}

type CellsProps = { row: string } & Pick<MatrixProps, "columns" | "cell" | "chosen">;

/** Redrawn only when its data changes. */
function Cells({ row, columns, cell, chosen }: CellsProps) {
  return useMemo(() => drawnCells({ row, columns, cell, chosen }), [row, columns, cell, chosen]);
}

function drawnCells({ row, columns, cell, chosen }: CellsProps) {
  const drawn: Partial<Record<Health, string>> = {};
  let frame = "";
  columns.forEach((column, index) => {
    const found = cell(row, column);
    if (!found) return;
    drawn[found.health] = (drawn[found.health] ?? "") + PATHS[found.health](index * CELL, found.weight ?? 0);
    if (chosen !== undefined && found.component === chosen) frame = `M${index * CELL + 1} 1h20v20h-20z`;
  });
  const parts = HEALTHS.filter((health) => drawn[health] !== undefined).toSorted((one, other) => healthRank(one) - healthRank(other));
  return (
    <>
      {parts.map((health) => (
        <path key={health} class={health} fill-rule="evenodd" d={drawn[health]} />
      ))}
      {frame && <path class="chosen" d={frame} />}
    </>
  );
}
