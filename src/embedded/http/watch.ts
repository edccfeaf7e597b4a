import type { ServerResponse } from "node:http";
import { apiVersionOf } from "../../api/kind.ts";
import type { Log } from "../../kube/log.ts";
import { embeddedSlowWatchesClosed } from "../store/metrics.ts";
import { expired } from "../store/api-error.ts";
import type { Collection } from "../store/collection.ts";
import type { StoreEntry } from "../store/entry.ts";
import type { StoreChange } from "../store/history.ts";
import { isSelected, type ListSelection } from "./selection.ts";
import type { RequestTarget } from "./target.ts";

export interface ServedWatchOptions {
  readonly collection: Collection;
  readonly target: RequestTarget;
  readonly selection: ListSelection;
  /** Undefined or 0: existing objects are sent first. */
  readonly from: number | undefined;
  readonly sendInitialEvents: boolean;
  readonly bookmarks: boolean;
  readonly timeoutMs: number;
  readonly show: (entry: StoreEntry, first: boolean) => Buffer;
  readonly revision: () => number;
  readonly log: Log;
}

const BOOKMARK_MS = 60_000;
/** Changes that a client may lag behind before it is disconnected. */
const BACKLOG_MAX = 10_000;
/** How long a client with pending data may not read. */
const STALLED_MS = 60_000;
const CHUNK = 64 * 1024;

const NEWLINE = Buffer.from("}\n");
const prefixes = Object.fromEntries(
  ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"].map((type) => [type, Buffer.from(`{"type":"${type}","object":`)]),
) as Record<EventType, Buffer>;
type EventType = StoreChange["type"] | "BOOKMARK" | "ERROR";

/** The watch of one client. Sends only as much as it reads, and keeps references to the rest. */
export class ServedWatch {
  readonly #response: ServerResponse;
  readonly #options: ServedWatchOptions;
  readonly #backlog: StoreChange[] = [];
  readonly #ends: (() => void)[] = [];
  #initial: readonly StoreEntry[] = [];
  #sent = 0;
  #initialDone: { revision: number; marked: boolean } | undefined;
  #reported: number;
  #events = 0;
  #full = false;
  #stalled: NodeJS.Timeout | undefined;

  constructor(response: ServerResponse, options: ServedWatchOptions) {
    this.#response = response;
    this.#options = options;
    this.#reported = options.revision();
  }

  start(): void {
    const { collection, from, sendInitialEvents, selection, bookmarks, timeoutMs, revision } = this.#options;
    const response = this.#response;
    response.writeHead(200, { "cache-control": "no-cache, private", "content-type": "application/json" });
    response.flushHeaders();
    response.once("close", () => this.#end());
    response.on("drain", () => this.#drained());

    if (from === undefined || from === 0 || sendInitialEvents) {
      this.#initial = collection.list(selection.namespace).filter(({ object }) => isSelected(selection, object));
      this.#initialDone = { revision: revision(), marked: bookmarks };
    } else {
      const missed = collection.history.since(from);
      if (!missed) return this.#tooOld(from);
      this.#backlog.push(...missed);
    }
    this.#ends.push(collection.watch({ noticed: (change) => this.#noticed(change), cutOff: (error) => this.#fail(error) }));
    const timeout = setTimeout(() => this.#finish(), timeoutMs);
    this.#ends.push(() => clearTimeout(timeout));
    if (bookmarks) {
      const bookmark = setInterval(() => this.#bookmark(), BOOKMARK_MS);
      this.#ends.push(() => clearInterval(bookmark));
    }
    this.#pump();
  }

  #noticed(change: StoreChange): void {
    const { from = 0 } = this.#options;
    if (change.entry.revision <= from) return;
    this.#backlog.push(change);
    if (this.#backlog.length > BACKLOG_MAX) return this.#cutOff(`${this.#backlog.length} changes behind`);
    this.#pump();
  }

  #pump(): void {
    while (!this.#full && this.#step());
    if (!this.#full || this.#stalled) return;
    this.#stalled = setTimeout(() => this.#cutOff(`read nothing for ${STALLED_MS / 1000} s`), STALLED_MS);
  }

  #step(): boolean {
    if (this.#sent < this.#initial.length) {
      this.#write(this.#nextInitial());
      return true;
    }
    if (this.#initialDone) {
      const { revision, marked } = this.#initialDone;
      this.#initialDone = undefined;
      if (marked) this.#writeBookmark(revision, { "k8s.io/initial-events-end": "true" });
      return true;
    }
    const change = this.#backlog.shift();
    if (!change) return false;
    this.#reported = change.entry.revision;
    const event = this.#selected(change);
    if (event) this.#write(event);
    return true;
  }

  #nextInitial(): Buffer[] {
    const buffers: Buffer[] = [];
    for (let size = 0; size < CHUNK;) {
      const entry = this.#initial[this.#sent];
      if (!entry) break;
      this.#sent += 1;
      size += entry.json.length;
      buffers.push(...this.#event("ADDED", entry));
    }
    if (this.#sent >= this.#initial.length) this.#initial = [];
    return buffers;
  }

  /** An object that leaves the selection counts as deleted, one that enters it as added. */
  #selected({ type, entry, previous }: StoreChange): Buffer[] | undefined {
    const { selection } = this.#options;
    const now = type !== "DELETED" && isSelected(selection, entry.object);
    const before = previous !== undefined && isSelected(selection, previous.object);
    if (now) return this.#event(before ? "MODIFIED" : "ADDED", entry);
    if (!before) return undefined;
    return this.#event("DELETED", type === "DELETED" ? entry : previous.at(entry.revision));
  }

  #event(type: EventType, entry: StoreEntry): Buffer[] {
    return [prefixes[type], this.#options.show(entry, this.#events++ === 0), NEWLINE];
  }

  #bookmark(): void {
    if (this.#full || this.#backlog.length > 0 || this.#initial.length > 0 || this.#initialDone) return;
    this.#writeBookmark(Math.max(this.#reported, this.#options.revision()));
  }

  #writeBookmark(revision: number, annotations?: Record<string, string>): void {
    const { kind, version } = this.#options.target;
    const metadata = { resourceVersion: String(revision), creationTimestamp: null, ...(annotations && { annotations }) };
    const object = { kind: kind.kind, apiVersion: apiVersionOf({ ...kind, version: version.name }), metadata };
    this.#write([prefixes.BOOKMARK, Buffer.from(JSON.stringify(object)), NEWLINE]);
  }

  #tooOld(from: number): void {
    const { horizon } = this.#options.collection.history;
    const status = expired(`too old resource version: ${from} (${horizon})`).toStatus();
    this.#write([prefixes.ERROR, Buffer.from(JSON.stringify(status)), NEWLINE]);
    this.#finish();
  }

  #write(buffers: Buffer[]): void {
    this.#full = !this.#response.write(buffers.length === 1 ? buffers[0] : Buffer.concat(buffers));
  }

  #drained(): void {
    this.#full = false;
    clearTimeout(this.#stalled);
    this.#stalled = undefined;
    this.#pump();
  }

  #cutOff(why: string): void {
    const resource = this.#options.target.kind.plural;
    this.#options.log.warn({ resource, why }, "closed a watch: the client does not read");
    this.#destroy();
  }

  #fail(error: unknown): void {
    const resource = this.#options.target.kind.plural;
    this.#options.log.error({ resource, error }, "closed a watch: a change could not be encoded");
    this.#destroy();
  }

  #destroy(): void {
    embeddedSlowWatchesClosed.inc({ resource: this.#options.target.kind.plural });
    this.#end();
    this.#response.destroy();
  }

  #finish(): void {
    this.#end();
    this.#response.end();
  }

  #end(): void {
    for (const end of this.#ends.splice(0)) end();
    clearTimeout(this.#stalled);
    this.#initial = [];
    this.#initialDone = undefined;
    this.#backlog.length = 0;
  }
}
