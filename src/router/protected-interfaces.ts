import { lookup } from "node:dns/promises";
import { Node } from "../api/core/node.ts";
import { routeTo } from "../hostnet/route-to.ts";
import type { Links } from "../hostnet/snapshot.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { isKubeError } from "../kube/client/error.ts";
import { backoffMs } from "../util/backoff.ts";
import { sleep } from "../util/sleep.ts";

/** By name, with the reason. */
type Guarded = Map<string, string>;

export interface NodeConnectivity {
  readonly nodeAddresses: readonly string[];
  /** Interfaces of the host that lead to the API server. */
  readonly towardsApi: ReadonlySet<string>;
}

/** Interfaces without which the host is cut off: those with its addresses or with routes to the API server, and everything below them. */
export function protectedInterfaces(links: Links, { nodeAddresses, towardsApi }: NodeConnectivity): Guarded {
  const guarded: Guarded = new Map();
  const wanted = new Set(nodeAddresses);
  for (const { name, addresses } of links.values()) {
    const address = addresses.map(({ text }) => text.slice(0, text.indexOf("/"))).find((text) => wanted.has(text));
    if (address !== undefined) guarded.set(name, `carries the Node address ${address}`);
    else if (towardsApi.has(name)) guarded.set(name, "carries the route to the API server");
  }
  const causes = new Map(guarded);
  const pending = [...guarded.keys()];
  for (const name of pending) {
    const { lower } = links.get(name) ?? {};
    const below = [...links.values()].flatMap((link) => {
      if (link.master === name) return [{ name: link.name, how: `is a port of ${name}` }];
      return link.name === lower ? [{ name: lower, how: `is the lower device of ${name}` }] : [];
    });
    for (const { name: under, how } of below) {
      if (guarded.has(under)) continue;
      const cause = causes.get(name) ?? "";
      causes.set(under, cause);
      guarded.set(under, `${how}, which ${cause}`);
      pending.push(under);
    }
  }
  // Loopback may have any address.
  guarded.delete("lo");
  return guarded;
}

const CACHE_MS = 600_000;

/** The interfaces that lead to the API server, by each of its known addresses. */
export class ApiRoutes {
  readonly #apiServer: string;
  readonly #namespace: string | undefined;
  #cached: { readonly at: number; readonly links: ReadonlySet<string> } | undefined;

  /** `https://host:port` or `unix:/path`, reached from a network namespace. */
  constructor(apiServer: string, namespace: string | undefined) {
    this.#apiServer = apiServer;
    this.#namespace = namespace;
  }

  /** `isNow`: read now; otherwise the result may be some minutes old. */
  async links(isNow: boolean, signal: AbortSignal): Promise<ReadonlySet<string>> {
    const now = performance.now();
    if (isNow || !this.#cached || now - this.#cached.at > CACHE_MS) this.#cached = { at: now, links: await this.#read(signal) };
    return this.#cached.links;
  }

  async #read(signal: AbortSignal): Promise<Set<string>> {
    if (this.#apiServer.startsWith("unix:")) return new Set();
    const host = new URL(this.#apiServer).hostname.replace(/^\[(.*)\]$/, "$1");
    // Without DNS the Node addresses protect the interface as well.
    const addresses = await lookup(host, { all: true }).catch(() => []);
    const routes = await Promise.all(addresses.map(({ address }) => routeTo(address, this.#namespace, signal)));
    return new Set(routes.flatMap((route) => route?.device ?? []));
  }
}

/** How long the API server may take to answer after an interface has moved. */
const API_MS = 60_000;

/** Any response counts, also an error: the path works in both directions. */
export async function apiAnswers(client: KubeClient, node: string, signal: AbortSignal): Promise<boolean> {
  const until = performance.now() + API_MS;
  for (let failures = 1; performance.now() < until; failures++) {
    try {
      await client.resource(Node).get(node, { signal: AbortSignal.any([signal, AbortSignal.timeout(5_000)]) });
      return true;
    } catch (error) {
      signal.throwIfAborted();
      if (isKubeError(error) && !isKubeError(error, "Unreachable", "Timeout")) return true;
      await sleep(backoffMs(failures, { minMs: 100, maxMs: 2_000 }), signal);
    }
  }
  return false;
}
