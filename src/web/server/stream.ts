import type { DashboardModel } from "../model/model.ts";
import type { RefreshTimer } from "../model/refresh-timer.ts";
import { pageSnapshots } from "../metrics.ts";
import type { AccessFilter } from "../access/access-filter.ts";
import { LoginError, type Viewer } from "../access/viewer.ts";
import type { RowReferences } from "../access/refs.ts";
import type { ViewName } from "../api.ts";
import type { DetailBuilder } from "./details.ts";

export interface EventStreamOptions {
  readonly model: DashboardModel;
  readonly timer: RefreshTimer;
  readonly viewer: Viewer;
  readonly access: AccessFilter;
  readonly behind: RowReferences;
  readonly details: DetailBuilder;
  readonly views: readonly ViewName[];
  readonly components: readonly string[];
  readonly whys: readonly string[];
  readonly lastEventId?: string;
  readonly signal: AbortSignal;
}

/** Some proxies close a connection that is idle for longer. */
const HEARTBEAT_MS = 15_000;
const RETRY_MS = 2_000;
/** An event, not a comment: the page must distinguish a quiet cluster from a dead connection. */
const BEAT = "event: heartbeat\ndata: {}\n\n";

/** The events for one reader, built when he can take them: a slow reader gets fewer and larger events. No queue is kept. */
export class EventStream {
  readonly #options: EventStreamOptions;
  /** The reader has everything up to this revision; undefined before the first snapshot. */
  #reported: number | undefined;
  /** The version of the reader's permissions. */
  #sees: number;
  #beat = -1;
  readonly #sentDetails = new Map<string, string>();
  /** A resumed reader that missed nothing gets a heartbeat at once. */
  #sentAt = Number.NEGATIVE_INFINITY;
  #greeted = false;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#sees = options.viewer.version;
    this.#reported = revisionIn(options.lastEventId, options.model.rows.epoch);
  }

  /** Pull-based: nothing is built in advance. */
  body(): ReadableStream<Uint8Array> {
    const encoder = new TextEncoder();
    return new ReadableStream(
      {
        pull: async (controller) => {
          const text = await this.#next();
          if (text === undefined) controller.close();
          else controller.enqueue(encoder.encode(text));
        },
      },
      { highWaterMark: 0 },
    );
  }

  async #next(): Promise<string | undefined> {
    const { timer, signal } = this.#options;
    if (!this.#greeted) {
      this.#greeted = true;
      return `retry: ${RETRY_MS}\n\n`;
    }
    try {
      while (!signal.aborted) {
        timer.freshen();
        this.#beat = timer.beats;
        const event = await this.#event();
        const now = performance.now();
        const quiet = now - this.#sentAt >= HEARTBEAT_MS;
        if (event !== undefined || quiet) this.#sentAt = now;
        if (event !== undefined) return event;
        if (quiet) return BEAT;
        await timer.next(this.#beat, this.#sentAt + HEARTBEAT_MS - now, signal);
      }
    } catch (error) {
      // The reader reconnects and gets the error.
      if (!(error instanceof LoginError) && !signal.aborted) throw error;
    }
    return undefined;
  }

  async #event(): Promise<string | undefined> {
    const { model, viewer, access, views } = this.#options;
    const { rows } = model;
    const details = await this.#learned();
    if (viewer.version !== this.#sees) this.#reported = undefined;
    this.#sees = viewer.version;
    const { revision } = rows;
    const snapshot = this.#reported === undefined || !rows.knows(this.#reported);
    const from = this.#reported ?? 0;
    const parts = views.flatMap((view) => {
      const text = snapshot ? rows.snapshot(view, access.filter) : rows.since(from, view, access.filter);
      return text === undefined ? [] : [`${JSON.stringify(view)}:${text}`];
    });
    this.#reported = revision;
    const changed = [...details].filter(([name, text]) => snapshot || this.#sentDetails.get(name) !== text);
    for (const [name, text] of changed) this.#sentDetails.set(name, text);
    if (!snapshot && parts.length === 0 && changed.length === 0) return undefined;
    if (snapshot) pageSnapshots.inc();
    const data = `{"views":{${parts.join(",")}}${section("components", changed)}${section("whys", changed)}}`;
    return `event: ${snapshot ? "snapshot" : "change"}\nid: ${rows.epoch}-${revision}\ndata: ${data}\n\n`;
  }

  /** Reviews the permissions for all rows, including new ones. */
  async #learned(): Promise<Map<string, string>> {
    const { model, viewer, access, behind, views, signal } = this.#options;
    const { rows } = model;
    for (;;) {
      const { revision } = rows;
      await viewer.learn(access.asks(views, behind), signal);
      const details = await this.#detailsNow();
      if (rows.revision === revision) return details;
    }
  }

  async #detailsNow(): Promise<Map<string, string>> {
    const { details, viewer, access, components, whys, signal } = this.#options;
    const texts = new Map<string, string>();
    for (const id of components) texts.set(`components ${id}`, JSON.stringify(await details.component(id, viewer, access, signal)));
    for (const id of whys) texts.set(`whys ${id}`, JSON.stringify(await details.why(id, viewer, access, signal)));
    return texts;
  }
}

function section(name: "components" | "whys", changed: readonly (readonly [string, string])[]): string {
  const own = changed.filter(([key]) => key.startsWith(`${name} `));
  if (own.length === 0) return "";
  return `,"${name}":{${own.map(([key, text]) => `${JSON.stringify(key.slice(name.length + 1))}:${text}`).join(",")}}`;
}

/** Undefined if it is of another process. */
function revisionIn(eventId: string | undefined, epoch: string): number | undefined {
  const [, of, revision] = /^([0-9a-f]+)-(\d{1,15})$/.exec(eventId ?? "") ?? [];
  return of === epoch ? Number(revision) : undefined;
}
