import { Event, type ObjectReference } from "../../api/core/event.ts";
import type { KubeObject } from "../../api/kind.ts";
import { backoffMs } from "../../util/backoff.ts";
import type { KubeClient } from "../client/client.ts";
import { isKubeError } from "../client/error.ts";
import { sleep } from "../../util/sleep.ts";
import type { ResourceClient } from "../client/resource-client.ts";
import type { Runnable } from "../controller/controller.ts";
import { aborted, finishesWithin } from "../../util/deadline.ts";
import { EventCorrelator, type EventText, eventOf, recurrenceOf, type Series } from "./event-correlator.ts";
import type { Log } from "../log.ts";
import { events } from "../metrics.ts";

export interface EventRecorderOptions {
  client: KubeClient;
  /** The source component, shown by kubectl describe as From: `plumbline-controller`. */
  component: string;
  /** The pod or node name. */
  instance: string;
  log: Log;
}

/** The limit of Events that wait to be written; more are dropped. */
const WAITING = 1000;
const ATTEMPTS = 12;
const RETRY = { minMs: 250, maxMs: 30_000 };
const FLUSH_MS = 3_000;

/**
 * Records Events without ever failing or delaying a reconcile. Record transitions only; a state that every reconcile sees is a condition.
 */
export class EventRecorder implements Runnable {
  readonly name = "events";
  readonly #events: ResourceClient<Event>;
  readonly #options: EventRecorderOptions;
  readonly #log: Log;
  readonly #correlator = new EventCorrelator();
  readonly #waiting = new Set<Series>();
  /** Aborts running writes; set only while it runs. */
  #life: AbortController | undefined;
  #writing: Promise<void> | undefined;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#events = options.client.resource(Event);
    this.#log = options.log;
  }

  /** Events recorded before it runs, or between two terms of a leader, wait. */
  record(object: KubeObject, text: EventText): void {
    const series = this.#correlator.correlate(referenceTo(object), text, new Date());
    if (!series || (this.#waiting.size >= WAITING && !this.#waiting.has(series))) {
      events.inc({ outcome: "dropped" });
      return;
    }
    this.#waiting.add(series);
    this.#write();
  }

  async run(signal: AbortSignal): Promise<void> {
    const life = new AbortController();
    this.#life = life;
    this.#write();
    await aborted(signal);
    await finishesWithin(FLUSH_MS, this.#writing ?? Promise.resolve());
    this.#life = undefined;
    life.abort();
    await this.#writing;
    if (this.#waiting.size > 0) this.#log.info({ events: this.#waiting.size }, "events not written before shutdown");
    events.inc({ outcome: "dropped" }, this.#waiting.size);
    this.#waiting.clear();
  }

  #write(): void {
    if (this.#life) this.#writing ??= this.#writeAll(this.#life.signal);
  }

  async #writeAll(signal: AbortSignal): Promise<void> {
    // Events recorded together are written together; iterating over a set includes what is added meanwhile.
    await Promise.resolve();
    for (const series of this.#waiting) {
      this.#waiting.delete(series);
      try {
        events.inc({ outcome: await this.#writeWithPatience(series, signal) });
      } catch (error) {
        if (signal.aborted) {
          this.#waiting.add(series);
          break;
        }
        events.inc({ outcome: "failed" });
        this.#log.debug({ error, reason: series.reason, object: series.object }, "event not written");
      }
    }
    // In the same tick as the last check of the set, so that nothing is added to a finished round.
    this.#writing = undefined;
  }

  /** The server may be unreachable for a while. */
  async #writeWithPatience(series: Series, signal: AbortSignal): Promise<"created" | "counted"> {
    for (let failures = 1; ; failures++) {
      try {
        return await this.#writeOnce(series, signal);
      } catch (error) {
        const passing = isKubeError(error, "Unreachable", "Timeout", "ServerError", "TooManyRequests");
        if (!passing || failures === ATTEMPTS) throw error;
        await sleep(backoffMs(failures, RETRY), signal);
      }
    }
  }

  async #writeOnce(series: Series, signal: AbortSignal): Promise<"created" | "counted"> {
    if (series.stored) {
      try {
        await this.#events.patch(series, recurrenceOf(series), { signal });
        return "counted";
      } catch (error) {
        // The server deletes Events after an hour.
        if (!isKubeError(error, "NotFound")) throw error;
      }
    }
    try {
      await this.#events.create(eventOf(series, this.#options.component, this.#options.instance), { signal });
    } catch (error) {
      // The name is random: it exists because of an attempt whose response was lost.
      if (!isKubeError(error, "AlreadyExists")) throw error;
    }
    series.stored = true;
    return "created";
  }
}

function referenceTo({ apiVersion, kind, metadata }: KubeObject): ObjectReference {
  const { name, namespace, uid, resourceVersion } = metadata;
  return JSON.parse(JSON.stringify({ apiVersion, kind, name, namespace, uid, resourceVersion })) as ObjectReference;
}
