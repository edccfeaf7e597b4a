import { expect, test } from "vitest";
import { CliError, EXIT } from "../shared/exit.ts";
import { readDiscovery, type Discovered } from "./discovery.ts";
import { resolve, resolveAll } from "./resolve.ts";

function served(resource: string, kind: string, more: object = {}) {
  return { resource, singularResource: kind.toLowerCase(), responseKind: { kind }, scope: "Namespaced" as const, verbs: ["list"], ...more };
}

const discovered = readDiscovery([
  {
    items: [
      {
        metadata: {},
        versions: [
          {
            version: "v1",
            resources: [
              served("events", "Event", { shortNames: ["ev"] }),
              served("nodes", "Node", { shortNames: ["no"], scope: "Cluster" }),
            ],
          },
        ],
      },
    ],
  },
  {
    items: [
      { metadata: { name: "events.k8s.io" }, versions: [{ version: "v1", resources: [served("events", "Event")] }] },
      {
        metadata: { name: "openpe.openperouter.github.io" },
        versions: [{ version: "v1alpha1", resources: [served("l3vnis", "L3VNI", { categories: ["plumbline"] })] }],
      },
      {
        metadata: { name: "metallb.io" },
        versions: [
          { version: "v1beta2", resources: [served("bgppeers", "BGPPeer")] },
          {
            version: "v1beta1",
            resources: [served("bgppeers", "BGPPeer"), served("ipaddresspools", "IPAddressPool", { categories: ["plumbline"] })],
          },
        ],
      },
      {
        metadata: { name: "crd.projectcalico.org" },
        versions: [{ version: "v1", resources: [served("bgppeers", "BGPPeer", { shortNames: ["no"] })] }],
      },
    ],
  },
]);

const nameOf = ({ plural, version, group }: { plural: string; version: string; group: string }) => `${plural}.${version}.${group}`;

test.for([
  ["l3vnis", "l3vnis.v1alpha1.openpe.openperouter.github.io"],
  ["l3vni", "l3vnis.v1alpha1.openpe.openperouter.github.io"],
  ["L3VNI", "l3vnis.v1alpha1.openpe.openperouter.github.io"],
  ["l3vnis.openpe", "l3vnis.v1alpha1.openpe.openperouter.github.io"],
  ["l3vnis.v1alpha1.openpe.openperouter.github.io", "l3vnis.v1alpha1.openpe.openperouter.github.io"],
  ["bgppeers.metallb.io", "bgppeers.v1beta2.metallb.io"],
  ["bgppeers.v1beta1.metallb.io", "bgppeers.v1beta1.metallb.io"],
  ["ev", "events.v1."],
  ["events", "events.v1."],
  ["events.events.k8s.io", "events.v1.events.k8s.io"],
  ["no", "nodes.v1."],
] as const)("%s is %s", ([name, expected]) => {
  expect(nameOf(resolve(name, discovered))).toBe(expected);
});

test("a category resolves to its kinds, and a comma-separated list to each once", () => {
  expect(resolveAll("plumbline", discovered).map(({ plural }) => plural)).toEqual(["l3vnis", "ipaddresspools"]);
  expect(resolveAll("no,l3vni,node", discovered).map(({ plural }) => plural)).toEqual(["nodes", "l3vnis"]);
});

function errorFor(name: string, from: Discovered = discovered): { message: string; exitCode: number } {
  try {
    resolve(name, from);
  } catch (error) {
    if (error instanceof CliError) return { message: error.message, exitCode: error.exitCode };
  }
  throw new Error(`${name} was found`);
}

test("a kind in two groups is ambiguous, and both are named", () => {
  expect(errorFor("bgppeer")).toEqual({
    message: "bgppeer is ambiguous: the server has bgppeers.metallb.io and bgppeers.crd.projectcalico.org; name one of them",
    exitCode: EXIT.misuse,
  });
});

test("an unknown kind is answered with the nearest one", () => {
  expect(errorFor("l3vin")).toEqual({ message: "The server has no kind l3vin (Did you mean l3vni?)", exitCode: EXIT.misuse });
  expect(errorFor("spaceship")).toEqual({ message: "The server has no kind spaceship", exitCode: EXIT.misuse });
});

test("a kind that is missing in an incomplete discovery is not reported as unknown", () => {
  const partial = readDiscovery([
    { items: [{ metadata: { name: "metrics.k8s.io" }, versions: [{ version: "v1beta1", freshness: "Stale" }] }] },
  ]);
  expect(errorFor("podmetrics", partial)).toEqual({
    message: "The server has no kind podmetrics in its current discovery; it may be in metrics.k8s.io, which is unavailable",
    exitCode: EXIT.unknown,
  });
});
