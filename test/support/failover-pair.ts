import { randomBytes } from "node:crypto";
import { vi } from "vitest";
import { allowPeerSecret } from "../../lab/kube/identities.ts";
import { peerKubeconfig } from "../../lab/sites/peer-access.ts";
import type { VolumeDamage } from "../../lab/sites/storage-control.ts";
import { Pod } from "../../src/api/core/pod.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { FailoverPolicy, type FailoverStatus } from "../../src/api/failover/failover-policy.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import { createLog } from "../../src/kube/log.ts";
import { CuttingProxy } from "./disconnecting-proxy.ts";
import { comparable, TestController, type TestControllerOptions } from "./failover-controller.ts";
import type { FailoverSite } from "./failover-site.ts";

const { signal } = new AbortController();
/** csi-addons looks at a demoted volume after 15 s, and at one that follows every 30 s. */
const PATIENCE = { timeout: 180_000, interval: 250 };

type Spec = Partial<FailoverPolicy["spec"]>;

/** One application at two sites, each with its policy, its controller and a way to ask the other, which can be cut. */
export class FailoverPair {
  readonly east: PairedSite;
  readonly west: PairedSite;
  readonly #stop = new AbortController();
  readonly #both: Promise<void>[] = [];
  readonly #overlaps: string[] = [];

  private constructor(east: PairedSite, west: PairedSite) {
    this.east = east;
    this.west = west;
  }

  /** East is primary, west secondary, and both have come to rest. */
  static async start([east, west]: readonly [FailoverSite, FailoverSite], spec: Spec = {}): Promise<FailoverPair> {
    const namespace = `shop-${randomBytes(3).toString("hex")}`;
    const pair = new FailoverPair(new PairedSite(east, namespace), new PairedSite(west, namespace));
    await Promise.all([pair.east.prepare("primary"), pair.west.prepare("secondary")]);
    await Promise.all([pair.east.meet(pair.west), pair.west.meet(pair.east)]);
    await Promise.all([pair.east.begin({ ...spec, desiredState: "primary" }), pair.west.begin({ ...spec, desiredState: "secondary" })]);
    await Promise.all([pair.east.complete(), pair.west.complete()]);
    pair.#keepWatch();
    return pair;
  }

  /** Cuts both ways, or fixes them. */
  set cut(isCut: boolean) {
    for (const { line } of [this.east, this.west]) {
      if (!line) continue;
      line.blocked = isCut;
      if (isCut) line.cutAll();
    }
  }

  /** When pods were seen at both sites at once, since the beginning. */
  async overlaps(): Promise<readonly string[]> {
    await Promise.all(this.#both);
    return this.#overlaps;
  }

  damage(): Promise<readonly VolumeDamage[]> {
    return this.east.site.site.storage.damage(this.east.namespace);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.east.stop(), this.west.stop()]);
  }

  #keepWatch(): void {
    const log = createLog({ level: "silent" });
    const caches = [this.east, this.west].map(({ site, namespace }) => new Cache(site.client, Pod, { namespace, log }));
    for (const cache of caches) {
      cache.start(this.#stop.signal);
      cache.subscribe(() => {
        if (caches.every((one) => one.list().length > 0)) this.#both.push(this.#confirm());
      });
    }
  }

  /** Two watches are never quite at the same moment; two reads, one after the other, are no later than what they show. */
  async #confirm(): Promise<void> {
    const first = await this.east.pods();
    const second = await this.west.pods();
    const still = await this.east.pods();
    if (still.some((pod) => first.includes(pod)) && second.length > 0)
      this.#overlaps.push(`${still.join(", ")} at east, ${second.join(", ")} at west`);
  }
}

export class PairedSite {
  readonly site: FailoverSite;
  readonly namespace: string;
  /** Over which this site is asked by the other. */
  line: CuttingProxy | undefined;
  #controllers: TestController[] = [];
  #application: Awaited<ReturnType<FailoverSite["application"]>> | undefined;

  constructor(site: FailoverSite, namespace: string) {
    this.site = site;
    this.namespace = namespace;
  }

  async prepare(role: "primary" | "secondary"): Promise<void> {
    this.line = await CuttingProxy.before(this.site.site.server.port, 1);
    this.line.calm = true;
    this.#application = await this.site.application({ namespace: this.namespace, role });
  }

  /** Gives the other site what it needs to ask this one. */
  async meet({ site }: PairedSite): Promise<void> {
    const { namespace } = this;
    const { site: own } = this.site;
    const kubeconfig = (await peerKubeconfig(own, namespace, signal)).replace(own.server.url, `https://127.0.0.1:${this.line?.port}`);
    await site.client
      .resource(Secret)
      .create({ metadata: { name: "failover-other-site", namespace }, stringData: { kubeconfig } }, { signal });
    await allowPeerSecret(site.client, namespace, signal);
  }

  async begin(spec: FailoverPolicy["spec"]): Promise<void> {
    const peer = { kubeconfigSecret: { name: "failover-other-site", key: "kubeconfig" } };
    await this.#application?.policy({ peer, ...spec });
    this.controller();
  }

  /** A new one; what was there before is left as it is. */
  controller(options: Partial<TestControllerOptions> = {}): TestController {
    const controller = new TestController({ access: this.site.access, namespace: this.namespace, ...options });
    this.#controllers.push(controller);
    return controller;
  }

  async stop(): Promise<void> {
    await this.stopControllers();
    await this.line?.stop();
  }

  async stopControllers(): Promise<void> {
    await Promise.all(this.#controllers.splice(0).map((controller) => controller.stop()));
  }

  async want(spec: Spec): Promise<void> {
    await this.site.client.resource(FailoverPolicy).patch({ name: "site", namespace: this.namespace }, { spec }, { signal });
  }

  async policy(): Promise<FailoverPolicy> {
    return this.site.client.resource(FailoverPolicy).get("site", { namespace: this.namespace, signal });
  }

  async uid(): Promise<string> {
    return (await this.policy()).metadata.uid ?? "";
  }

  async pods(): Promise<string[]> {
    const { items } = await this.site.client.resource(Pod).list({ namespace: this.namespace, signal });
    return items.map(({ metadata }) => metadata.uid ?? metadata.name);
  }

  /** Specs and annotations of the application, to compare with those of another one. */
  async state(): Promise<ReturnType<typeof comparable> | undefined> {
    return this.#application && comparable(this.namespace, await this.#application.read());
  }

  /** The status when it is `Complete` for what is wanted now. */
  async complete(): Promise<FailoverStatus> {
    return this.until(({ metadata, status }) => {
      const complete = status?.conditions?.find(({ type }) => type === "Complete");
      return complete?.status === "True" && status?.observedGeneration === metadata.generation;
    });
  }

  /** The status when it is so. */
  async until(isSo: (policy: FailoverPolicy) => boolean | undefined): Promise<FailoverStatus> {
    return vi.waitFor(async () => {
      const policy = await this.policy();
      if (!isSo(policy)) throw new Error(`${this.site.site.name} is not there yet: ${policy.status?.summary}`);
      return policy.status ?? {};
    }, PATIENCE);
  }
}
