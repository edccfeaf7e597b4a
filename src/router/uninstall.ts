import { KernelError } from "../hostnet/error.ts";
import { LinkApplier } from "../hostnet/apply.ts";
import type { NetworkNamespaces } from "../hostnet/namespaces.ts";
import { linkOwnership } from "../hostnet/ownership.ts";
import { daemonRemovals, fileRemovals, type ProgramFiles, type Removal } from "../hostnet/removal.ts";
import { ip } from "../hostnet/run.ts";
import type { NetnsRole } from "../hostnet/desired-link.ts";
import { RouterStateFile } from "./state.ts";

interface Cleaning extends ProgramFiles {
  readonly namespaces: NetworkNamespaces;
}

const FILES =
  /^(router\.json(\.previous)?(\.new|\.damaged|\.version-\d+)?|frr\.conf(\.new)?|frr\.candidate\.conf(\.new)?|log|reload-.*|signing-key\.pem(\.new)?)$/;

/** Everything that Plumbline's router has on this machine, in the order of removal. */
export async function removals(cleaning: Cleaning, signal: AbortSignal): Promise<Removal[]> {
  const { namespaces } = cleaning;
  const found = await daemonRemovals(cleaning);
  const ours = await linksOf(namespaces, cleaning.stateDirectory, signal);
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
  return [...found, ...(await fileRemovals(cleaning, FILES))];
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
