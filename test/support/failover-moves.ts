import { setTimeout as sleep } from "node:timers/promises";
import { allowPeerSecret } from "../../lab/kube/identities.ts";
import { claimSpec, persistentVolume, statefulSet, volumeReplication } from "../../lab/sites/application.ts";
import { PersistentVolume, VolumeReplication } from "../../lab/sites/kinds.ts";
import type { SiteName } from "../../lab/sites/names.ts";
import { peerKubeconfig } from "../../lab/sites/peer-access.ts";
import { createNamespace, until } from "../../lab/sites/site.ts";
import type { ReplicationCall } from "../../lab/sites/storage-control.ts";
import { PersistentVolumeClaim } from "../../src/api/core/persistent-volume-claim.ts";
import { Pod } from "../../src/api/core/pod.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { StatefulSet } from "../../src/api/core/stateful-set.ts";
import { FailoverPolicy, type Role } from "../../src/api/failover/failover-policy.ts";
import type { Kind } from "../../src/api/kind.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import { isKubeError } from "../../src/kube/client/error.ts";
import { createLog } from "../../src/kube/log.ts";
import type { Random } from "../fuzz/random.ts";
import { CuttingProxy } from "./disconnecting-proxy.ts";
import type { FailoverSite } from "./failover-site.ts";
import { PodOverlaps } from "./pod-overlaps.ts";
import { createVolumeGroup, handleOf } from "./volume-groups.ts";

const { signal } = new AbortController();
const WRITE_EVERY_MS = 200;
const PEER = { kubeconfigSecret: { name: "failover-other-site", key: "kubeconfig" } };
const CALLS: readonly ReplicationCall[] = ["PromoteVolume", "DemoteVolume", "ResyncVolume", "GetVolumeReplicationInfo"];
const otherOf = (site: SiteName): SiteName => (site === "east" ? "west" : "east");

type Sites = Readonly<Record<SiteName, FailoverSite>>;

export interface MoveResult {
  readonly move: string;
  readonly faults: readonly string[];
  readonly seconds: number;
  /** An acknowledged version that the new primary does not have. */
  readonly missing: number | undefined;
}

interface MovingOptions {
  readonly random: Random;
  /** Its volumes are one VolumeGroupReplication, instead of one VolumeReplication. */
  readonly isGroup: boolean;
}

/** One policy at two sites, with a volume or a group of two, and a workload that writes to the first wherever its pods run. */
export class MovingApplication {
  readonly namespace: string;
  readonly overlaps: PodOverlaps;
  readonly #sites: Sites;
  readonly #random: Random;
  readonly #lines: Readonly<Record<SiteName, CuttingProxy>>;
  readonly #pods: Readonly<Record<SiteName, Cache<Pod>>>;
  readonly #stop = new AbortController();
  readonly #isGroup: boolean;
  /** The first is written to. Every demotion writes to all of them. */
  readonly #volumes: readonly [string, ...string[]];
  #primary: SiteName = "east";
  #acknowledged = 0;
  #writing: Promise<void> | undefined;

  private constructor(
    namespace: string,
    sites: Sites,
    lines: Readonly<Record<SiteName, CuttingProxy>>,
    { random, isGroup }: MovingOptions,
  ) {
    this.namespace = namespace;
    this.#sites = sites;
    this.#lines = lines;
    this.#random = random;
    this.#isGroup = isGroup;
    this.#volumes = [`${namespace}/data`, ...(isGroup ? [`${namespace}/wal`] : [])];
    const log = createLog({ level: "silent" });
    const pods = (site: SiteName) => new Cache(sites[site].client, Pod, { namespace, log });
    this.#pods = { east: pods("east"), west: pods("west") };
    const livePods = (site: SiteName) => patiently(() => sites[site].client.resource(Pod).list({ namespace, signal }));
    this.overlaps = new PodOverlaps(this.#pods, async (site) => (await livePods(site)).items);
  }

  /** East is primary, west follows, and both policies are there. */
  static async start(namespace: string, sites: Sites, options: MovingOptions): Promise<MovingApplication> {
    const lines = { east: await lineTo(sites.east), west: await lineTo(sites.west) };
    const application = new MovingApplication(namespace, sites, lines, options);
    await Promise.all([application.#create("east", "primary"), application.#create("west", "secondary")]);
    await Promise.all([application.#introduce("east"), application.#introduce("west")]);
    await Promise.all([application.#createPolicy("east", "primary"), application.#createPolicy("west", "secondary")]);
    for (const cache of Object.values(application.#pods)) cache.start(application.#stop.signal);
    application.#writing = application.#write();
    await application.#complete();
    // Both sites began with a pod.
    application.overlaps.begin();
    return application;
  }

  /** Moves to the other site, with whatever fault chance sends. Faults last for some seconds. */
  async move(withFaults: boolean): Promise<MoveResult> {
    const [from, to] = [this.#primary, otherOf(this.#primary)];
    const begun = performance.now();
    const transfer = await this.#setTransferTime();
    const faults = withFaults ? await this.#faults() : { names: [], healed: Promise.resolve() };
    const turns = withFaults && this.#random.chance(20);
    if (turns) await this.#turnBack(from, to);
    await this.#askBoth(from, to);
    this.#primary = to;
    const acknowledged = this.#stopped(from);
    await Promise.all([this.#complete(), faults.healed]);
    const last = await acknowledged;
    const holds = last === 0 || (await this.#sites.east.site.storage.holds(to, this.#volumes[0], last));
    return {
      move: `${this.namespace} to ${to}, its copy takes ${transfer} ms`,
      faults: [...faults.names, ...(turns ? ["turned back halfway"] : [])],
      seconds: (performance.now() - begun) / 1000,
      missing: holds ? undefined : last,
    };
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#writing;
    await Promise.all(Object.values(this.#lines).map((line) => line.stop()));
  }

  async #create(site: SiteName, role: Role): Promise<void> {
    const { client } = this.#sites[site];
    const { namespace } = this;
    const create = (kind: Kind, object: { metadata: { name: string }; spec: object }) =>
      client.resource(kind).create({ ...object, metadata: { namespace, ...object.metadata } }, { signal });
    await createNamespace(client, namespace, signal);
    if (this.#isGroup) await createVolumeGroup(client, namespace, ["data", "wal"], role);
    else {
      await create(PersistentVolume, persistentVolume(namespace, "data"));
      await create(PersistentVolumeClaim, { metadata: { name: "data" }, spec: claimSpec() });
      await create(VolumeReplication, volumeReplication("data", role));
    }
    await create(StatefulSet, statefulSet("db", { replicas: 1, graceSeconds: 1, claim: "data" }));
  }

  /** Gives the other site what it needs to ask this one. */
  async #introduce(site: SiteName): Promise<void> {
    const { site: own } = this.#sites[site];
    const { client } = this.#sites[otherOf(site)];
    const { namespace } = this;
    const kubeconfig = (await peerKubeconfig(own, namespace, signal)).replace(
      own.server.url,
      `https://127.0.0.1:${this.#lines[site].port}`,
    );
    await client
      .resource(Secret)
      .create({ metadata: { name: PEER.kubeconfigSecret.name, namespace }, stringData: { kubeconfig } }, { signal });
    await allowPeerSecret(client, namespace, signal);
  }

  async #createPolicy(site: SiteName, desiredState: Role): Promise<void> {
    const managedResources: FailoverPolicy["spec"]["managedResources"] = [
      this.#isGroup ? { kind: "VolumeGroupReplication", name: "all" } : { kind: "VolumeReplication", name: "data" },
      { kind: "StatefulSet", name: "db" },
    ];
    const spec: FailoverPolicy["spec"] = { desiredState, managedResources, peer: PEER };
    await this.#sites[site].client
      .resource(FailoverPolicy)
      .create({ metadata: { name: "site", namespace: this.namespace }, spec }, { signal });
  }

  /** Some copies take longer than csi-addons' first look after 15 s, some longer than its second one 30 s later. */
  async #setTransferTime(): Promise<number> {
    const [least, more] = this.#random.pick([
      [50, 2_000],
      [5_000, 9_000],
      [16_000, 12_000],
      [31_000, 9_000],
    ]);
    const ms = (least ?? 0) + this.#random.int(more ?? 1);
    const { storage } = this.#sites.east.site;
    // Of a group the last one is the slowest.
    await Promise.all(
      this.#volumes.map((volume, n) => storage.setTransferTime(volume, n === this.#volumes.length - 1 ? ms : Math.round(ms / 4))),
    );
    return ms;
  }

  /** Requests a switch and reverts it in the middle. */
  async #turnBack(from: SiteName, to: SiteName): Promise<void> {
    await this.#askBoth(from, to);
    await sleep(this.#random.int(20_000));
    await this.#askBoth(to, from);
    await sleep(this.#random.int(5_000));
  }

  /** Source first, target first, or both at once. */
  async #askBoth(from: SiteName, to: SiteName): Promise<void> {
    const asks = [() => this.#want(from, "secondary"), () => this.#want(to, "primary")];
    if (this.#random.chance(50)) asks.reverse();
    const delay = this.#random.chance(50) ? 0 : this.#random.int(20_000);
    await asks[0]?.();
    await sleep(delay);
    await asks[1]?.();
  }

  async #want(site: SiteName, desiredState: Role): Promise<void> {
    const ref = { name: "site", namespace: this.namespace };
    const policies = this.#sites[site].client.resource(FailoverPolicy);
    await patiently(() => policies.patch(ref, { spec: { desiredState } }, { signal }));
  }

  /** Begins some; `healed` resolves when nothing is left of them. */
  async #faults(): Promise<{ readonly names: readonly string[]; readonly healed: Promise<unknown> }> {
    const { storage } = this.#sites.east.site;
    const names: string[] = [];
    const healing: Promise<unknown>[] = [];
    const forSome = async (begin: () => Promise<unknown>, end: () => Promise<unknown>) => {
      await sleep(this.#random.int(15_000));
      await begin();
      await sleep(1_000 + this.#random.int(15_000));
      await end();
    };
    if (this.#random.chance(40)) {
      const site = this.#random.pick<SiteName>(["east", "west"]);
      const rpc = this.#random.pick(CALLS);
      const volume = this.#isGroup ? await patiently(() => handleOf(this.#sites[site].client, this.namespace)) : this.#volumes[0];
      const where = { site, volume, rpc };
      names.push(`answer to ${rpc} at ${site} lost`);
      healing.push(storage.setFault(where, { losesAnswer: true, times: 1 + this.#random.int(2) }));
    }
    if (this.#random.chance(25)) {
      names.push("storage link cut");
      const set = (link: "up" | "cut") => () => Promise.all(this.#volumes.map((volume) => storage.setLink(link, volume)));
      healing.push(forSome(set("cut"), set("up")));
    }
    if (this.#random.chance(25)) {
      names.push("clusters cut off from each other");
      const set = (isCut: boolean) => () => Promise.resolve(this.#cut(isCut));
      healing.push(forSome(set(true), set(false)));
    }
    return { names, healed: Promise.all(healing) };
  }

  #cut(isCut: boolean): void {
    for (const line of Object.values(this.#lines)) {
      line.blocked = isCut;
      if (isCut) line.cutAll();
    }
  }

  /** Both policies are what they are asked for. */
  async #complete(): Promise<void> {
    for (const site of ["east", "west"] as const) {
      const policies = this.#sites[site].client.resource(FailoverPolicy);
      const role = site === this.#primary ? "primary" : "secondary";
      let summary = "";
      const isSo = async () => {
        const { metadata, status } = await patiently(() => policies.get("site", { namespace: this.namespace, signal }));
        summary = status?.summary ?? "";
        const complete = status?.conditions?.find(({ type }) => type === "Complete")?.status === "True";
        if (complete && status?.currentState === role && status.observedGeneration === metadata.generation) return true;
        await sleep(500);
        return false;
      };
      await until(() => `${this.namespace} is ${role} at ${site}: ${summary}`, isSo, signal, 360_000);
    }
  }

  /** The last version that was acknowledged at a site, once no pod is left there. */
  async #stopped(site: SiteName): Promise<number> {
    while (this.#pods[site].list().length > 0 && !this.#stop.signal.aborted) await sleep(50);
    return this.#acknowledged;
  }

  async #write(): Promise<void> {
    const { storage } = this.#sites.east.site;
    while (!this.#stop.signal.aborted) {
      for (const site of ["east", "west"] as const) {
        if (this.#pods[site].list().length === 0) continue;
        const version = await storage.write(site, this.#volumes[0]);
        if (version !== undefined) this.#acknowledged = version;
      }
      await sleep(WRITE_EVERY_MS);
    }
  }
}

async function lineTo({ site }: FailoverSite): Promise<CuttingProxy> {
  const line = await CuttingProxy.before(site.server.port, 1);
  line.calm = true;
  return line;
}

/** An API server that was killed is back within a minute, or within some on a machine with other work. */
async function patiently<T>(request: () => Promise<T>): Promise<T> {
  for (const deadline = performance.now() + 300_000; ; await sleep(500)) {
    try {
      return await request();
    } catch (error) {
      // While it starts it also refuses, and does not know kinds.
      if (performance.now() > deadline || !isKubeError(error)) throw error;
    }
  }
}
