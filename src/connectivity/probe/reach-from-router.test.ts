import { expect, test } from "vitest";
import type { Probe } from "../../api/connectivity/probe.ts";
import { parsePrefix } from "../../ip/prefix.ts";
import { checkFaults } from "../metrics.ts";
import { Lookups } from "./lookups.ts";
import { probe } from "./probe.ts";
import type { RouterAnswer, RouterConnections, RouterResult } from "./reach-from-router.ts";
import { parseTarget, withProbe } from "./target.ts";

const { signal } = new AbortController();
const fromRouter: Probe = { type: "TCP", from: "Router" };

/** A router that answers so, with what it was requested to do. */
function routerWith(answer: RouterAnswer): RouterConnections & { readonly requested: string[] } {
  const requested: string[] = [];
  return {
    requested,
    connect(address, port, vrf) {
      requested.push(`${address.toString()} ${port} ${vrf ?? "any"}`);
      return { result: Promise.resolve(answer), cancel: () => {} };
    },
  };
}

/** Without an answer: by a source that has no router. */
async function attempt(answer: RouterAnswer | undefined, wanted: Probe = fromRouter, host = "192.0.2.7") {
  const router = answer && routerWith(answer);
  const parsed = parseTarget(`${host}:80`);
  if ("problem" in parsed) throw new Error(parsed.problem);
  const allowed = [parsePrefix("10.0.0.0/8")];
  const direct: string[] = [];
  const result = await probe(withProbe(parsed, wanted), 1, {
    signal,
    allowed,
    lookups: new Lookups(async () => ({ addresses: ["192.0.2.7", "2001:db8::7"] }), 1),
    ...(router && { router }),
    connect: (address) => {
      direct.push(address.toString());
      return { result: Promise.resolve(undefined), cancel: () => {} };
    },
  });
  const { actions, reachable, fault, isNotObserved } = result;
  return {
    actions: actions.map(({ outcome, message }) => `${outcome}: ${message}`),
    reachable,
    fault,
    isNotObserved,
    direct,
    requested: router?.requested,
  };
}

test("a target that answers in one VRF is reached, and its message names the VRF", async () => {
  expect(await attempt({ results: [{ vrf: "red", latencyMs: 1 }] })).toEqual({
    actions: ["ConnectDone: Connected to 192.0.2.7:80 from router (VRF red)"],
    reachable: true,
    fault: undefined,
    direct: [],
    requested: ["192.0.2.7 80 any"],
  });
});

test("a target that answers in one of two VRFs is reached partly", async () => {
  const answer = { results: [{ latencyMs: 1 }, { vrf: "red", latencyMs: 5000, code: "ETIMEDOUT" }] };
  expect(await attempt(answer)).toMatchObject({
    actions: [
      "ConnectDone: Connected to 192.0.2.7:80 from router",
      "ConnectError: Failed connect to 192.0.2.7:80 from router; Connection timed out (VRF red)",
    ],
    reachable: true,
  });
});

test("messages name the address of a name that has several, and the VRF unless it was requested", async () => {
  const failed = { vrf: "red", latencyMs: 1, code: "ECONNREFUSED" };
  expect((await attempt({ results: [failed, { latencyMs: 1 }] }, fromRouter, "web")).actions).toEqual([
    "DNSDone: web resolved to 192.0.2.7, 2001:db8::7",
    "ConnectError: Failed connect to web:80 from router; Connection refused (192.0.2.7, VRF red)",
    "ConnectDone: Connected to web:80 from router (192.0.2.7)",
    "ConnectError: Failed connect to web:80 from router; Connection refused (2001:db8::7, VRF red)",
    "ConnectDone: Connected to web:80 from router (2001:db8::7)",
  ]);
  expect((await attempt({ results: [failed] }, { ...fromRouter, vrf: "red" }, "web")).actions).toContain(
    "ConnectError: Failed connect to web:80 from router VRF red; Connection refused (2001:db8::7)",
  );
});

const unusable: RouterResult[] = [
  { vrf: "blue", sharedSource: "192.169.10.1" },
  { vrf: "green", isOwnHost: true },
  { vrf: "gray", latencyMs: 0, code: "ENODEV" },
];

test.each<[string, RouterResult, boolean]>([
  ["fails", { vrf: "red", latencyMs: 5000, code: "ETIMEDOUT" }, false],
  ["answers", { vrf: "red", latencyMs: 1 }, true],
])("a VRF in which the target %s decides, whatever others cannot observe", async (_what, observed, reachable) => {
  expect(await attempt({ results: [...unusable, observed] })).toMatchObject({
    actions: [expect.stringContaining("192.0.2.7:80 from router")],
    reachable,
    fault: undefined,
  });
});

test("a requested VRF is part of the target", async () => {
  const answer = { results: [{ vrf: "red", latencyMs: 1, code: "ECONNREFUSED" }] };
  expect(await attempt(answer, { ...fromRouter, vrf: "red" })).toMatchObject({
    actions: ["ConnectError: Failed connect to 192.0.2.7:80 from router VRF red; Connection refused"],
    reachable: false,
    fault: undefined,
    requested: ["192.0.2.7 80 red"],
  });
});

test.each<[string, RouterAnswer | undefined, Probe]>([
  ["whose router does not run", "no router", fromRouter],
  ["whose router does not run, in a VRF,", "no router", { ...fromRouter, vrf: "red" }],
  ["that has no router", undefined, fromRouter],
])("a source %s does not connect itself: its own kube-proxy would answer", async (_what, answer, wanted) => {
  expect(await attempt(answer, wanted)).toMatchObject({
    fault: "Not observed: no router runs on this node",
    actions: [],
    direct: [],
  });
});

test("an address that is not allowed is not connected to from the router either", async () => {
  expect(await attempt({ results: [] }, fromRouter, "169.254.169.254")).toMatchObject({
    actions: [expect.stringContaining("169.254.169.254 is a link-local address")],
    requested: [],
    direct: [],
  });
});

test.each<[string, RouterAnswer, string]>([
  [
    "a source address that all routers have",
    { results: [{ vrf: "red", sharedSource: "192.169.10.1" }] },
    "Not observed: VRF red has no address of its own on this node, and answers to 192.169.10.1 do not come back",
  ],
  [
    "a VRF that does not exist",
    { results: [{ vrf: "red", latencyMs: 0, code: "ENODEV" }] },
    "Not observed: the router of this node has no VRF red",
  ],
  [
    "a route to the own host, whose kube-proxy answers",
    { results: [{ vrf: "red", isOwnHost: true }] },
    "Not observed: the route leads to this node itself",
  ],
  ["a process that ended", { fault: "Cannot connect from the router: killed" }, "Cannot connect from the router: killed"],
  ["no memory", { results: [{ latencyMs: 0, code: "ENOBUFS" }] }, "The checker is out of memory for sockets (ENOBUFS)"],
])("%s says nothing about the target", async (_what, answer, fault) => {
  const isNotObserved = fault.startsWith("Not observed") || undefined;
  expect(await attempt(answer)).toMatchObject({ actions: [], reachable: false, fault, isNotObserved, direct: [] });
});

const counted = async () => (await checkFaults.get()).values.reduce((sum, { value }) => sum + value, 0);

test("only what the source should be able to do counts as its fault", async () => {
  const before = await counted();
  await attempt("no router");
  await attempt({ results: [{ vrf: "red", sharedSource: "192.169.10.1" }] });
  expect(await counted()).toBe(before);
  await attempt({ fault: "Cannot connect from the router: killed" });
  expect(await counted()).toBe(before + 1);
});
