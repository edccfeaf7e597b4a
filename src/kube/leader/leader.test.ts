import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Lease } from "../../api/core/lease.ts";
import { isKubeError, KubeError } from "../client/error.ts";
import { sleep } from "../../util/sleep.ts";
import { createLog } from "../log.ts";
import { LeaderElector, type LeaderOptions } from "./leader.ts";
import { MemoryLeases } from "../testing/memory-leases.ts";
import type { Takeover } from "./observed-lease.ts";

const log = createLog({ level: "silent" });
let server: MemoryLeases;
let ends: (() => Promise<unknown>)[];

beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 10, 15, 10, 30) });
  server = new MemoryLeases();
  ends = [];
});

afterEach(async () => {
  server.before = () => {};
  server.after = () => {};
  await Promise.all(ends.map((end) => end()));
  vi.useRealTimers();
});

interface Candidate {
  elector: LeaderElector;
  terms: Takeover[];
  /** Aborts when the term must end. */
  term: () => AbortSignal | undefined;
  stop: () => void;
  /** What run() came to; undefined when it simply ended. */
  outcome: Promise<unknown>;
}

function candidate(identity: string, options: Partial<LeaderOptions> & { work?: (signal: AbortSignal) => Promise<void> } = {}): Candidate {
  const { work = untilAborted, ...times } = options;
  const elector = new LeaderElector({
    client: server.client(),
    namespace: "plumbline-system",
    name: "controller",
    identity,
    log,
    ...times,
  });
  const stopping = new AbortController();
  const terms: Takeover[] = [];
  let term: AbortSignal | undefined;
  const outcome = elector
    .run(stopping.signal, {
      onStarted: (signal, takeover) => {
        terms.push(takeover);
        term = signal;
        return work(signal);
      },
    })
    .catch((error: unknown) => error);
  const stop = () => stopping.abort(new Error("stop"));
  ends.push(async () => {
    stop();
    await vi.advanceTimersByTimeAsync(20_000);
    await outcome;
  });
  return { elector, terms, term: () => term, stop, outcome };
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve());
  });
}

const seconds = (count: number) => vi.advanceTimersByTimeAsync(count * 1_000);
const lease = () => server.stored.get("controller");
const hang = () => new Promise<void>(() => {});
const foreign = (spec: Partial<Lease["spec"]>) =>
  server.put({
    metadata: { name: "controller", namespace: "plumbline-system" },
    spec: { holderIdentity: "other", leaseDurationSeconds: 15, leaseTransitions: 4, renewTime: "2026-11-15T10:30:00.000000Z", ...spec },
  });

describe("acquiring the Lease", () => {
  test("creates it if it is missing, and renews it", async () => {
    const one = candidate("one");
    await seconds(0);
    expect(one.terms).toEqual(["free"]);
    expect(lease()?.spec).toEqual({
      holderIdentity: one.elector.identity,
      leaseDurationSeconds: 15,
      acquireTime: "2026-11-15T10:30:00.000000Z",
      renewTime: "2026-11-15T10:30:00.000000Z",
      leaseTransitions: 0,
    });
    await seconds(60);
    expect(lease()?.spec.acquireTime).toBe("2026-11-15T10:30:00.000000Z");
    expect(lease()?.spec.leaseTransitions).toBe(0);
    expect(Date.parse(lease()?.spec.renewTime ?? "")).toBeGreaterThan(Date.UTC(2026, 10, 15, 10, 30, 50));
    expect(server.writes.length).toBeGreaterThan(20);
  });

  test("waits a full lease duration of its own observation, whatever renewTime says, and increments leaseTransitions", async () => {
    foreign({ renewTime: "2001-01-01T00:00:00.000000Z" });
    const one = candidate("one");
    await seconds(14.9);
    expect(one.terms).toEqual([]);
    await seconds(3);
    expect(one.terms).toEqual(["expired"]);
    expect(lease()?.spec.leaseTransitions).toBe(5);
  });

  test("acquires a released one at once", async () => {
    foreign({ holderIdentity: "", leaseDurationSeconds: 1 });
    const one = candidate("one");
    await seconds(0);
    expect(one.terms).toEqual(["released"]);
  });

  test("only one of three leads", async () => {
    const all = ["one", "two", "three"].map((name) => candidate(name));
    await seconds(60);
    expect(all.filter(({ elector }) => elector.isLeader)).toHaveLength(1);
    expect(all.flatMap(({ terms }) => terms)).toEqual(["free"]);
  });

  test("survives an API server that does not answer", async () => {
    server.before = hang;
    const one = candidate("one");
    await seconds(60);
    server.before = () => {};
    await seconds(10);
    expect(one.terms).toEqual(["free"]);
  });

  test("keeps waiting for the former holder of a deleted Lease", async () => {
    foreign({});
    const one = candidate("one");
    await seconds(5);
    server.stored.delete("controller");
    await seconds(9);
    expect(one.terms).toEqual([]);
    await seconds(4);
    expect(one.terms).toEqual(["expired"]);
  });

  test("with a lost response is detected as successful", async () => {
    foreign({});
    const one = candidate("one");
    await seconds(14);
    server.after = (verb) => (verb === "replace" ? hang() : undefined);
    await seconds(5);
    expect(one.terms).toEqual([]);
    expect(lease()?.spec.holderIdentity).toBe(one.elector.identity);
    server.after = () => {};
    await seconds(10);
    expect(one.terms).toEqual(["expired"]);
    expect(lease()?.spec.leaseTransitions).toBe(5);
  });
});

describe("the fence", () => {
  test("is closed before the Lease is won", () => {
    foreign({});
    const one = candidate("one");
    expect(() => one.elector.assertLeading()).toThrow(expect.objectContaining({ code: "Fenced" }));
  });

  test("closes when no renewal succeeded for the renew deadline; then the term ends and run fails", async () => {
    const one = candidate("one");
    await seconds(20);
    server.before = hang;
    await seconds(7);
    one.elector.assertLeading();
    expect(one.term()?.aborted).toBe(false);
    await seconds(3);
    expect(() => one.elector.assertLeading()).toThrow(expect.objectContaining({ code: "Fenced" }));
    expect(one.term()?.aborted).toBe(true);
    expect(isKubeError(await one.outcome, "Fenced")).toBe(true);
  });

  test("counts from when a renewal was started, not from when it was answered", async () => {
    const one = candidate("one");
    await seconds(0);
    // The first renewal starts within 2.4 s and is answered 4.5 s later; then the server is gone.
    server.after = async () => {
      server.before = hang;
      await sleep(4_500, new AbortController().signal);
    };
    await seconds(7);
    one.elector.assertLeading();
    await seconds(5.5);
    expect(one.elector.isLeader).toBe(false);
  });

  test("closes at once when another holder is observed", async () => {
    const one = candidate("one");
    await seconds(5);
    foreign({ holderIdentity: "two" });
    await seconds(2.5);
    expect(one.elector.isLeader).toBe(false);
    expect(await one.outcome).toMatchObject({ code: "Fenced", message: expect.stringContaining("was acquired by two") as string });
    expect(lease()?.spec.holderIdentity).toBe("two");
  });

  test("blocks renewals that are too late, so that a resumed leader does not take the Lease back", async () => {
    const one = candidate("one");
    await seconds(5);
    const before = server.writes.length;
    // Frozen for a minute between deciding to renew and sending it.
    server.before = () => {
      vi.spyOn(performance, "now").mockReturnValue(60_000);
    };
    await seconds(5);
    vi.restoreAllMocks();
    expect(server.writes).toHaveLength(before);
    expect(isKubeError(await one.outcome, "Fenced")).toBe(true);
  });

  test("is closed after a suspend during which only the wall clock advanced", async () => {
    const one = candidate("one");
    await seconds(5);
    const before = server.writes.length;
    // The monotonic clock and with it all timers stand still.
    vi.setSystemTime(Date.now() + 60_000);
    expect(() => one.elector.assertLeading()).toThrow("did not renew it in time");
    await seconds(5);
    expect(server.writes).toHaveLength(before);
    expect(isKubeError(await one.outcome, "Fenced")).toBe(true);
  });

  test("stays closed when the response to a renewal arrives after a suspend", async () => {
    const one = candidate("one");
    await seconds(5);
    server.after = () => void vi.setSystemTime(Date.now() + 60_000);
    await seconds(2.5);
    expect(one.elector.isLeader).toBe(false);
  });

  test("stays open when the clock is set back, and a clock set forward lets no other acquire the Lease early", async () => {
    const one = candidate("one");
    await seconds(5);
    const two = candidate("two");
    vi.setSystemTime(Date.now() - 3_600_000);
    await seconds(30);
    one.elector.assertLeading();
    expect(one.terms).toEqual(["free"]);
    server.before = hang;
    vi.setSystemTime(Date.now() + 3_600_000);
    server.before = () => {};
    await seconds(1);
    expect(two.terms).toEqual([]);
  });

  test("stays open when the response to a renewal is lost, and when the Lease is deleted", async () => {
    const one = candidate("one");
    await seconds(5);
    let lost = 0;
    server.after = (verb) => {
      if (verb !== "replace" || lost > 0) return undefined;
      lost += 1;
      return hang();
    };
    await seconds(20);
    expect(lost).toBe(1);
    server.stored.delete("controller");
    await seconds(20);
    one.elector.assertLeading();
    expect(lease()?.spec.holderIdentity).toBe(one.elector.identity);
    expect(one.terms).toEqual(["free"]);
  });
});

describe("stopping", () => {
  test("releases the Lease, and the next leader takes it without waiting for it to expire", async () => {
    const one = candidate("one");
    await seconds(5);
    const two = candidate("two");
    await seconds(5);
    one.stop();
    await seconds(0);
    expect(lease()?.spec).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1, renewTime: "2026-11-15T10:30:10.000000Z" });
    expect(await one.outcome).toBeUndefined();
    await seconds(3);
    expect(two.terms).toEqual(["released"]);
    expect(lease()?.spec.leaseTransitions).toBe(1);
  });

  test("renews until the work has ended, and only then closes the fence and releases", async () => {
    const work = Promise.withResolvers<void>();
    const one = candidate("one", { work: () => work.promise });
    await seconds(5);
    one.stop();
    await seconds(30);
    one.elector.assertLeading();
    expect(lease()?.spec.holderIdentity).toBe(one.elector.identity);
    work.resolve();
    await seconds(0);
    expect(one.elector.isLeader).toBe(false);
    expect(lease()?.spec.holderIdentity).toBe("");
  });

  test("keeps the fence closed when the abandoned renewal is answered after the release", async () => {
    const answer = Promise.withResolvers<void>();
    server.endsAborted = false;
    const one = candidate("one");
    await seconds(1);
    // The renewal reaches the server, and its answer comes after the term has ended.
    server.after = (verb) => {
      if (verb !== "replace") return undefined;
      server.after = () => {};
      return answer.promise;
    };
    await seconds(2);
    one.stop();
    expect(await one.outcome).toBeUndefined();
    expect(lease()?.spec.holderIdentity).toBe("");
    answer.resolve();
    await seconds(0);
    expect(one.elector.isLeader).toBe(false);
  });

  test("after a failure of the work releases the Lease too, and reports the failure", async () => {
    const one = candidate("one", { work: () => Promise.reject(new Error("no port left")) });
    await seconds(0);
    expect(await one.outcome).toEqual(new Error("no port left"));
    expect(lease()?.spec.holderIdentity).toBe("");
  });

  test("does not change a Lease that another holds by now", async () => {
    const one = candidate("one");
    await seconds(5);
    foreign({ holderIdentity: "two" });
    one.stop();
    await seconds(1);
    expect(await one.outcome).toBeUndefined();
    expect(lease()?.spec.holderIdentity).toBe("two");
  });

  test("before the election ends at once", async () => {
    foreign({});
    const one = candidate("one");
    await seconds(1);
    one.stop();
    expect(await one.outcome).toBeUndefined();
    expect(server.writes).toEqual([]);
  });
});

async function waitsForOldWrites(elector: LeaderElector): Promise<{ early: boolean }> {
  let done = false;
  const waiting = elector.waitForOldWrites(new AbortController().signal).then(() => {
    done = true;
  });
  await seconds(29);
  const early = done;
  await seconds(2);
  await waiting;
  return { early };
}

describe("the wait for writes of the previous leader", () => {
  test("takes one request deadline after an expired Lease, and no time after a released one or none", async () => {
    const free = candidate("one");
    await seconds(0);
    expect(await waitsForOldWrites(free.elector)).toEqual({ early: true });
    free.stop();
    await seconds(1);

    foreign({ holderIdentity: "other" });
    const next = candidate("two");
    while (next.terms.length === 0) await seconds(0.1);
    expect(next.terms).toEqual(["expired"]);
    expect(await waitsForOldWrites(next.elector)).toEqual({ early: false });
  });

  test("takes one request deadline also after an own earlier term, whose writes may still be in flight", async () => {
    const first = candidate("one");
    await seconds(1);
    server.before = () => {
      throw new KubeError("Unreachable", "cut off");
    };
    await seconds(11);
    expect(isKubeError(await first.outcome, "Fenced")).toBe(true);
    server.before = () => {};

    const terms: Takeover[] = [];
    const stopping = new AbortController();
    const again = first.elector.run(stopping.signal, {
      onStarted: (signal, takeover) => {
        terms.push(takeover);
        return untilAborted(signal);
      },
    });
    while (terms.length === 0) await seconds(0.1);
    expect(terms).toEqual(["expired"]);
    expect(await waitsForOldWrites(first.elector)).toEqual({ early: false });
    stopping.abort();
    await seconds(1);
    await again;
  });

  test("requires leadership", async () => {
    foreign({});
    const one = candidate("one");
    await expect(one.elector.waitForOldWrites(new AbortController().signal)).rejects.toMatchObject({ code: "Fenced" });
  });
});

test("timings that could allow two leaders are rejected", () => {
  expect(() => candidate("one", { durationMs: 10_000, renewMs: 10_000 })).toThrow(RangeError);
});
