import type { Service } from "../../api/core/service.ts";
import { config } from "./announcement-fixtures.ts";
import type { Pool } from "../config/config.ts";
import type { Loaded } from "../config/load.ts";
import { AddressAssigner } from "../controller/address-assigner.ts";

// For tests: Services that are as plain as can be, and an assigner that serves them.

export function loaded(pools: readonly Pool[], broken: readonly string[] = []): Loaded {
  const resources = [
    ...pools.map(({ name }) => ({ name, state: "Applied" as const })),
    ...broken.map((name) => ({ name, state: "Failed" as const })),
  ];
  return {
    config: config({ pools }),
    failures: [],
    warnings: [],
    unread: [],
    resources: resources.map(({ name, state }) => ({ kind: "IPAddressPool", name, generation: 1, state })),
    lastGood: new Map(),
  };
}

export function service(name: string, annotations: Record<string, string> = {}, created = 0): Service {
  return {
    metadata: { name, namespace: "shop", uid: name, resourceVersion: "1", creationTimestamp: new Date(created).toISOString(), annotations },
    spec: { type: "LoadBalancer", clusterIPs: ["10.96.0.1"], ports: [{ protocol: "TCP", port: 80 }] },
    status: {},
  };
}

export function open(pools: readonly Pool[]): { assigner: AddressAssigner; woken: string[]; changedPools: string[] } {
  const [woken, changedPools]: [string[], string[]] = [[], []];
  const assigner = new AddressAssigner({ lbClass: undefined, onWake: (key) => woken.push(key), onPool: (name) => changedPools.push(name) });
  assigner.configure(loaded(pools));
  changedPools.length = 0;
  return { assigner, woken, changedPools };
}
