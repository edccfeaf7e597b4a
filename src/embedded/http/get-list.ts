import type { ServerResponse } from "node:http";
import { apiVersionOf } from "../../api/kind.ts";
import type { Log } from "../../kube/log.ts";
import { badRequest, expired, tooLargeResourceVersion } from "../store/api-error.ts";
import type { Collection } from "../store/collection.ts";
import type { StoreEntry } from "../store/entry.ts";
import type { Store } from "../store/store.ts";
import { send } from "./response.ts";
import { negotiate, type ResponseFormat } from "./negotiation.ts";
import { Pages, type ListPage } from "./pages.ts";
import { isTrue, type ApiRequest } from "./request.ts";
import { checkListOptions, numberIn, resourceVersionIn, selectionOf } from "./selection.ts";
import { listMetadata, metadataOnly, tableOf } from "./table.ts";
import { jsonFor, type RequestTarget } from "./target.ts";
import { ServedWatch } from "./watch.ts";

const COMMA = Buffer.from(",");
const LIST_END = Buffer.from("]}");
const FORMATS = ["object", "table", "metadata"] as const;
/** A watch ends after one to two times this. */
const WATCH_MS = 30 * 60_000;
/** Node fires a timer with a longer delay at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;

export class ReadHandler {
  readonly #store: Store;
  readonly #log: Log;
  readonly #pages = new Pages();

  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  get(request: ApiRequest, target: RequestTarget, response: ServerResponse): void {
    const { name = "", namespace } = target;
    const wanted = negotiate(request.message.headers.accept, FORMATS);
    this.#checkNotTooLarge(request.query);
    const entry = this.#store.get(target.kind, { name, ...(namespace !== undefined && { namespace }) });
    send(response, 200, presentationOf(entry, target, wanted, request.query), { encoding: wanted.encoding, warnings: warningsOf(target) });
  }

  list(request: ApiRequest, target: RequestTarget, response: ServerResponse): void {
    const { query } = request;
    const wanted = negotiate(request.message.headers.accept, FORMATS);
    checkListOptions(query, false);
    this.#checkNotTooLarge(query);
    const page = this.#page(this.#store.collection(target.kind), target, query);
    const body = wanted.as === "table" ? Buffer.from(JSON.stringify(tableOf(target, page, query))) : listOf(page, target, wanted);
    send(response, 200, body, { encoding: wanted.encoding, warnings: warningsOf(target) });
  }

  watch(request: ApiRequest, target: RequestTarget, response: ServerResponse): void {
    const { query } = request;
    const wanted = negotiate(request.message.headers.accept, FORMATS);
    checkListOptions(query, true);
    // Fails before the watch starts, not in the tick of another client's write.
    if (wanted.as === "table") tableOf(target, { entries: [], revision: 0 }, query);
    const seconds = numberIn(query, "timeoutSeconds") ?? 0;
    new ServedWatch(response, {
      collection: this.#store.collection(target.kind),
      target,
      selection: selectionOf(target, query),
      from: resourceVersionIn(query),
      sendInitialEvents: isTrue(query, "sendInitialEvents"),
      bookmarks: isTrue(query, "allowWatchBookmarks"),
      timeoutMs: seconds > 0 ? Math.min(seconds * 1000, TIMER_MAX_MS) : WATCH_MS * (1 + Math.random()),
      show: (entry, first) => presentationOf(entry, target, wanted, query, first),
      revision: () => this.#store.revision,
      log: this.#log,
    }).start();
  }

  #page(collection: Collection, target: RequestTarget, query: URLSearchParams): ListPage {
    const selection = selectionOf(target, query);
    const limit = numberIn(query, "limit") ?? 0;
    const token = query.get("continue");
    const { revision } = this.#store;
    const requested = resourceVersionIn(query);
    if (token && requested) throw badRequest("specifying resource version is not allowed when using continue");
    if (token) return this.#pages.next(collection, selection, revision, limit, token);
    if (query.get("resourceVersionMatch") === "Exact" && requested !== undefined && requested < collection.revision) {
      throw expired("The resourceVersion for the provided list is too old.");
    }
    return this.#pages.first(collection, selection, revision, limit);
  }

  #checkNotTooLarge(query: URLSearchParams): void {
    const requested = resourceVersionIn(query);
    if (requested !== undefined && requested > this.#store.revision) throw tooLargeResourceVersion(requested, this.#store.revision);
  }
}

export function warningsOf({ version }: RequestTarget): string[] {
  return version.warning === undefined ? [] : [version.warning];
}

export function presentationOf(
  entry: StoreEntry,
  target: RequestTarget,
  wanted: ResponseFormat,
  query: URLSearchParams,
  columns = true,
): Buffer {
  if (wanted.as === "table") {
    const page = { entries: [entry], revision: Number(entry.object.metadata.resourceVersion) };
    return Buffer.from(JSON.stringify(tableOf(target, page, query, columns)));
  }
  return wanted.as === "metadata" ? Buffer.from(JSON.stringify(metadataOnly(entry))) : jsonFor(entry, target);
}

/** The JSON of the objects is reused; only the envelope is new. */
function listOf(page: ListPage, target: RequestTarget, { as }: ResponseFormat): Buffer {
  const partial = as === "metadata";
  const kind = partial ? "PartialObjectMetadataList" : target.kind.listKind;
  const apiVersion = partial ? "meta.k8s.io/v1" : apiVersionOf({ ...target.kind, version: target.version.name });
  const head = JSON.stringify({ kind, apiVersion, metadata: listMetadata(page) });
  const parts: Buffer[] = [Buffer.from(`${head.slice(0, -1)},"items":[`)];
  page.entries.forEach((entry, at) => {
    if (at > 0) parts.push(COMMA);
    parts.push(partial ? Buffer.from(JSON.stringify(metadataOnly(entry))) : jsonFor(entry, target));
  });
  return Buffer.concat([...parts, LIST_END]);
}
