import type { ObjectMeta } from "../../api/kind.ts";
import { type TextCell, Columns, stripControlCharacters } from "./columns.ts";
import { type Colorize, statusColor } from "./color.ts";

/** meta.k8s.io/v1 Table. */
export interface Table {
  metadata?: { resourceVersion?: string; continue?: string };
  /** Only in the first event of a watch. */
  columnDefinitions?: { name: string; priority?: number }[] | null;
  rows?: TableRow[] | null;
}

export interface TableRow {
  cells: unknown[];
  object?: { metadata?: ObjectMeta };
}

export const ACCEPT_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

export interface TableOptions {
  paint: Colorize;
  wide: boolean;
  namespaces: boolean;
  /** Prefix of each name, if several kinds are shown. */
  prefix?: string;
}

export class TablePrinter {
  readonly #options: TableOptions;
  readonly #columns: Columns;
  #definitions: { name: string; at: number }[] | undefined;

  constructor(options: TableOptions) {
    this.#options = options;
    this.#columns = new Columns(options.paint);
  }

  /** The first call includes the header. */
  lines({ columnDefinitions, rows }: Table): string[] {
    const cells: TextCell[][] = [];
    if (!this.#definitions) {
      const all = (columnDefinitions ?? []).map(({ name, priority = 0 }, at) => ({ name, at, priority }));
      this.#definitions = all.filter(({ priority }) => priority === 0 || this.#options.wide);
      const header = this.#definitions.map(({ name }) => ({ text: name.toUpperCase() }));
      cells.push(this.#options.namespaces ? [{ text: "NAMESPACE" }, ...header] : header);
    }
    for (const row of rows ?? []) cells.push(this.#row(row, this.#definitions));
    return this.#columns.lines(cells);
  }

  #row({ cells, object }: TableRow, definitions: readonly { name: string; at: number }[]): TextCell[] {
    const row = definitions.map(({ name, at }, index): TextCell => {
      const text = stripControlCharacters(cells[at]);
      return { text: index === 0 ? (this.#options.prefix ?? "") + text : text, color: statusColor(name, text) };
    });
    return this.#options.namespaces ? [{ text: stripControlCharacters(object?.metadata?.namespace) }, ...row] : row;
  }
}
