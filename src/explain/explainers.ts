import { EndpointSlice } from "../api/core/endpoint-slice.ts";
import { Node } from "../api/core/node.ts";
import { Service } from "../api/core/service.ts";
import type { Kind } from "../api/kind.ts";
import { CUSTOM_KINDS } from "../api/crds/kinds.ts";
import type { Explainer } from "../api/health.ts";
import { edges as connectivity } from "../connectivity/explain.ts";
import { edges as failover } from "../failover/explain.ts";
import { edges as loadbalancer } from "../loadbalancer/explain/explain.ts";
import { edges as router } from "../router/explain.ts";
import { nodeReady } from "./leader.ts";

export interface ConfigNamespaces {
  readonly routerNamespace: string;
  readonly metallbNamespace: string;
}

/** The kinds of the graph: those with explainers, and those that explainers read. */
export const EXPLAINED_KINDS: readonly Kind[] = [...CUSTOM_KINDS, Node, Service, EndpointSlice];

export function explainersOf(namespaces: ConfigNamespaces): readonly Explainer[] {
  return [nodeReady, ...router(namespaces), ...loadbalancer(namespaces), ...connectivity(), ...failover()];
}
