import { EndpointSlice } from "../api/core/endpoint-slice.ts";
import { Node } from "../api/core/node.ts";
import { Service } from "../api/core/service.ts";
import type { Kind } from "../api/kind.ts";
import { CUSTOM_KINDS } from "../api/kinds.ts";
import type { Explainer } from "../api/health.ts";
import { edges as connectivity } from "../connectivity/explain.ts";
import { edges as failover } from "../failover/explain/explain.ts";
import { edges as loadbalancer } from "../loadbalancer/explain/explain.ts";
import { edges as router } from "../router/explain.ts";
import { nodeReady } from "./node-ready.ts";

/** Where configuration counts. */
export interface Places {
  readonly routerNamespace: string;
  readonly metallbNamespace: string;
}

/** What the graph is made of: the objects that speak, and those that are looked at. */
export const EXPLAINED_KINDS: readonly Kind[] = [...CUSTOM_KINDS, Node, Service, EndpointSlice];

/** All that the domains have to say. */
export function explainersOf(places: Places): readonly Explainer[] {
  return [nodeReady, ...router(places), ...loadbalancer(places), ...connectivity(), ...failover()];
}
