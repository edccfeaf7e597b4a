import { randomBytes } from "node:crypto";
import type { Event, ObjectReference } from "../../api/core/event.ts";
import { metaTime } from "../../api/time.ts";

export interface EventText {
  type: "Normal" | "Warning";
  reason: string;
  message: string;
}

export interface Series {
  readonly name: string;
  readonly namespace: string;
  readonly object: ObjectReference;
  readonly type: EventText["type"];
  readonly reason: string;
  readonly first: Date;
  message: string;
  last: Date;
  count: number;
  stored: boolean;
}

// The limits of client-go's EventCorrelator.
const REMEMBERED = 4096;
/** From so many different messages on they are combined. */
const MANY = 10;
const SIMILAR_WITHIN_MS = 600_000;
const BURST = 25;
const REFILL_MS = 300_000;

const LONGEST_MESSAGE = 1024;
const LONGEST_NAME = 253;

/** As in client-go: a repetition increments the count, many similar ones become one, spam is dropped. */
export class EventCorrelator {
  readonly #series = new Recent<Series>();
  readonly #similar = new Recent<{ messages: Set<string>; last: number }>();
  readonly #allowances = new Recent<{ left: number; at: number }>();

  correlate(object: ObjectReference, text: EventText, now: Date): Series | undefined {
    const about = JSON.stringify([object.apiVersion, object.kind, object.namespace, object.name, object.uid]);
    const similar = JSON.stringify([about, text.type, text.reason]);
    const many = this.#isOneOfMany(similar, text.message, now.getTime());
    const message = truncated(many ? `(combined from similar events): ${text.message}` : text.message);
    const series = this.#count(many ? similar : JSON.stringify([similar, text.message]), object, { ...text, message }, now);
    return this.#allows(about, now.getTime()) ? series : undefined;
  }

  #isOneOfMany(similar: string, message: string, now: number): boolean {
    let group = this.#similar.get(similar);
    if (!group || now - group.last > SIMILAR_WITHIN_MS) group = { messages: new Set(), last: now };
    this.#similar.set(similar, group);
    group.last = now;
    if (group.messages.has(message)) return false;
    if (group.messages.size + 1 >= MANY) return true;
    group.messages.add(message);
    return false;
  }

  #count(key: string, object: ObjectReference, { type, reason, message }: EventText, now: Date): Series {
    const known = this.#series.get(key);
    if (known) {
      known.message = message;
      known.last = now;
      known.count++;
      return known;
    }
    const namespace = object.namespace ?? "default";
    const series = { name: eventName(object), namespace, object, type, reason, message, first: now, last: now, count: 1, stored: false };
    this.#series.set(key, series);
    return series;
  }

  #allows(about: string, now: number): boolean {
    const bucket = this.#allowances.get(about) ?? { left: BURST, at: now };
    this.#allowances.set(about, bucket);
    const refill = Math.floor((now - bucket.at) / REFILL_MS);
    if (refill > 0) {
      bucket.left = Math.min(BURST, bucket.left + refill);
      bucket.at += refill * REFILL_MS;
    }
    if (bucket.left === 0) return false;
    bucket.left--;
    return true;
  }
}

export function eventOf(series: Series, component: string, instance: string): Event {
  const { name, namespace, object, type, reason, message, count } = series;
  return {
    metadata: { name, namespace },
    involvedObject: object,
    type,
    reason,
    message,
    count,
    firstTimestamp: metaTime(series.first),
    lastTimestamp: metaTime(series.last),
    source: { component },
    reportingComponent: component,
    reportingInstance: instance,
  };
}

export function recurrenceOf({ message, count, last }: Series): Partial<Event> {
  return { message, count, lastTimestamp: metaTime(last) };
}

function truncated(message: string): string {
  return message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE - 1)}…` : message;
}

/** Unique, and valid whatever the object's name is. */
function eventName(object: ObjectReference): string {
  const unique = randomBytes(8).toString("hex");
  const name = (object.name ?? "").toLowerCase().replaceAll(/[^a-z0-9.-]/g, "-");
  return `${name.slice(0, LONGEST_NAME - unique.length - 1).replace(/[.-]+$/, "")}.${unique}`;
}

class Recent<V> {
  readonly #values = new Map<string, V>();

  get(key: string): V | undefined {
    const value = this.#values.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: string, value: V): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    for (const oldest of this.#values.keys()) {
      if (this.#values.size <= REMEMBERED) break;
      this.#values.delete(oldest);
    }
  }
}
