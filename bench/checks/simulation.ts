import { isDeepStrictEqual } from "node:util";
import { PodNetworkConnectivityCheck } from "../../src/api/connectivity/pod-network-connectivity-check.ts";
import { parseKey } from "../../src/api/kind.ts";
import { LIMITS } from "../../src/connectivity/checker/add-checks.ts";
import { Checker } from "../../src/connectivity/checker/checker.ts";
import { STATUS_RULES } from "../../src/connectivity/checker/status-rules.ts";
import type { Change } from "../../src/kube/cache/cache.ts";
import { createLog } from "../../src/kube/log.ts";
import { ApiModel } from "../../src/kube/testing/api-model.ts";
import { WriteBudget } from "../../src/kube/status/budget.ts";
import { StatusWriter } from "../../src/kube/status/status-writer.ts";
import { LiteralWriter } from "./naive-writer.ts";
import { SimulatedTime } from "./simulated-time.ts";
import { seeded, World } from "./simulated-network.ts";

type Check = PodNetworkConnectivityCheck;

export interface Simulated {
  writes: number;
  peerWrites: number;
  /** Requests of ours that are no writes of a status. */
  others: number;
  /** Checks whose status at the end is not the one that the peer wrote. */
  different: string[];
  events: number;
  /** From the end of an attempt that begins or ends an outage until the API shows it. */
  delaysMs: number[];
}

const MINUTE = 60_000;
const [seed = 0, checks = 0, hours = 0] = process.argv.slice(2).map(Number);
const random = seeded(seed);
Math.random = random;
const time = new SimulatedTime(new Date("2026-11-16T08:00:00Z"));

/** Breakages begin when the objects have been there for a second. */
const world = new World({ start: time.now + 1_000, checks, hours }, random);
const api = new ApiModel<Check>();
api.latencyMs = 5;
const keys = Array.from({ length: checks }, (_, check) => `shop/check-${check}`);
for (const [check, key] of keys.entries()) {
  const metadata = { ...parseKey(key), generation: 1 };
  api.add({ metadata, spec: { sourcePod: "p1", targetEndpoint: world.targetOf(check) } });
}
await time.pass(1_000);

const literal = new LiteralWriter();
const turnedAt = new Map<string, number>();
const delaysMs: number[] = [];
let events = 0;

api.cache.subscribe(({ object: { metadata, status } }) => {
  const { uid = "" } = metadata;
  const at = turnedAt.get(uid);
  if (at === undefined) return;
  const [newest] = literal.status(uid).outages ?? [];
  if (status?.outages?.[0]?.start !== newest?.start || status?.outages?.[0]?.end !== newest?.end) return;
  delaysMs.push(time.now - at);
  turnedAt.delete(uid);
});

const log = createLog({ level: "warn" });
const writer = new StatusWriter<Check>({
  kind: PodNetworkConnectivityCheck,
  client: { resource: () => api.resource() },
  cache: api.cache,
  budget: new WriteBudget(LIMITS),
  log,
  ...STATUS_RULES,
});
const source = new Checker({
  checks: { ...api.cache, subscribe },
  targetOf: ({ spec }) => spec.targetEndpoint,
  writer,
  log,
  claimant: { name: "p1", started: "2026-11-16T08:00:00Z" },
  events: { record: () => (events += 1) },
  // Nothing is kept on a disk here; but this is where every attempt comes by.
  journal: {
    append: async (uid, attempt) => {
      if (literal.append(uid, attempt) && !turnedAt.has(uid)) turnedAt.set(uid, time.now);
      return false;
    },
    snapshot: async () => false,
    recordEvents: async () => false,
    forget: async () => false,
  },
  recovered: new Map(),
  allowed: [],
  probe: (target, seq) => world.attempt(target, seq),
});

const [stop, stopWriting] = [new AbortController(), new AbortController()];
const sourceEnded = source.run(stop.signal);
const writerEnded = writer.run(stopWriting.signal);
await time.pass(hours * 60 * MINUTE);
const [requests, writesOfThePeer] = [api.take(), literal.writes];

// Nothing is tried any more. What the API is behind with comes in its turn, and is not counted.
stop.abort();
await time.pass(20 * MINUTE);
await sourceEnded;
stopWriting.abort();
await time.pass(MINUTE);
await writerEnded;

const isStatusWrite = (request: string) => request.startsWith("patchStatus ");
const simulated: Simulated = {
  writes: requests.filter(isStatusWrite).length,
  peerWrites: writesOfThePeer,
  others: requests.filter((request) => !isStatusWrite(request)).length,
  different: keys.filter((key) => !isSame(api.object(key))),
  events,
  delaysMs,
};
process.send?.(simulated);

function isSame(check: Check | undefined): boolean {
  const { conditions = [], successes, failures, outages } = check?.status ?? {};
  const lists = { ...(successes && { successes }), ...(failures && { failures }), ...(outages && { outages }) };
  const reported = { ...lists, conditions: conditions.map(({ observedGeneration: _, ...condition }) => condition) };
  return isDeepStrictEqual(reported, literal.status(check?.metadata.uid ?? ""));
}

/** As a cache does: first what is there. */
function subscribe(listener: (change: Change<Check>) => void): () => void {
  for (const object of keys.map((key) => api.cache.get(key))) if (object) listener({ type: "added", object, initial: true });
  return api.cache.subscribe(listener);
}
