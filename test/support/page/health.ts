import type { Domain, Health, Component } from "../../../src/api/health.ts";
import { componentId } from "../../../src/api/health.ts";
import type { ComponentHealth } from "../../../src/explain/answer.ts";

export const NOW = Date.now();
export const ago = (minutes: number) => new Date(NOW - minutes * 60_000).toISOString();
export const ROUTER_NAMESPACE = "openperouter-system";

export function componentHealth(component: Component, domain: Domain, health: Health, message: string, minutes: number): ComponentHealth {
  return { id: componentId(component), component, domain, health, message, since: ago(minutes) };
}

export const linkOf = (node: string) => ({
  ...componentHealth({ kind: "Link", name: "eth1", node }, "router", "Down", "Interface eth1 has no carrier", 4),
  fix: { text: "see whether the cable, or the port at the other end, is up", command: `plumbline describe rncs ${node}` },
});
export const sessionOf = (node: string) =>
  componentHealth(
    { kind: "Session", name: "192.168.11.2", node },
    "router",
    "Down",
    "BGP session to 192.168.11.2 is Active: no route to host",
    3.8,
  );
export const underlayOf = (node: string) =>
  componentHealth(
    { kind: "Underlay", namespace: ROUTER_NAMESPACE, name: "underlay", node },
    "router",
    "Down",
    "Its interface eth1 is down",
    4,
  );
export const serviceHealth = (at: number) =>
  componentHealth(
    { kind: "Service", namespace: "shop", name: `web-${at}` },
    "loadbalancer",
    "Degraded",
    "Announced by some of its nodes only",
    3.7,
  );
