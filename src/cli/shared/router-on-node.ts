import { FrrPass } from "../../frr/apply.ts";
import { merge, parse } from "../../frr/config.ts";
import { daemonsOf } from "../../frr/daemons.ts";
import { FrrError } from "../../frr/error.ts";
import type { ConfigLine } from "../../frr/fragment.ts";
import { FrrInstance } from "../../frr/instance.ts";
import type { FrrClient } from "../../frr/client.ts";
import { knownAddresses, routerMacs, type Session, sessions, vnis } from "../../frr/show.ts";
import type { NetworkNamespaces } from "../../hostnet/namespaces.ts";
import { readLinks } from "../../hostnet/snapshot.ts";
import type { Log } from "../../kube/log.ts";
import { NodeRouter } from "../../router/node-router.ts";
import { type LiveVni, vniReports } from "../../router/vnis.ts";
import type { VniReport } from "../../router/report.ts";
import type { PollScope, FrrAnswer } from "../../router/sessions.ts";
import { FRR_NAME, type RouterHostOptions } from "./agent-options.ts";
import { readdir, readFile, readlink, stat } from "node:fs/promises";
import { join } from "node:path";

interface RouterOnMachineOptions {
  frr: FrrInstance;
  /** The load balancer's FRR, if this machine has one. */
  hostFrr?: FrrInstance | undefined;
  apiServer: string;
  log: Log;
  /** Resolves when FRR runs; rejects with the reason why it does not, if known. */
  frrUp?: () => Promise<void>;
}

export function routerOnMachine(
  hostOptions: RouterHostOptions,
  { frr, hostFrr, apiServer, log, frrUp }: RouterOnMachineOptions,
): NodeRouter {
  return new NodeRouter({
    namespaces: networkNamespaces(hostOptions),
    stateDirectory: hostOptions.stateDirectory,
    bootFile: frr.bootFile,
    apiServer,
    frr: {
      async open(applied, signal) {
        await frrUp?.();
        await assertInNamespace(hostOptions, frrUp !== undefined);
        return FrrPass.open(frr, applied, signal);
      },
      running: (signal) => runningLines(frr, signal),
      addresses: (signal) => knownAddresses(frr.router, signal),
      ...(hostFrr && { hostAddresses: (signal) => knownAddresses(hostFrr.router, signal) }),
    },
    log,
  });
}

/** After a namespace was deleted and created again, FRR still runs in the old one, which nothing can reach. */
async function assertInNamespace({ frrRunDirectory, routerNetns }: RouterHostOptions, ours: boolean): Promise<void> {
  const strays = await daemonsOutsideNamespace(frrRunDirectory, routerNetns);
  if (strays.length === 0) return;
  // The supervisor starts them again in the right namespace.
  if (ours) for (const pid of strays) process.kill(pid, "SIGKILL");
  const fix = ours ? "restarting it" : "restart FRR";
  throw new FrrError("NotStarted", `FRR runs in a network namespace that is no longer called ${routerNetns}; ${fix}`);
}

export function networkNamespaces({ routerNetns, hostNetns }: RouterHostOptions): NetworkNamespaces {
  return { router: routerNetns, ...(hostNetns !== undefined && { host: hostNetns }) };
}

export function frrOf({ routerNetns, stateDirectory, frrRunDirectory, frrRoot }: RouterHostOptions, log: Log): FrrInstance {
  return new FrrInstance({
    name: FRR_NAME,
    netns: routerNetns,
    runDirectory: frrRunDirectory,
    stateDirectory,
    ...(frrRoot !== undefined && { root: frrRoot }),
    log,
  });
}

export async function readRouterState(
  { router }: FrrInstance,
  { namespaces, vnis: live }: Pick<NodeRouter, "namespaces" | "vnis">,
  scope: PollScope,
  signal: AbortSignal,
): Promise<FrrAnswer> {
  const [bgp, evpn] = await Promise.all([sessions(router, signal), scope.vnis && readVnis(router, namespaces, live, signal)]);
  const daemons = daemonsOf(await router.version(signal));
  const identities = await Promise.all(daemons.map((daemon) => router.identity(daemon)));
  return {
    sessions: bgp.map(({ vrf, neighbor, state, sinceMs }) =>
      sinceMs === undefined ? { vrf, neighbor, state } : { vrf, neighbor, state, sinceMs },
    ),
    ...(evpn && { vnis: evpn }),
    identity: identities.join(" "),
    isConnected: isConnected(bgp),
  };
}

/** The session of a host does not lead to other nodes. If no session carries EVPN routes, that is a fault, and not a session that is down. */
function isConnected(bgp: readonly Session[]): boolean {
  const main = bgp.filter(({ vrf }) => vrf === "default");
  const withEvpn = main.filter(({ families }) => families.some(({ family }) => family === "l2VpnEvpn"));
  return (withEvpn.length > 0 ? withEvpn : main).some(({ state }) => state === "Established");
}

async function readVnis(
  router: FrrClient,
  namespaces: NetworkNamespaces,
  live: readonly LiveVni[],
  signal: AbortSignal,
): Promise<VniReport[]> {
  const [output, links] = await Promise.all([
    vnis(router, signal),
    live.length > 0 ? readLinks(namespaces.router, signal).catch(() => undefined) : undefined,
  ]);
  signal.throwIfAborted();
  return vniReports(live, output, links);
}

export async function readOverlay(
  { router }: FrrInstance,
  { namespaces, vnis: live }: Pick<NodeRouter, "namespaces" | "vnis">,
  signal: AbortSignal,
) {
  const has = (type: LiveVni["type"]) => live.some((one) => one.type === type);
  const [links, macs, known] = await Promise.all([
    readLinks(namespaces.router, signal),
    has("L3") ? routerMacs(router, signal) : new Map<string, string>(),
    has("L2") ? vnis(router, signal) : [],
  ]);
  return { links, routerMacs: macs, vteps: new Map(known.map(({ vni, vteps }) => [vni, vteps])) };
}

async function runningLines({ router }: FrrInstance, signal: AbortSignal): Promise<ConfigLine[]> {
  const daemons = daemonsOf(await router.version(signal));
  const fragments = [];
  for (const owner of daemons) fragments.push({ owner, lines: parse(await router.runningConfig(owner, signal)) });
  return merge(fragments);
}

/**
 * The FRR daemons that run in another network namespace than the one of this name, because it was deleted and created again. Daemons in
 * another container are not found.
 */
async function daemonsOutsideNamespace(runDirectory: string, netns: string): Promise<number[]> {
  const named = await stat(join("/run/netns", netns)).catch(() => undefined);
  if (!named) return [];
  const files = (await readdir(runDirectory).catch(() => [])).filter((name) => name.endsWith(".pid"));
  const strays: number[] = [];
  for (const file of files) {
    const pid = Number(await readFile(join(runDirectory, file), "utf8").catch(() => ""));
    const name = (await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "")).trim();
    if (!Number.isInteger(pid) || pid <= 1 || `${name}.pid` !== file) continue;
    const inside = await readlink(`/proc/${pid}/ns/net`).catch(() => undefined);
    if (inside !== undefined && inside !== `net:[${named.ino}]`) strays.push(pid);
  }
  return strays;
}
