import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { FailoverPolicy, FailoverStatus } from "../../../api/failover/failover-policy.ts";
import type { Condition } from "../../../api/kind.ts";
import { plain } from "../../print/color.ts";
import { ago, NOW, policy, waiting } from "../../testing/failover-fixtures.ts";
import { drawSite } from "./draw-site.ts";
import { each } from "./drive.ts";
import { isOver, type SiteMember, stateOf } from "./member.ts";
import { figuresOf, memberItem, summaryLines } from "./summary.ts";

const to = "secondary" as const;

function conditions(is: string, reason = is, message = ""): Condition[] {
  return ["Complete", "InProgress", "Error"].map((type) => ({
    type,
    status: type === is ? "True" : "False",
    reason: type === is ? reason : "No",
    message: type === is ? message : "",
    lastTransitionTime: ago(0),
  }));
}

/** From so many seconds ago until so many. */
function completed(from: number, until: number, loss?: number): FailoverStatus {
  const figures = loss === undefined ? {} : { lastSyncTime: ago(until + loss), writesStoppedTime: ago(until) };
  const transition = { to, mode: "safe" as const, generation: 2, startTime: ago(from), completionTime: ago(until), ...figures, steps: [] };
  return { observedGeneration: 2, conditions: conditions("Complete"), transition };
}

function member(
  name: string,
  status?: FailoverStatus,
  more: Partial<SiteMember> & { spec?: Partial<FailoverPolicy["spec"]> } = {},
): SiteMember {
  const { spec = {}, ...rest } = more;
  const made = policy(spec, status);
  const named = { ...made, metadata: { ...made.metadata, name } };
  return { annotations: {}, policy: named, requested: { to, generation: 2 }, wasComplete: false, ...rest };
}

const rejected: FailoverStatus = { observedGeneration: 2, conditions: conditions("Error", "NotPermitted", "ask kube-system") };
const later: SiteMember = { annotations: {}, policy: policy({ wave: 0 }), wasComplete: false };
const site: readonly SiteMember[] = [
  member("db", completed(60, 20, 12), { spec: { wave: 10 } }),
  member("web", waiting),
  member("api", { observedGeneration: 1 }),
  member("dns", rejected),
  member("gone", undefined, { lost: { is: "deleted", message: "it was deleted" } }),
  member("back", undefined, { spec: { desiredState: "primary" } }),
  { ...later, policy: { ...later.policy, metadata: { ...later.policy.metadata, name: "base" } } },
];

test("a member is done when its state is final", () => {
  expect(site.map((one) => [stateOf(one), isOver(one)])).toEqual([
    ["complete", true],
    ["running", false],
    ["unseen", false],
    ["refused", true],
    ["deleted", true],
    ["superseded", true],
    ["later", false],
  ]);
});

test("an error does not end a switch: the controller continues", () => {
  const failing = member("web", { ...waiting, conditions: [...conditions("Error", "VolumeError", "disk"), ...conditions("InProgress")] });
  expect([stateOf(failing), isOver(failing)]).toEqual(["error", false]);
});

test("the table has a line for each policy: wave, state, step, time and what it waits for", () => {
  expect(drawSite(site, NOW, plain)).toEqual([
    "NAME        WAVE   STATE        STEP               TOOK   WAITS FOR",
    "shop/db     10     Complete                        40s",
    "shop/web    0      Running      AwaitTermination   40s    Pod shop/db-0 belongs to StatefulSet db and is terminating (and 2 more), for 38s",
    "shop/api    0      Requested",
    "shop/dns    0      Rejected                               NotPermitted: ask kube-system",
    "shop/gone   0      Deleted                                it was deleted",
    "shop/back   0      Superseded                             desiredState is now primary",
    "shop/base   0      Later",
  ]);
});

test("if not all fit, members that need attention are listed and complete ones are counted", () => {
  const many = [...site, ...Array.from({ length: 40 }, (_, at) => member(`done-${at}`, completed(60, 20)))];
  const lines = drawSite(many, NOW, plain, 8);
  expect(lines).toHaveLength(9);
  expect(lines.at(-1)).toBe("and 40 more, 40 of them complete");
  expect(lines.join("\n")).toContain("shop/base");
});

test("the RTO of a site is from the first start to the last end, its RPO that of the worst policy", () => {
  const all = [
    member("db", completed(100, 60, 12)),
    member("web", completed(55, 20, 90)),
    member("old", completed(9000, 8990, 500), { wasComplete: true }),
  ];
  expect(figuresOf(all)).toEqual({
    complete: 3,
    total: 3,
    seconds: 80,
    slowest: { policy: "shop/db", seconds: 40 },
    worst: { policy: "shop/web", lossSeconds: 90 },
  });
  expect(summaryLines(all, to, NOW)).toEqual([
    "3 of 3 policies are secondary, 1 of them before. RTO of the site: 80s; the slowest was shop/db with 40s. RPO: 90s (shop/web)",
  ]);
});

test("unfinished policies are listed with their blocker", () => {
  expect(summaryLines(site, to, NOW)).toEqual([
    "1 of 7 policies are secondary. RTO of the site: 40s; the slowest was shop/db with 40s. RPO: 12s (shop/db)",
    "shop/web is not: AwaitTermination waits: Pod shop/db-0 belongs to StatefulSet db and is terminating (and 2 more), for 38s",
    "shop/api is not: no controller has processed it; is plumbline controller running?",
    "shop/dns is not: NotPermitted: ask kube-system",
    "shop/gone is not: it was deleted",
    "shop/back is not: desiredState is now primary",
    "shop/base is not: its wave has not started",
  ]);
  expect(site.slice(0, 2).map((one) => memberItem(one, to, NOW))).toMatchObject([
    { namespace: "shop", name: "db", wave: 10, to, state: "complete", seconds: 40, lossSeconds: 12 },
    { name: "web", state: "running", message: expect.stringContaining("AwaitTermination waits") },
  ]);
});

test("a limited number of members runs at a time, and an error waits for running ones", async () => {
  let [now, most, done] = [0, 0, 0];
  const work = async (item: number) => {
    most = Math.max(most, ++now);
    await sleep(1);
    now -= 1;
    if (item === 3) throw new Error("three");
    done += 1;
    return item * 2;
  };
  expect(await each([1, 2, 4, 5, 6], 2, work)).toEqual([2, 4, 8, 10, 12]);
  expect(most).toBe(2);
  done = 0;
  await expect(each([1, 3, 5, 7], 2, work)).rejects.toThrow("three");
  expect([now, done]).toEqual([0, 3]);
});
