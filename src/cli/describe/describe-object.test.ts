import { expect, test } from "vitest";
import { stringify } from "yaml";
import type { Event } from "../../api/core/event.ts";
import { type Colorize, plain } from "../print/color.ts";
import { type Described, describeObject } from "./describe-object.ts";

const now = Date.parse("2026-11-15T12:00:00Z");

function lines(described: Omit<Described, "events"> & { events?: readonly Event[] | undefined }, colorize: Colorize = plain): string[] {
  const text = describeObject({ events: [], ...described }, { paint: colorize, now, yaml: (value) => stringify(value) });
  return text.split("\n");
}

const pool = {
  apiVersion: "metallb.io/v1beta1",
  kind: "IPAddressPool",
  metadata: {
    name: "edge",
    namespace: "metallb-system",
    creationTimestamp: "2026-11-15T11:55:00Z",
    generation: 2,
    labels: { zone: "a", tier: "b" },
    annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}" },
    ownerReferences: [{ kind: "Node", name: "n1", apiVersion: "v1", uid: "u" }],
  },
  spec: { addresses: ["192.0.2.0/24"] },
  status: {
    services: 3,
    conditions: [
      { type: "Exhausted", status: "True", reason: "PoolExhausted", lastTransitionTime: "2026-11-15T11:58:00Z", message: "two\nlines" },
    ],
  },
};

test("an object is described from its name to its events", () => {
  expect(lines({ object: pool })).toEqual([
    "Name:        edge",
    "Namespace:   metallb-system",
    "Kind:        IPAddressPool (metallb.io/v1beta1)",
    "Labels:      zone=a, tier=b",
    "Created:     2026-11-15T11:55:00Z (5m ago)",
    "Owners:      Node/n1",
    "Generation:  2",
    "",
    "Spec:",
    "  addresses:",
    "    - 192.0.2.0/24",
    "",
    "Status:",
    "  services: 3",
    "",
    "Conditions:",
    "  TYPE        STATUS   REASON          SINCE   MESSAGE",
    "  Exhausted   True     PoolExhausted   2m      two...",
    "",
    "Events: none",
    "",
  ]);
});

test("a condition is colored by whether its status is good", () => {
  expect(lines({ object: pool }, (color, text) => `<${color}>${text}</>`)).toContain(
    "  Exhausted   <red>True</>     PoolExhausted   2m      two...",
  );
});

function event(reason: string, more: Partial<Event>): Event {
  return { metadata: { name: reason }, involvedObject: {}, type: "Normal", reason, message: "m", ...more };
}

test("events are listed oldest first, with their counts", () => {
  const events = [
    event("Late", {
      type: "Warning",
      lastTimestamp: "2026-11-15T11:59:00Z",
      firstTimestamp: "2026-11-15T11:00:00Z",
      count: 3,
      source: { component: "controller" },
    }),
    event("Early", { eventTime: "2026-11-15T11:30:00.000000Z", reportingComponent: "agent" }),
  ];
  expect(lines({ object: pool, events }).slice(-4)).toEqual([
    "  TYPE      REASON   AGE                 FROM         MESSAGE",
    "  Normal    Early    30m                 agent        m",
    "  Warning   Late     60s (x3 over 60m)   controller   m",
    "",
  ]);
});

test("forbidden events are not reported as none", () => {
  expect(lines({ object: pool, events: undefined }).at(-2)).toBe("Events: forbidden; you need a role that can list events");
});

test("the file of an object is named, with the fields that differ from it", () => {
  const declared = {
    source: { path: "pools.yaml", line: 3 },
    manifest: {},
    overrides: [
      { field: "spec.addresses", declared: ["192.0.2.0/25"], current: ["192.0.2.0/24"] },
      { field: "metadata.labels[zone]", declared: undefined, current: "a" },
    ],
  };
  const described = lines({ object: pool, declared });
  expect(described).toContain("File:        pools.yaml:3");
  expect(described.slice(9, 14)).toEqual([
    "Overrides: differs from pools.yaml; to reset: plumbline apply --reset -f pools.yaml",
    "  FIELD                   IN THE FILE        NOW",
    '  spec.addresses          ["192.0.2.0/25"]   ["192.0.2.0/24"]',
    "  metadata.labels[zone]   <none>             a",
    "",
  ]);
});

test("the values of a Secret are not shown", () => {
  const object = { apiVersion: "v1", kind: "Secret", type: "Opaque", metadata: { name: "s" }, data: { password: "Z2VoZWlt" } };
  expect(lines({ object })).toEqual([
    "Name:  s",
    "Kind:  Secret (v1)",
    "Type:  Opaque",
    "",
    "Data:",
    "  password: 6 bytes",
    "",
    "Events: none",
    "",
  ]);
});
