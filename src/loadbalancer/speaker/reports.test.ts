import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Kind, KubeObject, ObjectMeta } from "../../api/kind.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Runnable } from "../../kube/controller/controller.ts";
import type { Manager } from "../../kube/controller/manager.ts";
import { createLog } from "../../kube/log.ts";
import { ApiModel } from "../../kube/status/api-model.ts";
import { WriteBudget } from "../../kube/status/budget.ts";
import { parsePrefix } from "../../ip/prefix.ts";
import { config, peer } from "../announce/specimen.ts";
import { Reports } from "./reports.ts";

/** The reports of node `a`, in clusters of one kind each. */
class Stage {
  readonly stop = new AbortController();
  readonly reports: Reports;
  nodeUid: string | undefined = "u1";
  readonly #models = new Map<string, ApiModel<KubeObject>>();
  readonly #runnables: Runnable[] = [];

  constructor(left: Record<string, string[]> = {}) {
    for (const [kind, names] of Object.entries(left)) for (const name of names) this.model(kind).add({ metadata: ofNode(name) });
    const manager = {
      cache: (kind: Kind) => ({ ...this.model(kind.kind).cache, list: () => this.#listed(kind.kind) }),
      add: (runnable: Runnable) => this.#runnables.push(runnable),
    };
    this.reports = new Reports({
      manager: manager as unknown as Manager,
      client: { resource: (kind: Kind) => this.model(kind.kind).resource() } as unknown as KubeClient,
      node: "a",
      namespace: "metallb-system",
      budget: new WriteBudget(),
      log: createLog({ level: "silent" }),
    });
    this.reports.surroundings = { nodeUid: () => this.nodeUid, isNode: () => false, isPeer: () => false, isService: () => false };
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

const LEFT = ["metallb-system/a-tor", "metallb-system/a-gone"];
const ofNode = (name: string): ObjectMeta => ({ name, namespace: "metallb-system", annotations: { "plumbline.dev/node": "a" } });
const { peers } = config({ peers: [peer("tor", { address: "192.0.2.1" })] });
let stage: Stage;

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  stage.stop.abort();
  vi.useRealTimers();
});

test("what was said of a session before a restart stays while FRR does not know the peer yet, and goes with the peer", async () => {
  stage = new Stage({ BGPSessionStatus: ["a-tor", "a-gone"] });
  await vi.advanceTimersByTimeAsync(100);
  stage.reports.sessions(peers, [], new Set());
  expect(await stage.writes("BGPSessionStatus")).toEqual(["delete metallb-system/a-gone"]);
  stage.reports.sessions(new Map(), [], new Set());
  expect(await stage.writes("BGPSessionStatus")).toEqual(["delete metallb-system/a-tor"]);
});

test("nothing is told of a Service while the Node is gone", async () => {
  stage = new Stage();
  const advertised = [{ prefix: parsePrefix("10.0.0.1/32"), advertisement: "ad", communities: [] }];
  const say = () => stage.reports.service("shop/web", "u2", advertised, peers);
  say();
  expect(await stage.writes("ServiceBGPStatus")).toEqual(["create shop/web-a", "patchStatus shop/web-a"]);
  stage.nodeUid = undefined;
  say();
  expect(await stage.writes("ServiceBGPStatus")).toEqual(["delete shop/web-a"]);
  stage.nodeUid = "u3";
  say();
  expect(await stage.writes("ServiceBGPStatus")).toEqual(["create shop/web-a", "patchStatus shop/web-a"]);
});

test("what happens before the state of the node is there can be told of it all the same", async () => {
  stage = new Stage();
  expect(stage.reports.state).toEqual({ metadata: { name: "speaker-a", namespace: "metallb-system" } });
  stage.reports.configuration();
  await stage.writes("ConfigurationState");
  expect(stage.reports.state.metadata).toMatchObject({ name: "speaker-a", uid: expect.any(String) as string });
});
