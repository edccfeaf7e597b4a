import { describe, expect, test } from "vitest";
import type { Condition } from "../../api/kind.ts";
import type { VolumeReplication } from "../observe/external-kinds.ts";
import { type CsiAddonsVersion, CsiAddonsQueue, OBEDIENT, reconcile, rejected, type FakeDriver } from "./csi-addons.ts";
import { condition, NOW, volume, VOLUME_CONDITIONS } from "./fixtures.ts";

type Requested = VolumeReplication["spec"]["replicationState"];
type State = NonNullable<VolumeReplication["status"]>["state"];

const ALL: readonly CsiAddonsVersion[] = ["0.12", "0.13", "0.14"];
const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);

const withForce = (call: string, force: boolean) => (force ? `${call} force` : call);

/** The calls in their order, as `promote force`. */
function recorded(answers: Partial<FakeDriver>): { driver: FakeDriver; calls: string[] } {
  const calls: string[] = [];
  const { enable, promote, demote, resync, info } = { ...OBEDIENT, ...answers };
  const called = <T>(call: string, answer: T): T => {
    calls.push(call);
    return answer;
  };
  return {
    calls,
    driver: {
      enable: () => called("enable", enable()),
      promote: (force) => called(withForce("promote", force), promote(force)),
      demote: () => called("demote", demote()),
      resync: (force) => called(withForce("resync", force), resync(force)),
      info: () => called("info", info()),
    },
  };
}

/** Asked for something new at generation 2 while its status is of generation 1. */
function requested(replicationState: Requested, state: State, rest: { autoResync?: boolean; conditions?: Condition[] } = {}) {
  const replication = volume("data", replicationState, {
    metadata: { generation: 2 },
    conditions: rest.conditions ?? [...VOLUME_CONDITIONS[state === "Primary" ? "promoted" : "inSync"]],
    status: { ...(state && { state }), lastSyncTime: "2026-11-16T11:58:00Z" },
  });
  return { ...replication, spec: { ...replication.spec, ...(rest.autoResync !== undefined && { autoResync: rest.autoResync }) } };
}

/** `Completed True Promoted 2`, the last being the generation. */
function conditionsOf(status: VolumeReplication["status"]): string[] {
  return (status?.conditions ?? []).map(
    ({ type, status: is, reason, observedGeneration }) => `${type} ${is} ${reason} ${observedGeneration}`,
  );
}

const plain = (conditions: readonly Condition[] = []) => conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`);

function reconcileOnce(replication: VolumeReplication, answers: Partial<FakeDriver>, version: CsiAddonsVersion, missing?: string) {
  const { driver, calls } = recorded(answers);
  const { status, next } = reconcile(replication, { driver, version, now: NOW, ...(missing !== undefined && { missing }) });
  return { calls: calls.join(", "), state: status?.state, conditions: conditionsOf(status), next, status };
}

const promoted = ["Completed True Promoted 2", "Degraded False Healthy 2", "Resyncing False NotResyncing 2"];
const demoted = ["Completed True Demoted 2", "Degraded True VolumeDegraded 2", "Resyncing False NotResyncing 2"];
const old = ["Completed True Promoted 1", "Degraded False Healthy 1", "Resyncing False NotResyncing 1"];
const replicating = "Replicating True Replicating 2";
const failedTo = (what: string, resyncing = "NotResyncing") => [
  `Completed False FailedTo${what} 2`,
  "Degraded True Error 2",
  `Resyncing False ${resyncing} 2`,
];
const INTERNAL = rejected("Internal", "the storage is away");

interface Row {
  readonly versions?: readonly CsiAddonsVersion[];
  readonly replication: VolumeReplication;
  readonly answers?: Partial<FakeDriver>;
  readonly missing?: string;
  readonly calls: string;
  /** Left out: no status is written. */
  readonly written?: { readonly state: State; readonly conditions: readonly string[] };
  readonly next: string;
}

function check(name: string, { versions = ALL, replication, answers = {}, missing, calls, written, next }: Row): void {
  test.each(versions)(`${name} (%s)`, (version) => {
    const { calls: made, state, conditions, status, next: again } = reconcileOnce(replication, answers, version, missing);
    const published = status && { state, conditions, observedGeneration: status.observedGeneration };
    expect({ made, published, again }).toEqual({ made: calls, published: written && { ...written, observedGeneration: 2 }, again: next });
  });
}

function checkAll(rows: Readonly<Record<string, Row>>): void {
  for (const [name, row] of Object.entries(rows)) check(name, row);
}

describe("facts 2.1: the calls of one reconcile, its writes and its requeue", () => {
  const fresh = requested("primary", "Secondary");
  checkAll({
    "primary, not Primary: enable and promote": {
      versions: ["0.13", "0.14"],
      replication: fresh,
      calls: "enable, promote, info",
      written: { state: "Primary", conditions: [...promoted, replicating] },
      next: "for its info",
    },
    "primary, not Primary: without condition Replicating": {
      versions: ["0.12"],
      replication: fresh,
      calls: "enable, promote, info",
      written: { state: "Primary", conditions: promoted },
      next: "for its info",
    },
    "primary, and the driver sees a reason against it: asked again with force": {
      versions: ["0.14"],
      replication: fresh,
      answers: { promote: (force) => (force ? {} : rejected("FailedPrecondition")) },
      calls: "enable, promote, promote force, info",
      written: { state: "Primary", conditions: [...promoted, replicating] },
      next: "for its info",
    },
    "primary and Primary: no call but info, conditions of now": {
      versions: ["0.13", "0.14"],
      replication: requested("primary", "Primary"),
      calls: "info",
      written: { state: "Primary", conditions: [...promoted, replicating] },
      next: "for its info",
    },
    "primary and Primary: no call but info, conditions as they were": {
      versions: ["0.12"],
      replication: requested("primary", "Primary"),
      calls: "info",
      written: { state: "Primary", conditions: old },
      next: "for its info",
    },
    "primary and Primary, and info fails: Replicating is Unknown": {
      versions: ["0.14"],
      replication: requested("primary", "Primary"),
      answers: { info: () => INTERNAL },
      calls: "info",
      written: { state: "Primary", conditions: [...promoted, "Replicating Unknown Unknown 2"] },
      next: "for its info",
    },
    "primary and Primary, and info fails: nothing is written": {
      versions: ["0.12", "0.13"],
      replication: requested("primary", "Primary"),
      answers: { info: () => INTERNAL },
      calls: "info",
      next: "with backoff",
    },
    "primary, and the driver knows no info call: it does not come back": {
      versions: ["0.13", "0.14"],
      replication: requested("primary", "Primary"),
      answers: { info: () => rejected("Unimplemented") },
      calls: "info",
      written: { state: "Primary", conditions: promoted },
      next: "nothing",
    },
    "secondary, not Secondary: demote only, again after 15 s": {
      replication: requested("secondary", "Primary"),
      calls: "demote",
      written: { state: "Secondary", conditions: demoted },
      next: "after 15 s",
    },
    "secondary and Secondary, not ready: again after 30 s": {
      replication: requested("secondary", "Secondary"),
      answers: { resync: () => ({ ready: false }) },
      calls: "demote, resync",
      written: { state: "Secondary", conditions: [...demoted.slice(0, 2), "Resyncing True ResyncTriggered 2"] },
      next: "after 30 s",
    },
    "secondary and Secondary, ready: in sync, and nothing starts another look": {
      replication: requested("secondary", "Secondary"),
      calls: "demote, resync",
      written: {
        state: "Secondary",
        conditions: ["Completed True Demoted 2", "Degraded False Healthy 2", "Resyncing False NotResyncing 2"],
      },
      next: "nothing",
    },
    "secondary and Secondary with autoResync: resync with force": {
      replication: requested("secondary", "Secondary", { autoResync: true }),
      answers: { resync: () => ({ ready: false }) },
      calls: "demote, resync force",
      written: { state: "Secondary", conditions: [...demoted.slice(0, 2), "Resyncing True ResyncTriggered 2"] },
      next: "after 30 s",
    },
    "resync, not ready: no demotion, the state stays": {
      replication: requested("resync", "Primary"),
      answers: { resync: () => ({ ready: false }) },
      calls: "resync force",
      written: { state: "Primary", conditions: [...demoted.slice(0, 2), "Resyncing True ResyncTriggered 2"] },
      next: "after 30 s",
    },
    "resync, ready: Secondary": {
      replication: requested("resync", "Unknown"),
      calls: "resync force",
      written: {
        state: "Secondary",
        conditions: ["Completed True Demoted 2", "Degraded False Healthy 2", "Resyncing False NotResyncing 2"],
      },
      next: "nothing",
    },
    "a failure of a Secondary keeps the state and is tried again after 15 s": {
      replication: requested("secondary", "Secondary"),
      answers: { demote: () => INTERNAL },
      calls: "demote",
      written: { state: "Secondary", conditions: failedTo("Demote") },
      next: "after 15 s",
    },
    "a failure of a Primary keeps the state and backs off": {
      versions: ["0.12"],
      replication: requested("secondary", "Primary"),
      answers: { demote: () => INTERNAL },
      calls: "demote",
      written: { state: "Primary", conditions: failedTo("Demote") },
      next: "with backoff",
    },
  });

  describe("a reconcile is triggered by", () => {
    const replication = requested("secondary", "Secondary");
    const after = (...nexts: Parameters<CsiAddonsQueue["handled"]>[1][]) => {
      const queue = new CsiAddonsQueue();
      for (const next of nexts) queue.handled(replication, next, NOW);
      return queue;
    };

    const tries = (count: number) => after(...Array.from({ length: count }, () => "with backoff" as const));

    test.each([
      ["after 15 s", 14, 15],
      ["after 30 s", 29, 30],
      ["for its info", 3_599, 3_600],
    ] as const)("the requeue %s", (next, before, then) => {
      expect([before, then].map((seconds) => after(next).isDue(replication, later(seconds)))).toEqual([false, true]);
    });

    test("an error, with backoff from 5 ms to 1000 s", () => {
      expect([0.004, 0.005].map((seconds) => tries(1).isDue(replication, later(seconds)))).toEqual([false, true]);
      expect([0.019, 0.02].map((seconds) => tries(3).isDue(replication, later(seconds)))).toEqual([false, true]);
      expect([999, 1_000].map((seconds) => tries(40).isDue(replication, later(seconds)))).toEqual([false, true]);
    });

    test("nothing after in sync, until the generation changes or the controller restarts", () => {
      const queue = after("nothing");
      const year = later(365 * 86_400);
      const annotated = { ...replication, metadata: { ...replication.metadata, resourceVersion: "7", annotations: { touched: "yes" } } };
      const written = { ...replication, status: { ...replication.status, message: "edited" } };
      expect([replication, annotated, written].map((one) => queue.isDue(one, year))).toEqual([false, false, false]);
      expect(queue.isDue({ ...replication, metadata: { ...replication.metadata, generation: 3 } }, NOW)).toBe(true);
      queue.restart();
      expect(queue.isDue(replication, NOW)).toBe(true);
    });
  });
});

describe("facts 2.2: conditions", () => {
  checkAll({
    "a failed promotion sets Validated=True": {
      replication: requested("primary", "Secondary"),
      answers: { promote: () => INTERNAL },
      calls: "enable, promote",
      written: { state: "Secondary", conditions: [...failedTo("Promote"), "Validated True PrerequisiteMet 2"] },
      next: "after 15 s",
    },
    "a prerequisite that is not met sets Validated=False": {
      replication: requested("primary", "Secondary"),
      answers: { enable: () => rejected("FailedPrecondition") },
      calls: "enable",
      written: { state: "Secondary", conditions: [...failedTo("Promote"), "Validated False PrerequisiteNotMet 2"] },
      next: "with backoff",
    },
    "a missing claim of a volume to be promoted is FailedToPromote": {
      replication: requested("primary", "Secondary"),
      missing: "claim data not found",
      calls: "",
      written: { state: "Secondary", conditions: [...failedTo("Promote"), "Validated True PrerequisiteMet 2"] },
      next: "with backoff",
    },
    "a missing class of a volume to be demoted is FailedToDemote": {
      replication: requested("secondary", "Primary"),
      missing: "class not found",
      calls: "",
      written: { state: "Primary", conditions: failedTo("Demote") },
      next: "with backoff",
    },
    "a missing group of a volume to be resynced is FailedToResync": {
      replication: requested("resync", "Secondary"),
      missing: "group not found",
      calls: "",
      written: { state: "Secondary", conditions: failedTo("Resync", "FailedToResync") },
      next: "with backoff",
    },
    "a resync that fails": {
      replication: requested("secondary", "Secondary"),
      answers: { resync: () => INTERNAL },
      calls: "demote, resync",
      written: { state: "Secondary", conditions: failedTo("Resync", "FailedToResync") },
      next: "after 15 s",
    },
    "a primary that the driver calls degraded is NotReplicating": {
      versions: ["0.13", "0.14"],
      replication: requested("primary", "Primary"),
      answers: { info: () => ({ replicates: false }) },
      calls: "info",
      written: { state: "Primary", conditions: [...promoted, "Replicating False NotReplicating 2"] },
      next: "for its info",
    },
    "a demotion removes Replicating": {
      versions: ["0.14"],
      replication: requested("secondary", "Primary", { conditions: [condition("Replicating", "True", "Replicating")] }),
      calls: "demote",
      written: { state: "Secondary", conditions: demoted },
      next: "after 15 s",
    },
    "a demotion leaves Replicating as it was": {
      versions: ["0.13"],
      replication: requested("secondary", "Primary", { conditions: [condition("Replicating", "True", "Replicating")] }),
      calls: "demote",
      written: { state: "Secondary", conditions: ["Replicating True Replicating 1", ...demoted] },
      next: "after 15 s",
    },
    "a success neither sets nor clears Validated": {
      versions: ["0.12"],
      replication: requested("primary", "Secondary", { conditions: [condition("Validated", "False", "PrerequisiteNotMet", 2)] }),
      calls: "enable, promote, info",
      written: { state: "Primary", conditions: ["Validated False PrerequisiteNotMet 2", ...promoted] },
      next: "for its info",
    },
  });

  test("a forced promotion is not visible in the conditions", () => {
    const forced = reconcileOnce(
      requested("primary", "Secondary"),
      { promote: (force) => (force ? {} : rejected("FailedPrecondition")) },
      "0.14",
    );
    const unforced = reconcileOnce(requested("primary", "Secondary"), {}, "0.14");
    expect(forced.status).toEqual(unforced.status);
  });

  test("the messages contain the error of the driver", () => {
    const { status } = reconcileOnce(requested("secondary", "Primary"), { demote: () => INTERNAL }, "0.14");
    expect(status?.conditions?.slice(0, 2).map(({ message }) => message)).toEqual(["the storage is away", "the storage is away"]);
  });

  test("lastTransitionTime moves only when the status changes", () => {
    const { status } = reconcileOnce(requested("primary", "Primary"), {}, "0.14");
    expect(status?.conditions?.map(({ type, lastTransitionTime }) => `${type} ${lastTransitionTime}`)).toEqual([
      "Completed 2026-11-16T11:00:00Z",
      "Degraded 2026-11-16T11:00:00Z",
      "Resyncing 2026-11-16T11:00:00Z",
      "Replicating 2026-11-16T12:00:00Z",
    ]);
  });

  test.each([
    ["promoted", "primary", "Secondary", {}],
    ["justDemoted", "secondary", "Primary", {}],
    ["syncing", "secondary", "Secondary", { resync: () => ({ ready: false }) }],
    ["inSync", "secondary", "Secondary", {}],
    ["demoteFailed", "secondary", "Primary", { demote: () => INTERNAL }],
    ["resyncFailed", "secondary", "Secondary", { resync: () => INTERNAL }],
    ["promoteFailed", "primary", "Secondary", { promote: () => INTERNAL }],
  ] as const)("the conditions that other tests call %s are those of csi-addons", (row, to, state, answers: Partial<FakeDriver>) => {
    const { status } = reconcileOnce(requested(to, state), answers, "0.12");
    expect(plain(VOLUME_CONDITIONS[row])).toEqual(plain(status?.conditions));
  });
});

/** One volume at two sites, mirrored: enough of a storage for its status to be apart from the truth. */
class Mirror {
  primary: "here" | "there" | "nowhere" = "here";
  copied = true;
  diverged = false;
  /** The next call is carried out and its answer lost. */
  losesAnswer = false;
  /** ceph-csi refuses the info of an image that is not primary; other drivers have no such call. */
  readonly info: "for a primary" | "none";
  replication: VolumeReplication;
  readonly #queue = new CsiAddonsQueue();
  readonly #version: CsiAddonsVersion;
  #now = NOW;

  constructor(version: CsiAddonsVersion, info: Mirror["info"] = "for a primary") {
    this.#version = version;
    this.info = info;
    this.replication = volume("data", "primary");
  }

  want(replicationState: Requested): void {
    const { metadata, spec } = this.replication;
    this.replication = {
      ...this.replication,
      metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 },
      spec: { ...spec, replicationState },
    };
  }

  /** Reconciles whatever is due in the next so many seconds. Returns how often. */
  run(seconds: number, { losesStatus = false } = {}): number {
    const end = this.#now.getTime() + seconds * 1000;
    let rounds = 0;
    for (; this.#now.getTime() <= end; this.#now = new Date(this.#now.getTime() + 5_000)) {
      if (!this.#queue.isDue(this.replication, this.#now)) continue;
      rounds += 1;
      const { status, next } = reconcile(this.replication, { driver: this.#driver(), version: this.#version, now: this.#now });
      // A status that cannot be written is an error, which is tried again.
      this.#queue.handled(this.replication, losesStatus ? "with backoff" : next, this.#now);
      if (status && !losesStatus) this.replication = { ...this.replication, status };
    }
    return rounds;
  }

  restart(): void {
    this.#queue.restart();
  }

  get published(): string[] {
    const { state, observedGeneration } = this.replication.status ?? {};
    return [`${state} ${observedGeneration}`, ...conditionsOf(this.replication.status)];
  }

  #driver(): FakeDriver {
    const answer = <T>(result: T) => {
      if (!this.losesAnswer) return result;
      this.losesAnswer = false;
      return rejected("Internal", "connection lost");
    };
    return {
      enable: () => ({}),
      promote: (force) => {
        if (!force && (this.primary === "there" || !this.copied || this.diverged)) return rejected("FailedPrecondition");
        this.primary = "here";
        return answer({});
      },
      demote: () => {
        if (this.primary === "here") this.primary = "nowhere";
        return answer({});
      },
      resync: (force) => {
        if (this.diverged && !force) return rejected("Internal", "split brain");
        this.diverged = false;
        return answer({ ready: this.primary === "nowhere" && this.copied });
      },
      info: () => {
        if (this.info === "none") return rejected("Unimplemented");
        return this.primary === "here"
          ? answer({ replicates: true, lastSyncTime: "2026-11-16T11:58:00Z" })
          : rejected("Internal", "not primary");
      },
    };
  }
}

const at = (generation: number, state: State, ...conditions: string[]) => [
  `${state} ${generation}`,
  ...conditions.map((text) => `${text} ${generation}`),
];

/** How many seconds after its demotion a source is seen to be copied, when the copy is there after so many. */
function copiedAt(copiedAfter: number): number | undefined {
  const mirror = new Mirror("0.14");
  mirror.copied = false;
  mirror.want("secondary");
  for (let second = 0; second <= 120; second += 5) {
    if (second >= copiedAfter) mirror.copied = true;
    mirror.run(0);
    if (mirror.published.includes("Degraded False Healthy 2")) return second;
  }
  return undefined;
}

describe("facts 2.3: when the status is outdated or wrong", () => {
  test("in sync is reported once, and stays when the other side is promoted and written to", () => {
    const mirror = new Mirror("0.14");
    mirror.want("secondary");
    mirror.run(60);
    const fossil = at(2, "Secondary", "Completed True Demoted", "Degraded False Healthy", "Resyncing False NotResyncing");
    expect(mirror.published).toEqual(fossil);
    const { lastCompletionTime } = mirror.replication.status as { lastCompletionTime?: string };
    mirror.primary = "there";
    mirror.copied = false;
    expect(mirror.run(3_600)).toBe(0);
    expect(mirror.published).toEqual(fossil);
    expect(mirror.replication.status).toMatchObject({ lastCompletionTime });
    mirror.restart();
    mirror.run(0);
    expect(mirror.published).toEqual(
      at(2, "Secondary", "Completed True Demoted", "Degraded True VolumeDegraded", "Resyncing True ResyncTriggered"),
    );
  });

  test("the source reports in sync at the earliest 15 s after its demotion, then every 30 s", () => {
    expect([0, 10, 20, 50].map(copiedAt)).toEqual([15, 15, 45, 75]);
  });

  test("a demotion whose response was lost shows Primary, and is corrected by the next retry", () => {
    const mirror = new Mirror("0.14");
    mirror.want("secondary");
    mirror.losesAnswer = true;
    mirror.run(0);
    expect([mirror.primary, mirror.published.slice(0, 2)]).toEqual(["nowhere", at(2, "Primary", "Completed False FailedToDemote")]);
    mirror.run(0);
    expect(mirror.published.slice(0, 2)).toEqual(at(2, "Secondary", "Completed True Demoted"));
  });

  test("a demotion whose status write was lost shows the previous state", () => {
    const mirror = new Mirror("0.14");
    mirror.want("secondary");
    mirror.run(0, { losesStatus: true });
    expect([mirror.primary, mirror.published[0], mirror.published[1]]).toEqual(["nowhere", "Primary 1", "Completed True Promoted 1"]);
  });

  test.each<[CsiAddonsVersion, Mirror["info"], string, string[]]>([
    [
      "0.14",
      "for a primary",
      "Primary and Promoted, with Replicating=Unknown",
      at(3, "Primary", "Completed True Promoted", "Degraded False Healthy", "Resyncing False NotResyncing", "Replicating Unknown Unknown"),
    ],
    [
      "0.13",
      "for a primary",
      "the status of the demotion, for good",
      at(2, "Primary", "Completed False FailedToDemote", "Degraded True Error", "Resyncing False NotResyncing"),
    ],
    [
      "0.13",
      "none",
      "Primary and Promoted",
      at(3, "Primary", "Completed True Promoted", "Degraded False Healthy", "Resyncing False NotResyncing"),
    ],
    [
      "0.12",
      "none",
      "the old FailedToDemote beside a new observedGeneration",
      ["Primary 3", ...at(2, "Primary", "Completed False FailedToDemote", "Degraded True Error", "Resyncing False NotResyncing").slice(1)],
    ],
  ])("a request for primary after such a demotion: %s with info %s promotes nothing and shows %s", (version, info, _, published) => {
    const mirror = new Mirror(version, info);
    mirror.want("secondary");
    mirror.losesAnswer = true;
    mirror.run(0);
    mirror.want("primary");
    mirror.run(600);
    expect([mirror.primary, mirror.published]).toEqual(["nowhere", published]);
  });

  test("0.13 keeps, through such a demotion, that the driver answered for the primary before", () => {
    const mirror = new Mirror("0.13");
    mirror.run(0);
    mirror.want("secondary");
    mirror.losesAnswer = true;
    mirror.run(0);
    mirror.want("primary");
    mirror.run(600);
    expect([mirror.primary, mirror.published[0]]).toEqual(["nowhere", "Primary 2"]);
    expect(mirror.published).toContain("Replicating True Replicating 1");
  });

  test("after an observed Secondary it is promoted", () => {
    const mirror = new Mirror("0.14");
    mirror.want("secondary");
    mirror.losesAnswer = true;
    mirror.run(60);
    mirror.want("primary");
    mirror.run(0);
    expect([mirror.primary, mirror.published[0], mirror.published[1]]).toEqual(["here", "Primary 3", "Completed True Promoted 3"]);
  });

  test.each<[CsiAddonsVersion, string]>([
    ["0.12", "Secondary 2"],
    ["0.13", "Secondary 2"],
    ["0.14", "Primary 3"],
  ])("promoted while info fails: %s shows %s", (version, published) => {
    const mirror = new Mirror(version);
    mirror.want("secondary");
    mirror.run(60);
    mirror.want("primary");
    const { driver } = recorded({ info: () => INTERNAL });
    const { status = mirror.replication.status } = reconcile(mirror.replication, { driver, version, now: NOW });
    expect(`${status?.state} ${status?.observedGeneration}`).toBe(published);
  });

  test("a secondary with a short storage error stays Secondary, and is reconciled every 15 s", () => {
    const mirror = new Mirror("0.14");
    mirror.want("secondary");
    mirror.run(0);
    mirror.losesAnswer = true;
    expect(mirror.run(15)).toBe(1);
    expect(mirror.published.slice(0, 2)).toEqual(at(2, "Secondary", "Completed False FailedToDemote"));
    expect(mirror.run(10)).toBe(1);
    expect(mirror.published.slice(0, 2)).toEqual(at(2, "Secondary", "Completed True Demoted"));
  });

  test("an old primary after a forced takeover stays in FailedToResync without autoResync, and resyncs with it", () => {
    const mirror = new Mirror("0.14");
    mirror.primary = "there";
    mirror.diverged = true;
    mirror.want("secondary");
    mirror.run(600);
    expect(mirror.published).toEqual(
      at(2, "Secondary", "Completed False FailedToResync", "Degraded True Error", "Resyncing False FailedToResync"),
    );
    mirror.want("resync");
    mirror.run(0);
    expect(mirror.published).toEqual(
      at(3, "Secondary", "Completed True Demoted", "Degraded True VolumeDegraded", "Resyncing True ResyncTriggered"),
    );
  });

  test("a forced resync fails intermittently while the image is recreated", () => {
    const replication = requested("resync", "Secondary");
    const answers = [INTERNAL, { ready: false }, INTERNAL, { ready: false }];
    const published = answers.map((answer) => reconcileOnce(replication, { resync: () => answer }, "0.14").conditions[0]);
    const [failed, copying] = ["Completed False FailedToResync 2", "Completed True Demoted 2"];
    expect(published).toEqual([failed, copying, failed, copying]);
  });

  test.each<[CsiAddonsVersion, number]>([
    ["0.12", 1],
    ["0.13", 2],
    ["0.14", 2],
  ])("another field of a primary is edited: %s has conditions of generation %i", (version, generation) => {
    const { status } = reconcileOnce(requested("primary", "Primary"), {}, version);
    expect([status?.observedGeneration, status?.conditions?.[0]?.observedGeneration]).toEqual([2, generation]);
  });
});

test("a demoted volume keeps its lastSyncTime until it is in sync", () => {
  const mirror = new Mirror("0.14");
  mirror.run(0);
  mirror.want("secondary");
  mirror.run(0);
  expect(mirror.replication.status?.lastSyncTime).toBe("2026-11-16T11:58:00Z");
  mirror.run(20);
  expect(mirror.replication.status).not.toHaveProperty("lastSyncTime");
});
