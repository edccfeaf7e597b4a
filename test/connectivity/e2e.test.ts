import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { historyState } from "../../src/connectivity/history/reduce.ts";
import { replay } from "../../src/connectivity/journal/replay.ts";
import { ChecksLab, type TimeRange } from "../support/checks-lab.ts";
import { NODES } from "../support/nodes.ts";

// A lab on a busy machine takes its time, and nothing here is about time.
vi.setConfig({ testTimeout: 900_000, hookTimeout: 900_000 });

/** Not more often: the kernel says "no route to host" to the same source about once a second, and the next one in that second times out. */
const INTERVAL = "3s";
const ATTEMPT_MS = 5_000;
const NAMES = ["wiki.default.svc.cluster.local:80", "dns.lab:53"];

let started: ChecksLab | undefined;
const lab = (): ChecksLab => {
  if (!started) throw new Error("the lab did not come up");
  return started;
};

beforeAll(async () => {
  started = await ChecksLab.start(INTERVAL);
});
afterAll(() => started?.stop());

const fromAll = (...targets: string[]) => NODES.flatMap((node) => targets.map((target) => `${node} to ${target}`)).toSorted();
/** What another node tries on node2. */
const INTO_NODE2 = ["node1", "node3"].flatMap((node) => [`${node} to endpoint/default/web on node2`, `${node} to node/node2`]).toSorted();
/** What node2 tries beyond itself. */
const OUT_OF_NODE2 = [
  ...["node1", "node3"].flatMap((node) => [`node2 to endpoint/default/web on ${node}`, `node2 to node/${node}`]),
  ...NAMES.map((name) => `node2 to ${name}`),
].toSorted();

test("every node checks the others, each service, each endpoint and each name, and reaches all of them", async () => {
  const nodes = NODES.flatMap((from) => NODES.filter((to) => to !== from).map((to) => `${from} to node/${to}`));
  const services = fromAll("service/default/web", "service/default/wiki");
  const endpoints = fromAll(...NODES.map((node) => `endpoint/default/web on ${node}`));
  const all = [...nodes, ...services, ...endpoints, ...fromAll(...NAMES)].toSorted();
  await lab().eventually("all is reached", () => lab().saying("True").length === all.length);
  expect(lab().names()).toEqual(all);
  expect(await lab().blamed()).toEqual([]);
});

interface Broken {
  readonly fault: string;
  /** The checks that fail, and no others. */
  readonly failing: readonly string[];
  readonly reason: "ConnectError" | "DNSError";
  readonly why: RegExp;
  readonly blame: RegExp;
}

const BROKEN: readonly Broken[] = [
  {
    fault: "firewall-rejects",
    failing: INTO_NODE2,
    reason: "ConnectError",
    why: /^Failed connect to [\d.]+:\d+; No route to host$/,
    blame: /^No connection works into node node2: /,
  },
  {
    fault: "firewall-drops",
    failing: INTO_NODE2,
    reason: "ConnectError",
    why: /^Failed connect to [\d.]+:\d+; Connection timed out$/,
    blame: /^No connection works into node node2: /,
  },
  {
    fault: "service-cut",
    failing: fromAll("service/default/web"),
    reason: "ConnectError",
    why: /^Failed connect to 10\.96\.0\.80:80; Network is unreachable$/,
    blame: /^Service default\/web is unreachable at its address: .* its endpoints are reachable/,
  },
  {
    fault: "dns-silent",
    failing: fromAll(...NAMES),
    reason: "DNSError",
    why: /^Failed to resolve [a-z.]+; the name server did not answer in time$/,
    blame: /^No name can be resolved: /,
  },
  {
    fault: "dns-lies",
    failing: fromAll("wiki.default.svc.cluster.local:80"),
    reason: "ConnectError",
    why: /^Failed connect to wiki\.default\.svc\.cluster\.local:80; Connection refused$/,
    blame: /^wiki\.default\.svc\.cluster\.local:80 is unreachable: /,
  },
];

test.each(BROKEN)("$fault is an outage of only what it breaks, since the first attempt, with its reason and cause", async (broken) => {
  const { fault, failing } = broken;
  const outagesBefore = countOutages();
  const brokenAt = await lab().fault(fault, "node2", "break");
  await lab().eventually(`what ${fault} breaks fails, and nothing else`, () => areFailing(failing));
  expect(await lab().blamed()).toEqual([expect.stringMatching(broken.blame)]);

  const restoredAt = await lab().fault(fault, "node2", "fix");
  await lab().eventually(`without ${fault} all is reached`, () => lab().saying("True").length === lab().names().length);
  expect(await lab().blamed()).toEqual([]);
  for (const name of failing) {
    const startLogs = outageOf(name, brokenAt, restoredAt).startLogs ?? [];
    expect(startLogs.at(-1)).toMatchObject({
      success: false,
      reason: broken.reason,
      message: expect.stringMatching(broken.why) as string,
    });
  }
  expect(countOutages() - outagesBefore).toBe(failing.length);
  tellFigures(fault, failing, brokenAt, restoredAt);
});

test("a node whose link is down is unreachable, and reports its own outages later without loss", async () => {
  const brokenAt = await lab().fault("uplink-down", "node2", "break");
  await lab().eventually("node2 is not reached", () => areFailing(INTO_NODE2));
  expect(await lab().blamed()).toEqual([expect.stringMatching(/^No (connection works into|target on) node node2\b/)]);
  await lab().eventually("node2 has it in its journal that it reaches nobody", async () => {
    const { stdout } = await lab().host("node2").run(["cat", "/var/lib/plumbline/connectivity/journal"]);
    const { checks } = replay(Buffer.from(stdout));
    return OUT_OF_NODE2.every((name) => {
      const known = checks.get(lab().uid(name));
      const [last] = known ? historyState(known.history).outages : [];
      return last !== undefined && last.end === undefined;
    });
  });

  const { from } = await lab().fault("uplink-down", "node2", "fix");
  // A link that is up carries nothing for a moment.
  await lab().eventually(
    "node2 is reached",
    () =>
      !lab()
        .saying("False")
        .some((name) => INTO_NODE2.includes(name)),
  );
  const restoredAt = { from, by: Date.now() };
  // The checks that node2 could not report keep their last report.
  const isReported = () =>
    [...INTO_NODE2, ...OUT_OF_NODE2].every((name) => time(lab().outages(name).at(-1)?.start) + 1_000 > brokenAt.from);
  await lab().eventually("with its link node2 is back", () => isReported() && lab().saying("True").length === lab().names().length);
  for (const name of [...INTO_NODE2, ...OUT_OF_NODE2]) {
    const { startLogs = [] } = outageOf(name, brokenAt, restoredAt);
    expect(startLogs.at(-1)?.message).toMatch(/; (No route to host|Connection timed out|the name server did not answer in time)$/);
  }
  tellFigures("uplink-down", INTO_NODE2, brokenAt, restoredAt);
});

function areFailing(names: readonly string[]): boolean {
  return lab().saying("False").join() === names.join();
}

/** The outage between the two moments, which the first attempt after the one opened, and the first after the other closed. */
function outageOf(name: string, broken: TimeRange, restored: TimeRange) {
  const outage = lab().outages(name).at(-1);
  if (!outage) throw new Error(`${name} has no outage`);
  const { start, startedAfter, end, endedAfter } = outage;
  // Times are those of the beginning, in whole seconds. What had begun when it was fixed may still get through.
  expect([name, time(start)]).toEqual([name, expect.toSatisfy((at: number) => at + 1_000 > broken.from && at <= restored.by)]);
  expect([name, time(startedAfter)]).toEqual([name, expect.toSatisfy((at: number) => at <= broken.by)]);
  expect([name, time(endedAfter)]).toEqual([name, expect.toSatisfy((at: number) => at <= restored.by)]);
  expect([name, time(end)]).toEqual([name, expect.toSatisfy((at: number) => at + 1_000 + ATTEMPT_MS > restored.from)]);
  return outage;
}

function countOutages(): number {
  return lab()
    .names()
    .reduce((count, name) => count + lab().outages(name).length, 0);
}

function latest(times: readonly number[], since: number): string {
  return Math.max(0, ...times.map((at) => (at - since) / 1000)).toFixed(1);
}

function tellFigures(fault: string, failing: readonly string[], broken: TimeRange, restored: TimeRange): void {
  const outages = failing.flatMap((name) => lab().outages(name).at(-1) ?? []);
  const opened = latest(
    outages.map(({ start }) => time(start)),
    broken.by,
  );
  const closed = latest(
    outages.map(({ end }) => time(end)),
    restored.by,
  );
  process.stdout.write(
    `${fault}: ${failing.length} outages, opened within ${opened} s and closed within ${closed} s, tried every ${INTERVAL}\n`,
  );
}

function time(text: string | null | undefined): number {
  return text ? Date.parse(text) : Number.NaN;
}
