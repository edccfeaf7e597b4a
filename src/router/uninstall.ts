import { readdir, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { KernelError } from "../hostnet/error.ts";
import { LinkApplier } from "../hostnet/apply.ts";
import type { NetworkNamespaces } from "../hostnet/namespaces.ts";
import { linkOwnership } from "../hostnet/ownership.ts";
import type { Removal } from "../hostnet/removal.ts";
import { ip } from "../hostnet/run.ts";
import type { NetnsRole } from "../hostnet/desired-link.ts";
import { RouterStateFile } from "./state.ts";

interface Cleaning {
  readonly namespaces: NetworkNamespaces;
  readonly stateDirectory: string;
  readonly frrRunDirectory: string;
  readonly stopFrr: () => Promise<void>;
}

/** Our files in the state directory; any other file is foreign. */
const FILES =
  /^(router\.json(\.previous)?(\.new|\.damaged|\.version-\d+)?|frr\.conf(\.new)?|frr\.candidate\.conf(\.new)?|log|reload-.*|signing-key\.pem(\.new)?)$/;

/** Everything that Plumbline's router has on this machine, in the order of removal. */
export async function removals(
  { namespaces, stateDirectory, frrRunDirectory, stopFrr }: Cleaning,
  signal: AbortSignal,
): Promise<Removal[]> {
  const found: Removal[] = [];
  const running = (await readdir(frrRunDirectory).catch(() => [])).some((name) => name.endsWith(".pid"));
  if (running) found.push({ says: [`Stop the daemons of FRR in ${frrRunDirectory}`], run: () => stopFrr() });

  const ours = await linksOf(namespaces, stateDirectory, signal);
  if (ours && ours.links.length > 0) {
    const { links } = ours;
    const says = links.map(({ netns, name, moved }) =>
      moved ? `Move interface ${name} back to the host` : `Delete link ${name} ${where(netns, namespaces)}`,
    );
    found.push({ says, run: (signal) => removeLinks(namespaces, links, signal) });
  }
  if (ours && ours.foreign.length === 0) {
    found.push({
      says: [`Delete network namespace ${namespaces.router}`],
      run: (signal) => ip(undefined, ["netns", "del", namespaces.router], { signal }),
    });
  }
  const files = (await readdir(stateDirectory).catch(() => [])).filter((name) => FILES.test(name)).sort();
  for (const path of files.map((name) => join(stateDirectory, name))) {
    found.push({ says: [`Delete ${path}`], run: () => rm(path, { recursive: true, force: true }) });
  }
  if (files.length > 0)
    found.push({ says: [`Delete ${stateDirectory} if nothing else is in it`], run: () => rmdir(stateDirectory).catch(() => {}) });
  return found;
}

interface OurLink {
  netns: NetnsRole;
  name: string;
  moved: boolean;
}

/** Undefined where there is no namespace of the router. */
async function linksOf(
  namespaces: NetworkNamespaces,
  stateDirectory: string,
  signal: AbortSignal,
): Promise<{ links: OurLink[]; foreign: string[] } | undefined> {
  const { state } = await new RouterStateFile(stateDirectory).load({ setAside: false });
  try {
    await using kernel = await LinkApplier.open(namespaces, signal);
    const { have } = kernel;
    const links = (["router", "host"] as const).flatMap((netns) =>
      [...have[netns].values()]
        .filter((link) => linkOwnership(link) !== "foreign")
        .map((link): OurLink => ({ netns, name: link.name, moved: linkOwnership(link) === "moved" })),
    );
    // Bridges of Open vSwitch bear no mark that the kernel shows.
    const known = [...state.lastGood.values()].flatMap(({ rendered }) => rendered.links).filter(({ type }) => type === "ovs-bridge");
    const bridges = known.map(({ netns, name }): OurLink => ({ netns, name, moved: false }));
    const foreign = [...have.router.values()].filter((link) => link.name !== "lo" && linkOwnership(link) === "foreign");
    return { links: [...links, ...bridges].sort(lastMadeFirst), foreign: foreign.map(({ name }) => name) };
  } catch (error) {
    if (error instanceof KernelError && error.code === "Unreachable") return undefined;
    throw error;
  }
}

/** Interfaces move back only when nothing depends on them. */
function lastMadeFirst(a: OurLink, b: OurLink): number {
  return Number(a.moved) - Number(b.moved);
}

function where(role: NetnsRole, { host, router }: NetworkNamespaces): string {
  const namespace = role === "router" ? router : host;
  return namespace === undefined ? "on the host" : `in network namespace ${namespace}`;
}

async function removeLinks(namespaces: NetworkNamespaces, links: readonly OurLink[], signal: AbortSignal): Promise<void> {
  await using kernel = await LinkApplier.open(namespaces, signal);
  const { rejected } = await kernel.remove(links);
  if (rejected) throw rejected;
}
