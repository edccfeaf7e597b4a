import type { ObjectMeta } from "../../api/kind.ts";
import { type TextCell, Columns, stripControlCharacters } from "./columns.ts";
import { type Colorize, statusColor } from "./color.ts";

/** A server's answer in the form of meta.k8s.io/v1 Table. */
export interface Table {
  metadata?: { resourceVersion?: string; continue?: string };
  /** Missing in all events of a watch but the first. */
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
  /** With the columns of lower priority. */
  wide: boolean;
  /** With a first column that says where each object is. */
  namespaces: boolean;
  /** Put before each name, where several kinds are shown. */
  prefix?: string;
}

/** Prints tables as kubectl prints them. */
export class TablePrinter {
  readonly #options: TableOptions;
  readonly #columns: Columns;
  #definitions: { name: string; at: number }[] | undefined;

  constructor(options: TableOptions) {
    this.#options = options;
    this.#columns = new Columns(options.paint);
  }

  /** The lines of one more piece of the table; the first has the header. */
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
