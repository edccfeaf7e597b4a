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
  /** The last event that the reader has seen, as an EventSource sends it. */
  readonly lastEventId?: string;
  readonly signal: AbortSignal;
}

/** An idle connection that says nothing for longer is cut by some proxies, and cannot be told from a dead one. */
const HEARTBEAT_MS = 15_000;
const RETRY_MS = 2_000;
/** An event, not a comment: only an event is seen by the page, which must tell a quiet cluster from a dead connection. */
const BEAT = "event: heartbeat\ndata: {}\n\n";

/**
 * What one reader is told, worked out when he can take it: a reader who is slow is told less often, and all that happened meanwhile at once. Nothing is
 * kept for him.
 */
export class EventStream {
  readonly #options: EventStreamOptions;
  /** What the reader knows: everything up to this revision. Nothing before the first snapshot. */
  #reported: number | undefined;
  /** What the reader was known to be allowed to see. */
  #sees: number;
  #beat = -1;
  readonly #sentDetails = new Map<string, string>();
  /** Never: also a reader who is resumed and has missed nothing is told at once that he is live. */
  #sentAt = Number.NEGATIVE_INFINITY;
  #greeted = false;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#sees = options.viewer.version;
    this.#reported = revisionIn(options.lastEventId, options.model.rows.epoch);
  }

  /** To be told of nothing until there is room for it: nothing is made in advance. */
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
      // The reader comes back and is told why; whatever else went wrong is not worth his connection either.
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

  /** Finds out what the viewer may see of all there is, and of what has come into being meanwhile: what was not asked about he would never be told of. */
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

/** What of a picture someone has seen; nothing where it was another one. */
function revisionIn(eventId: string | undefined, epoch: string): number | undefined {
  const [, of, revision] = /^([0-9a-f]+)-(\d{1,15})$/.exec(eventId ?? "") ?? [];
  return of === epoch ? Number(revision) : undefined;
}
