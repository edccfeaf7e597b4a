import { ConfigMap } from "../api/core/config-map.ts";
import { metaTime } from "../api/time.ts";
import { feed, run } from "../hostnet/run.ts";
import type { Links } from "../hostnet/snapshot.ts";
import type { Runnable } from "../kube/controller/controller.ts";
import type { Manager } from "../kube/controller/manager.ts";
import type { Log } from "../kube/log.ts";
import { membersName, parseMembers } from "../kube/members/members.ts";
import { sharedKey } from "../kube/members/shared-key.ts";
import type { SigningKey } from "../kube/members/signing-key.ts";
import type { LiveVni } from "./vnis.ts";
import { type OverlayMap, parseOverlayMap } from "./probes/overlay-map.ts";
import { type AbsentVteps, absentVteps, lackingRoutes } from "./absent-vteps.ts";
import { type LocalVni, OverlayProber, type ProbeInputs, type ProbePeer } from "./probes/prober.ts";
import { STALE_MS } from "./probes/pairs.ts";
import { type OverlayReport, overlayReport } from "./probes/report-overlay.ts";
import { routerOverlayMapUnreadable, routerOverlayPaths, routerProbesDropped } from "./metrics.ts";
import { type OverlayState, pathKey } from "./overlay-status.ts";

export interface OverlayOptions {
  readonly systemNamespace: string;
  readonly signingKey: SigningKey;
  /** What the kernel and FRR have now. */
  observe(signal: AbortSignal): Promise<RouterObservation>;
}

interface RouterObservation {
  readonly links: Links;
  /** MACs by `VNI VTEP`. */
  readonly routerMacs: ReadonlyMap<string, string>;
  /** The remote VTEPs that FRR has, by L2 VNI. */
  readonly vteps: ReadonlyMap<number, readonly string[]>;
}

/** Changes of links are observed at once, and count only after that long. */
const COUNT_MS = 4_000;
const FLOOD_REPAIR_MS = 60_000;

interface OverlayParts extends OverlayOptions {
  readonly manager: Pick<Manager, "lateCache">;
  readonly log: Log;
  readonly node: string;
  readonly router: { readonly namespaces: { readonly router: string }; readonly vnis: readonly LiveVni[] };
  /** Whether a BGP session with the fabric is up. */
  isConnected(): boolean;
  /** A path has begun to fail, to work, or to be unknown. */
  onChange(): void;
  /** Flood entries that the kernel had lost, as `vni110 100.65.0.2`. */
  onRepaired(entries: readonly string[]): void;
}

/** Probes the overlay of this node, and reports the result. */
export class Overlay implements Runnable {
  readonly name = "overlay probes";
  readonly #router: OverlayParts["router"];
  readonly #prober: OverlayProber;
  #absent: AbsentVteps = new Map();
  #countedAt = -Infinity;
  #repairAt = 0;
  readonly #startedAt = performance.now();
  #since: OverlayState["since"] = new Map();

  constructor(overlay: OverlayParts) {
    const { manager, log, node, router, systemNamespace: namespace, signingKey } = overlay;
    const members = manager.lateCache(ConfigMap, { namespace, fieldSelector: `metadata.name=${membersName}` });
    const keys = new PairKeys(signingKey);
    this.#router = router;
    this.#prober = new OverlayProber({
      netns: router.namespaces.router,
      log,
      onChange: () => overlay.onChange(),
      onDropped: (reason, count) => routerProbesDropped.inc({ reason }, count),
      observe: async (exportsOf, signal) => {
        const published = members.get(`${namespace}/${membersName}`);
        const live = router.vnis;
        if (!published || live.length === 0) {
          routerOverlayMapUnreadable.set(0);
          return undefined;
        }
        const observed = await overlay.observe(signal);
        const inputs = probeInputs({ node, live, members: published, keys, ...observed });
        const isConnected = overlay.isConnected();
        const isDue = performance.now() - this.#countedAt >= COUNT_MS;
        if (isDue) this.#countedAt = performance.now();
        this.#absent = inputs ? absentVteps({ ...inputs, isConnected, exportsOf }, observed.vteps, this.#absent, isDue ? 1 : 0) : new Map();
        if (!inputs) return undefined;
        await this.#repairFlooding(inputs, observed, overlay, signal);
        return { ...inputs, lacking: lackingRoutes(this.#absent), exports: isConnected ? announced(live) : new Map() };
      },
    });
  }

  async #repairFlooding({ vnis }: OverlayPeers, { vteps }: RouterObservation, overlay: OverlayParts, signal: AbortSignal): Promise<void> {
    if (performance.now() < this.#repairAt) return;
    this.#repairAt = performance.now() + FLOOD_REPAIR_MS;
    const lists = vnis.flatMap(({ vni, type, vxlan }) => (type === "L2" ? [{ vxlan, vteps: vteps.get(vni) ?? [] }] : []));
    const repaired = await repairFloodEntries(this.#router.namespaces.router, lists, signal);
    if (repaired.length > 0) overlay.onRepaired(repaired);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#prober.run(signal);
  }

  linksChanged(): void {
    this.#prober.refresh();
  }

  state(): OverlayState {
    const found = this.#prober.report;
    const report = found && overlayReport(found);
    const { failing = [], paths = { ok: 0, failing: 0, unknown: 0 } } = report ?? {};
    for (const [state, count] of Object.entries(paths)) routerOverlayPaths.set({ state }, count);
    this.#since = timesOf(failing, this.#since);
    const isOpen = !report || (failing.length === 0 && report.unknown + report.pending > 0);
    const isStarting = isOpen && performance.now() - this.#startedAt < STALE_MS;
    return { vtep: vtepOf(this.#router.vnis), report, since: this.#since, isStarting };
  }
}

/** Since when the paths fail. */
function timesOf(failing: OverlayReport["failing"], before: OverlayState["since"]): OverlayState["since"] {
  const now = performance.now();
  const times = failing.map((path) => {
    const key = pathKey(path);
    return [key, before.get(key) ?? metaTime(new Date(Date.now() - (now - (path.since ?? now))))] as const;
  });
  return new Map(times);
}

/** By L3VNI in which this node announces prefixes. */
function announced(live: readonly LiveVni[]): Map<number, number> {
  return new Map(live.flatMap(({ vni, routes }) => (routes?.hasPrefixes === true ? [[vni, routes.exports] as const] : [])));
}

interface OverlayObservation extends RouterObservation {
  readonly node: string;
  readonly live: readonly LiveVni[];
  readonly members: ConfigMap;
  readonly keys: PairKeys;
}

/** The keys that this node shares with others: computed once for each. */
class PairKeys {
  readonly #own: SigningKey;
  readonly #keys = new Map<string, Buffer | undefined>();

  constructor(own: SigningKey) {
    this.#own = own;
  }

  /** Undefined for a key that cannot be used. */
  with(publicKey: string): Buffer | undefined {
    if (!this.#keys.has(publicKey)) this.#keys.set(publicKey, this.#compute(publicKey));
    return this.#keys.get(publicKey);
  }

  #compute(publicKey: string): Buffer | undefined {
    try {
      return sharedKey(this.#own, publicKey, "overlay probe");
    } catch {
      return undefined;
    }
  }
}

type OverlayPeers = Omit<ProbeInputs, "lacking" | "exports">;

/** What this node has to probe; undefined while it has no VNI, or no index yet. */
function probeInputs({ node, live, links, members, routerMacs, keys }: OverlayObservation): OverlayPeers | undefined {
  const { indexes, keys: published, live: alive } = parseMembers(members);
  const index = indexes[node]?.index;
  const vnis = localVnis(live, links);
  const vtep = vtepOf(live);
  if (index === undefined || vtep === undefined || vnis.length === 0) return undefined;
  const peers = new Map<number, ProbePeer>();
  const sharing = new Map<number, number[]>(vnis.map(({ vni }) => [vni, [index]]));
  const isAlive = new Set(alive);
  for (const [name, { index: other, vtep: at, l2, l3 }] of readOverlayMap(members).nodes) {
    const key = published[name] === undefined ? undefined : keys.with(published[name]);
    const common = [...l2, ...l3].filter((vni) => sharing.has(vni));
    if (name === node || key === undefined || common.length === 0) continue;
    peers.set(other, { node: name, vtep: at, key, isLive: isAlive.has(name) });
    for (const vni of common) sharing.get(vni)?.push(other);
  }
  const routerMac = (vni: number, at: string) => routerMacs.get(`${vni} ${at}`);
  return { index, vtep, vnis, peers, members: sharing, routerMac };
}

/** It is asked for every few seconds, and changes rarely. */
const readMaps = new WeakMap<ConfigMap, OverlayMap>();

function readOverlayMap(members: ConfigMap): OverlayMap {
  const known = readMaps.get(members);
  if (known) return known;
  routerOverlayMapUnreadable.set(1);
  const map = parseOverlayMap(members);
  routerOverlayMapUnreadable.set(0);
  readMaps.set(members, map);
  return map;
}

function vtepOf(live: readonly LiveVni[]): string | undefined {
  for (const { links } of live) {
    for (const link of links) if (link.type === "vxlan") return link.local;
  }
  return undefined;
}

/** Without those whose links are missing: VNIsUp says so. */
function localVnis(live: readonly LiveVni[], have: Links): LocalVni[] {
  return live.flatMap(({ vni, type, links, routes }) => {
    const vxlan = links.find((link) => link.type === "vxlan");
    const bridge = vxlan?.master === undefined ? undefined : have.get(vxlan.master);
    if (!vxlan || !bridge) return [];
    const devices = `${bridge.index} ${have.get(vxlan.name)?.index}`;
    const imports = routes?.importsOwn === true ? { imports: routes.exports } : {};
    return [{ vni, type, bridge: bridge.name, vxlan: vxlan.name, devices, mtu: bridge.mtu, ...imports }];
  });
}

interface FloodList {
  readonly vxlan: string;
  /** The remote VTEPs that FRR has for the VNI. */
  readonly vteps: readonly string[];
}

/** What is flooded goes to these addresses. */
const FLOODED = "00:00:00:00:00:00";

/** Adds the flood entries that FRR believes to have made and that the kernel does not have. Returns them as `vni110 100.65.0.2`. */
export async function repairFloodEntries(netns: string, lists: readonly FloodList[], signal: AbortSignal): Promise<string[]> {
  if (lists.every(({ vteps }) => vteps.length === 0)) return [];
  // Only these of all entries: there may be tens of thousands.
  const script = `bridge -n "$0" fdb show | grep '^${FLOODED} ' || true`;
  const { stdout } = await run("sh", ["-c", script, netns], { signal, namespace: netns });
  const have = new Set<string>();
  for (const line of stdout.split("\n")) {
    const [, vxlan, vtep] = / dev (\S+) dst (\S+)/.exec(line) ?? [];
    if (vxlan !== undefined) have.add(`${vxlan} ${vtep}`);
  }
  const missing = lists.flatMap(({ vxlan, vteps }) => vteps.map((vtep) => `${vxlan} ${vtep}`)).filter((entry) => !have.has(entry));
  const lines = missing.map((entry) => {
    const [vxlan, vtep] = entry.split(" ");
    return `fdb append ${FLOODED} dev ${vxlan} dst ${vtep} self permanent`;
  });
  if (lines.length === 0) return [];
  // FRR may have removed a VTEP, or added the entry, in between.
  await feed(["bridge", "-n", netns, "-force", "-batch", "-"], `${lines.join("\n")}\n`, { signal, namespace: netns });
  return missing;
}
