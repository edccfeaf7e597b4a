import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Kind, KubeObject, ObjectMeta } from "../../api/kind.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Runnable } from "../../kube/controller/controller.ts";
import type { Manager } from "../../kube/controller/manager.ts";
import { createLog } from "../../kube/log.ts";
import { ApiModel } from "../../kube/testing/api-model.ts";
import { WriteBudget } from "../../kube/status/budget.ts";
import { parseAddress } from "../../ip/address.ts";
import { config, peer } from "../testing/announcement-fixtures.ts";
import type { AddressState } from "../status/service-l2-status.ts";
import { StatusWriters } from "./status-writers.ts";

/** The reports of node `a`, in clusters of one kind each. */
class WritersHarness {
  readonly stop = new AbortController();
  readonly reports: StatusWriters;
  nodeUid: string | undefined = "u1";
  /** Whether the other node is. */
  isMember = true;
  readonly #models = new Map<string, ApiModel<KubeObject>>();
  readonly #runnables: Runnable[] = [];

  constructor(left: Record<string, string[]> = {}) {
    for (const [kind, names] of Object.entries(left)) for (const name of names) this.model(kind).add({ metadata: ofNode(name) });
    const manager = {
      cache: (kind: Kind) => ({ ...this.model(kind.kind).cache, list: () => this.#listed(kind.kind) }),
      add: (runnable: Runnable) => this.#runnables.push(runnable),
    };
    this.reports = new StatusWriters({
      manager: manager as unknown as Manager,
      client: { resource: (kind: Kind) => this.model(kind.kind).resource() } as unknown as KubeClient,
      node: "a",
      namespace: "metallb-system",
      budget: new WriteBudget(),
      log: createLog({ level: "silent" }),
    });
    this.reports.surroundings = {
      nodeUid: () => this.nodeUid,
      isNode: () => false,
      isPeer: () => false,
      isService: () => false,
      isMember: () => this.isMember,
    };
    for (const runnable of this.#runnables) void runnable.run(this.stop.signal);
  }

  model(kind: string): ApiModel<KubeObject> {
    const model = this.#models.get(kind) ?? new ApiModel<KubeObject>();
    this.#models.set(kind, model);
    return model;
  }

  async writes(kind: string): Promise<string[]> {
    await vi.advanceTimersByTimeAsync(5_000);
    return this.model(kind).take();
  }

  #listed(kind: string): KubeObject[] {
    return LEFT.flatMap((key) => this.model(kind).cache.get(key) ?? []);
  }
}

const LEFT = ["metallb-system/a-tor", "metallb-system/a-gone", "shop/web"];
const ofNode = (name: string): ObjectMeta => ({ name, namespace: "metallb-system", annotations: { "plumbline.dev/node": "a" } });
const { peers } = config({ peers: [peer("tor", { address: "192.0.2.1" })] });
let harness: WritersHarness;

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  harness.stop.abort();
  vi.useRealTimers();
});

test("a session status of an earlier run stays until FRR knows the peer, and is deleted with the peer", async () => {
  harness = new WritersHarness({ BGPSessionStatus: ["a-tor", "a-gone"] });
  await vi.advanceTimersByTimeAsync(100);
  harness.reports.sessions(peers, [], new Set());
  expect(await harness.writes("BGPSessionStatus")).toEqual(["delete metallb-system/a-gone"]);
  harness.reports.sessions(new Map(), [], new Set());
  expect(await harness.writes("BGPSessionStatus")).toEqual(["delete metallb-system/a-tor"]);
});

test("no Service status is written while the Node is gone", async () => {
  harness = new WritersHarness();
  const say = () => harness.reports.service("shop/web", "u2", { IPv4: ["tor"], IPv6: [], all: ["tor"], advertisements: ["ad"] });
  say();
  expect(await harness.writes("ServiceBGPStatus")).toEqual(["create shop/web-a", "patchStatus shop/web-a"]);
  harness.nodeUid = undefined;
  say();
  expect(await harness.writes("ServiceBGPStatus")).toEqual(["delete shop/web-a"]);
  harness.nodeUid = "u3";
  say();
  expect(await harness.writes("ServiceBGPStatus")).toEqual(["create shop/web-a", "patchStatus shop/web-a"]);
});

test("Events can refer to the ConfigurationState before it exists", async () => {
  harness = new WritersHarness();
  expect(harness.reports.state).toEqual({ metadata: { name: "speaker-a", namespace: "metallb-system" } });
  harness.reports.configuration();
  await harness.writes("ConfigurationState");
  expect(harness.reports.state.metadata).toMatchObject({ name: "speaker-a", uid: expect.any(String) as string });
});

const vip = parseAddress("10.0.0.1");
const elected = { node: "a", addresses: [vip], candidates: ["a", "b"] };
const holding = (since: number): AddressState => ({ is: "holding", since: new Date(since), interfaces: ["eth0"] });
const say = (state: AddressState) => harness.reports.holder("shop/web", "u1", elected, () => state, { is: "on" });
/** The ServiceL2Status as node `b` writes it. */
const reportOfOther = (status: "True" | "False") => ({
  metadata: { name: "web", namespace: "shop", labels: { "metallb.io/node": "b" }, annotations: { "plumbline.dev/node": "b" } },
  status: { node: "b", service: "web", conditions: [{ type: "Announced", status }] },
});
const overwrite = (status: "True" | "False") =>
  harness.model("ServiceL2Status").edit("shop/web", ({ metadata }) => {
    const { metadata: given, ...rest } = reportOfOther(status);
    return { metadata: { ...metadata, ...given }, ...rest };
  });
const REPORTED = ["create shop/web", "patchStatus shop/web"];
const TAKEN = ["patch shop/web", "patchStatus shop/web"];

test("no status is written while an address is probed, and one when the node announces it", async () => {
  harness = new WritersHarness();
  for (const state of [{ is: "standby" }, { is: "probing" }] as const) say(state);
  expect(await harness.writes("ServiceL2Status")).toEqual([]);
  for (let pass = 0; pass < 3; pass++) say(holding(1));
  expect(await harness.writes("ServiceL2Status")).toEqual(REPORTED);
  // It has reported the address as announced, and no longer announces it.
  say({ is: "probing" });
  expect(await harness.writes("ServiceL2Status")).toEqual(["patchStatus shop/web"]);
});

test.each([
  ["True", { is: "in-use", mac: "02:00:00:00:00:0b", interface: "eth0" }, []],
  ["False", { is: "failed", message: "no" }, []],
  ["True", holding(1), TAKEN],
  ["False", holding(1), TAKEN],
] as const)(
  "of two members that consider themselves elected, the announcing one writes the status: %s, %o",
  async (theirs, ours, writes) => {
    harness = new WritersHarness();
    harness.model("ServiceL2Status").add(reportOfOther(theirs));
    await vi.advanceTimersByTimeAsync(100);
    for (let pass = 0; pass < 3; pass++) say(ours);
    expect(await harness.writes("ServiceL2Status")).toEqual(writes);
  },
);

test("the status of a node that is no longer a member is taken over", async () => {
  harness = new WritersHarness();
  harness.model("ServiceL2Status").add(reportOfOther("True"));
  await vi.advanceTimersByTimeAsync(100);
  say({ is: "failed", message: "no" });
  expect(await harness.writes("ServiceL2Status")).toEqual([]);
  harness.isMember = false;
  say({ is: "failed", message: "no" });
  expect(await harness.writes("ServiceL2Status")).toEqual(TAKEN);
});

test("of two announcing nodes on a partitioned segment the later keeps the status until it stops announcing", async () => {
  harness = new WritersHarness();
  say(holding(1));
  expect(await harness.writes("ServiceL2Status")).toEqual(REPORTED);
  overwrite("True");
  say(holding(1));
  expect(await harness.writes("ServiceL2Status")).toEqual([]);
  overwrite("False");
  expect(await harness.writes("ServiceL2Status")).toEqual(TAKEN);
  overwrite("True");
  expect(await harness.writes("ServiceL2Status")).toEqual([]);
  harness.model("ServiceL2Status").remove("shop/web");
  expect(await harness.writes("ServiceL2Status")).toEqual(REPORTED);
  overwrite("True");
  say(holding(2));
  expect(await harness.writes("ServiceL2Status")).toEqual(TAKEN);
});

test("a status of another node is neither swept nor deleted by a node that is no longer elected", async () => {
  harness = new WritersHarness();
  say(holding(1));
  await harness.writes("ServiceL2Status");
  overwrite("True");
  await vi.advanceTimersByTimeAsync(100);
  harness.reports.holder("shop/web", "u1", undefined, () => holding(1), { is: "on" });
  harness.reports.l2.sweep();
  expect(await harness.writes("ServiceL2Status")).toEqual([]);
});
