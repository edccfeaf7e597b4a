import { expect, test } from "vitest";
import type { StatusReader } from "../drill/status-reader.ts";
import type { LabHost } from "../net/lab-host.ts";
import type { Change } from "./change.ts";
import { FuzzRunner, isFailure } from "./runner.ts";
import { READ_KERNEL } from "./state.ts";
import type { FuzzTraffic } from "./traffic.ts";

const change: Change = {
  node: "node2",
  scope: "host",
  kind: "sysctl",
  make: "echo 0 >/proc/sys/net/ipv4/ip_forward",
  undo: "echo 1 >/proc/sys/net/ipv4/ip_forward",
  was: "sysctl net/ipv4/ip_forward 1",
};

/** A node with one sysctl. Traffic passes while it is 1; a repair may follow at once. */
function fakeLab({ accepts = true, repairs = false } = {}) {
  let forwarding = "1";
  const scripts: string[] = [];
  const run = (command: readonly string[]) => {
    const script = command.at(-1) ?? "";
    if (script.includes(READ_KERNEL))
      return Promise.resolve({ code: 0, stdout: `#sysctls\nnet/ipv4/ip_forward:${forwarding}\n#frr\n`, stderr: "" });
    scripts.push(script);
    if (!accepts) return Promise.resolve({ code: 1, stdout: "", stderr: "no" });
    forwarding = /echo (\d)/.exec(script)?.[1] ?? forwarding;
    if (repairs) forwarding = "1";
    return Promise.resolve({ code: 0, stdout: "", stderr: "" });
  };
  const counts = { lost: new Map([["web", 0]]), passed: new Map([["web", 0]]) };
  const traffic = {
    flows: [{ name: "web", layer: "service" }],
    counts: () => {
      const into = forwarding === "0" ? counts.lost : counts.passed;
      into.set("web", (into.get("web") ?? 0) + 2);
      return { lost: new Map(counts.lost), passed: new Map(counts.passed) };
    },
  } as unknown as FuzzTraffic;
  const causes = () =>
    forwarding === "0" ? [{ id: "Link/eth0@node2", component: { kind: "Link", name: "eth0", node: "node2" }, domain: "router" }] : [];
  const reader = { statements: () => [], causes } as unknown as StatusReader;
  const { signal } = new AbortController();
  const runner = new FuzzRunner({ reader, traffic, host: () => ({ run }) as unknown as LabHost, nodes: ["node2"], signal });
  return { runner, scripts };
}

test("a reported change is undone, and the lab is healthy again", async () => {
  const { runner, scripts } = fakeLab();
  const outcome = await runner.make(change);
  expect(outcome).toMatchObject({ verdict: { is: "named", harmed: ["web"], cause: "Link/eth0@node2 : " }, left: [] });
  expect(scripts).toEqual([change.make, change.undo]);
  expect(isFailure(outcome)).toBe(false);
});

test("a repaired change is not undone", async () => {
  const { runner, scripts } = fakeLab({ repairs: true });
  expect(await runner.make(change)).toMatchObject({ verdict: { is: "harmless" }, left: [] });
  expect(scripts).toEqual([change.make]);
});

test("a change that the node rejects counts as none", async () => {
  const { runner } = fakeLab({ accepts: false });
  expect(await runner.make(change)).toMatchObject({ verdict: { is: "refused" }, left: [] });
});

test("one object of a node is chosen, the same for the same random numbers", async () => {
  const { runner } = fakeLab();
  const chosen = await runner.choose(() => 0.99);
  expect(chosen).toMatchObject({ node: "node2", kind: "sysctl", was: change.was });
});
