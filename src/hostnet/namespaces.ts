import { stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { KernelError } from "./error.ts";
import { ip } from "./run.ts";

export interface NetworkNamespaces {
  /** A named network namespace; our own where there is no name. */
  readonly host?: string;
  /** Always a named one: see ensureNamespace. */
  readonly router: string;
}

/** Right after its name exists the namespace cannot be entered yet, so concurrent callers wait for the first. */
const underWay = new Map<string, Promise<void>>();

/** The file system of namespaces: `ip netns add` mounts each under its name. */
const NSFS = 0x6e736673;

/** Its loopback is up. The namespace stays until it is deleted. */
export async function ensureNamespace(name: string, signal: AbortSignal): Promise<void> {
  const mounted = await statfs(join("/run/netns", name)).catch(() => undefined);
  if (mounted?.type !== NSFS) await raiseLoopback(name, signal);
}

/** Creates the namespace if it does not exist. */
export async function raiseLoopback(name: string, signal: AbortSignal): Promise<void> {
  await underWay.get(name)?.catch(() => {});
  const ensuring = ensure(name, signal).finally(() => underWay.delete(name));
  underWay.set(name, ensuring);
  await ensuring;
}

async function ensure(name: string, signal: AbortSignal): Promise<void> {
  const loopback = await ip(name, ["-j", "link", "show", "dev", "lo"], { signal }).catch(async (error: unknown) => {
    if (!(error instanceof KernelError) || error.code !== "Unreachable" || !error.text.includes("No such file")) throw error;
    await create(name, signal);
    return "[]";
  });
  const [lo] = JSON.parse(loopback) as { flags: string[] }[];
  if (!lo?.flags.includes("UP")) await ip(name, ["link", "set", "dev", "lo", "up"], { signal, link: "lo" });
}

async function create(name: string, signal: AbortSignal): Promise<void> {
  try {
    await ip(undefined, ["netns", "add", name], { signal });
  } catch (error) {
    if (!(error instanceof KernelError)) throw error;
    if (error.text.includes("File exists")) return;
    throw new KernelError("Unreachable", `Cannot create network namespace ${name}: ${error.text}`, error, { cause: error });
  }
}

/**
 * Differs after a namespace was deleted and created again: the kernel reuses the number of a deleted namespace. Our own has no name and is
 * always the same.
 */
export async function namespaceIdentity(name: string | undefined): Promise<string> {
  if (name === undefined) return "our own";
  const found = await stat(join("/run/netns", name), { bigint: true }).catch(() => undefined);
  return found ? `${name} ${found.ino} ${found.ctimeNs}` : `${name} missing`;
}
