import { expect, test } from "vitest";
import type { ServiceBGPStatus } from "../../api/metallb/service-bgp-status.ts";
import type { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import { speakerStatusesOf, serviceOf, type SpeakerStatusCaches } from "./speaker-statuses.ts";

const by = (node: string, name: string) => ({ name, namespace: "shop", annotations: { "plumbline.dev/node": node } });
const bgp = (node: string, name = `web-${node}`): ServiceBGPStatus => ({ metadata: by(node, name), status: { service: "web" } });
const l2 = (node: string, status: "True" | "False"): ServiceL2Status => ({
  metadata: by(node, "web"),
  status: { conditions: [{ type: "Announced", status, reason: "Probing", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" }] },
});

const found = <T extends { metadata: { name: string; namespace?: string } }>(objects: readonly T[], prefix = "shop/") => ({
  get: (key: string) => objects.find(({ metadata }) => prefix + metadata.name === key),
});

function caches(
  reports: readonly ServiceBGPStatus[],
  answer?: ServiceL2Status,
  services = ["web"],
  nodes = ["n1", "n2"],
): SpeakerStatusCaches {
  return {
    l2Reports: found(answer ? [answer] : []),
    bgpReports: found(reports),
    services: found(services.map((name) => ({ metadata: { name }, spec: { type: "LoadBalancer" as const } }))),
    nodes: found(
      nodes.map((name) => ({ metadata: { name }, spec: {} })),
      "",
    ),
  };
}

test("BGP announcements are read only from nodes in doubt, and the layer 2 announcer from its own status", () => {
  const there = caches([bgp("n1"), bgp("n2")], l2("n2", "True"));
  expect(speakerStatusesOf("shop/web", new Set(), there)).toEqual({ answering: "n2" });
  expect(speakerStatusesOf("shop/web", new Set(["n1"]), there)).toEqual({ overBgp: new Map([["n1", []]]), answering: "n2" });
  expect(speakerStatusesOf("shop/web", new Set(["n2", "n3"]), there)).toEqual({ overBgp: new Map([["n2", []]]), answering: "n2" });
  expect(speakerStatusesOf("shop/web", new Set(["n2"]), caches([], l2("n2", "False")))).toEqual({ overBgp: new Map() });
});

test("a status is found under its hashed name if the plain one is ambiguous, and not mistaken for another", () => {
  const ambiguous = caches([bgp("n1", "web-n1")], undefined, ["web", "web-a"], ["n1", "a-n1"]);
  expect(speakerStatusesOf("shop/web", new Set(["n1"]), ambiguous).overBgp).toEqual(new Map([["n1", []]]));
  const others = caches([bgp("n1", "web-a-n1")], undefined, ["web", "web-a"], ["n1", "a-n1"]);
  expect(speakerStatusesOf("shop/web", new Set(["a-n1"]), others).overBgp).toEqual(new Map());
});

test("a status belongs to the Service that it names, in its namespace", () => {
  expect(serviceOf(bgp("n1"))).toEqual(["shop/web"]);
  expect(serviceOf({ metadata: by("n1", "web-n1") })).toEqual([]);
});
