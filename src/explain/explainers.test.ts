import * as fc from "fast-check";
import { expect, test } from "vitest";
import { validValue } from "../../test/api/generate.ts";
import { EndpointSlice } from "../api/core/endpoint-slice.ts";
import { Node } from "../api/core/node.ts";
import { Service } from "../api/core/service.ts";
import { admit } from "../api/admission/validation.ts";
import { applyDefaults } from "../api/admission/defaulting.ts";
import type { CustomKind } from "../api/define-kind.ts";
import type { Condition, Kind, KubeObject } from "../api/kind.ts";
import { CUSTOM_KINDS } from "../api/crds/kinds.ts";
import { statementsFrom } from "../api/testing/fake-reader.ts";
import { HEALTHS } from "../api/health.ts";
import { CauseGraph } from "./graph.ts";
import { explainersOf } from "./explainers.ts";

const T = "2026-01-02T00:00:00Z";
const CONFIG_NAMESPACES = { routerNamespace: "openperouter-system", metallbNamespace: "metallb-system" };
const NAMES = ["a", "b", "n1"];
const NAMESPACES = [CONFIG_NAMESPACES.routerNamespace, CONFIG_NAMESPACES.metallbNamespace, "shop"];
const REASONS = [
  "AgentNotReporting",
  "FRRUnavailable",
  "RouterUnavailable",
  "ConfigurationInvalid",
  "NotConfigured",
  "AddressInUse",
  "Refused",
  "Probing",
  "noIPAllocated",
  "noMatchingAdvertisement",
  "noPeers",
  "notOwner",
  "ipNotAllowed",
  "noEndpoints",
  "Stale",
  "InvalidTarget",
  "InvalidProbe",
  "ConnectError",
  "DNSError",
  "Incomplete",
  "NotFound",
  "Invalid",
];
const MESSAGES = [
  "",
  "Agent on node n1 has not reported since 2026-01-01T00:00:00Z; the rest of this status is its last report",
  "Source n1 has not reported since 2026-01-01T00:00:00Z; the rest",
  "No address: no available IPs: pool a: all 4 IPv4 addresses are in use; pool b: its configuration is invalid; and 3 more",
  "No active BGPAdvertisement or L2Advertisement covers pool a",
  "10.0.0.1 is in use by 02:00:00:00:00:01 on lan0; the node announces it when that stops",
  "spec.mode: it is neither; Deployment shop/a: Deployment does not exist",
];
const TYPES = [
  "Ready",
  "Degraded",
  "Valid",
  "Reported",
  "Announced",
  "Reachable",
  "Complete",
  "InProgress",
  "Error",
  "metallb.io/Announced",
];

const condition: fc.Arbitrary<Condition> = fc.record({
  type: fc.constantFrom(...TYPES),
  status: fc.constantFrom("True", "False", "Unknown"),
  reason: fc.constantFrom(...REASONS),
  message: fc.oneof(fc.constantFrom(...MESSAGES), fc.string({ maxLength: 20 })),
  lastTransitionTime: fc.constant(T),
});

const metadata = fc.record({
  name: fc.constantFrom(...NAMES),
  namespace: fc.constantFrom(...NAMESPACES),
  annotations: fc.constantFrom<Record<string, string>>(
    {},
    { "plumbline.dev/node": "n1" },
    { "plumbline.dev/mesh": "a", "plumbline.dev/target": "service/shop/a" },
  ),
});

/** Any object of the kind that a server could hold, with conditions such as we write. */
function objects(kind: CustomKind): fc.Arbitrary<[Kind, KubeObject]> {
  return fc.tuple(validValue(kind.schema), metadata, fc.array(condition, { maxLength: 3 })).map(([parts, meta, conditions]) => {
    const written = applyDefaults(kind, { ...(parts as { status?: object }), metadata: meta });
    const { object } = admit(kind, written);
    const status = { ...written.status, ...("conditions" in (written.status ?? {}) && { conditions }) };
    return [kind, { ...object, ...(written.status && { status }) }];
  });
}

const service: fc.Arbitrary<[Kind, KubeObject]> = fc
  .record({
    metadata,
    spec: fc.record(
      {
        type: fc.constantFrom("LoadBalancer", "ClusterIP"),
        clusterIP: fc.constantFrom("10.0.0.1", "None", "fd00::1"),
        loadBalancerIP: fc.constantFrom("", "10.0.0.9", "nonsense"),
      },
      { requiredKeys: ["type"] },
    ),
    status: fc.record(
      {
        loadBalancer: fc.constantFrom({}, { ingress: [{ ip: "10.0.0.1" }] }, { ingress: [{ hostname: "x" }] }),
        conditions: fc.array(condition, { maxLength: 3 }),
      },
      { requiredKeys: [] },
    ),
  })
  .map((object) => [Service, object]);

const others: fc.Arbitrary<[Kind, KubeObject]> = fc.constantFrom(
  [Node, { metadata: { name: "n1" }, spec: {} }],
  [
    EndpointSlice,
    { metadata: { name: "a", namespace: "shop", labels: { "kubernetes.io/service-name": "a" } }, addressType: "IPv4", endpoints: null },
  ],
);

const cluster = fc.array(fc.oneof(...CUSTOM_KINDS.map(objects), service, others), { maxLength: 25 });

test("no object that a server can store breaks the explainers, and their statements are complete", () => {
  const explainers = explainersOf(CONFIG_NAMESPACES);
  fc.assert(
    fc.property(cluster, (objects) => {
      const statements = statementsFrom(explainers, ...objects);
      expect(statements.filter(({ health }) => !HEALTHS.includes(health))).toEqual([]);
      expect(statements.filter(({ component }) => component.name === "")).toEqual([]);
      expect(statements.filter(({ message = "" }) => message.includes("undefined"))).toEqual([]);
      expect(statements.filter(({ since = T }) => Number.isNaN(Date.parse(since)))).toEqual([]);
    }),
    { seed: 9, numRuns: 150 },
  );
});

test("every unhealthy component has a cause", () => {
  fc.assert(
    fc.property(cluster, (objects) => {
      const graph = new CauseGraph(explainersOf(CONFIG_NAMESPACES));
      for (const [kind, object] of objects) graph.put(kind, object);
      const causes = graph.causes();
      const explained = new Set([causes, ...causes.map(({ symptoms }) => symptoms)].flatMap((some) => some.map(({ id }) => id)));
      const unhealthy = [...graph.verdicts()].filter(({ health }) => health !== "Healthy").map(({ id }) => id);
      expect(explained).toEqual(new Set(unhealthy));
    }),
    { seed: 9, numRuns: 100 },
  );
});
