import { describe, expect, test } from "vitest";
import type { Service } from "../../api/core/service.ts";
import { isOurs, addressRequestOf, type AddressRequest } from "./address-request.ts";

function service(spec: Partial<Service["spec"]> = {}, annotations: Record<string, string> = {}): Service {
  return {
    metadata: {
      name: "web",
      namespace: "shop",
      uid: "u-1",
      creationTimestamp: "2026-01-01T00:00:00Z",
      labels: { tier: "web" },
      annotations,
    },
    spec: { type: "LoadBalancer", clusterIP: "10.96.0.1", ports: [{ protocol: "TCP", port: 80 }], ...spec },
  };
}

function requestOf(...args: Parameters<typeof service>): AddressRequest {
  const read = addressRequestOf(service(...args));
  if ("invalid" in read) throw new Error(read.invalid.message);
  return read.request;
}

function problemOf(...args: Parameters<typeof service>): string {
  const read = addressRequestOf(service(...args));
  return "invalid" in read ? `${read.invalid.reason}: ${read.invalid.message}` : "no problem";
}

const both = { clusterIPs: ["10.96.0.1", "fd00::1"] };

test("a Service without annotations requests one address of its family from any pool", () => {
  expect(addressRequestOf(service())).toEqual({
    request: {
      key: "shop/web",
      uid: "u-1",
      since: Date.parse("2026-01-01T00:00:00Z"),
      namespace: "shop",
      labels: { tier: "web" },
      families: [4],
      policy: "SingleStack",
      sharing: { key: "", backend: "", ports: ["TCP/80"] },
    },
    deprecated: [],
  });
});

describe("families", () => {
  test.each<[string, Partial<Service["spec"]>, AddressRequest["policy"], number[]]>([
    ["one cluster IP", { clusterIP: "fd00::1" }, "SingleStack", [6]],
    ["none, but with ipFamilies", { clusterIP: "", ipFamilies: ["IPv6"] }, "SingleStack", [6]],
    ["clusterIPs before clusterIP", { clusterIP: "10.96.0.1", clusterIPs: ["fd00::1"] }, "SingleStack", [6]],
    ["two with RequireDualStack", { ...both, ipFamilyPolicy: "RequireDualStack" }, "RequireDualStack", [4, 6]],
    [
      "two with PreferDualStack, the primary first",
      { clusterIPs: ["fd00::1", "10.96.0.1"], ipFamilyPolicy: "PreferDualStack" },
      "PreferDualStack",
      [6, 4],
    ],
    ["one with PreferDualStack", { ipFamilyPolicy: "PreferDualStack" }, "PreferDualStack", [4]],
    ["the primary one with SingleStack", { ...both, ipFamilyPolicy: "SingleStack" }, "SingleStack", [4]],
    ["two without a policy", both, "RequireDualStack", [4, 6]],
  ])("are those of the cluster IPs: %s", (_title, spec, policy, families) => {
    expect(requestOf(spec)).toMatchObject({ policy, families });
  });

  test.each<[string, Partial<Service["spec"]>, string]>([
    ["there is no cluster IP", { clusterIP: "" }, "noclusterIPsIPFamily: cannot determine the IP families: the Service has no cluster IP"],
    ["it is headless", { clusterIP: "None" }, 'noclusterIPsIPFamily: cannot determine the IP families: its cluster IPs are ["None"]'],
    [
      "both are of one family",
      { clusterIPs: ["10.96.0.1", "10.96.0.2"] },
      'noclusterIPsIPFamily: cannot determine the IP families: its cluster IPs are ["10.96.0.1" "10.96.0.2"]',
    ],
    [
      "two are required and there is one",
      { ipFamilyPolicy: "RequireDualStack" },
      'not enough clusterips: RequireDualStack needs a cluster IP of each family, but the Service has only ["10.96.0.1"]',
    ],
  ])("are unknown if %s", (_title, spec, expected) => {
    expect(problemOf(spec)).toBe(expected);
  });
});

describe("requested addresses", () => {
  test.each<[string, Partial<Service["spec"]>, Record<string, string>, string[]]>([
    ["the annotation", {}, { "metallb.io/loadBalancerIPs": "10.0.0.1" }, ["10.0.0.1"]],
    ["the annotation with its old prefix", {}, { "metallb.universe.tf/loadBalancerIPs": "10.0.0.1" }, ["10.0.0.1"]],
    [
      "the new annotation before the old one",
      {},
      { "metallb.io/loadBalancerIPs": "10.0.0.1", "metallb.universe.tf/loadBalancerIPs": "10.0.0.2" },
      ["10.0.0.1"],
    ],
    ["spec.loadBalancerIP", { loadBalancerIP: "10.0.0.1" }, {}, ["10.0.0.1"]],
    [
      "one of each family, in that order, with spaces",
      both,
      { "metallb.io/loadBalancerIPs": " fc00::1 , 10.0.0.1" },
      ["fc00::1", "10.0.0.1"],
    ],
    ["an IPv4-mapped one as IPv4", {}, { "metallb.io/loadBalancerIPs": "::ffff:10.0.0.1" }, ["10.0.0.1"]],
  ])("come from %s", (_title, spec, annotations, expected) => {
    expect(requestOf(spec, annotations).addresses?.map(String)).toEqual(expected);
  });

  test.each<[string, Partial<Service["spec"]>, string | undefined, string]>([
    [
      "both the annotation and the field are set",
      { loadBalancerIP: "10.0.0.1" },
      "10.0.0.1",
      "LoadBalancerFailed: service can not have both metallb.io/loadBalancerIPs and svc.Spec.LoadBalancerIP",
    ],
    ["it is no address", {}, "10.0.0.1,nonsense", 'LoadBalancerFailed: invalid metallb.io/loadBalancerIPs: "10.0.0.1,nonsense"'],
    ["it has a leading zero", {}, "10.0.0.01", 'LoadBalancerFailed: invalid metallb.io/loadBalancerIPs: "10.0.0.01"'],
    ["the field is no address", { loadBalancerIP: " 10.0.0.1" }, undefined, 'LoadBalancerFailed: invalid spec.loadBalancerIP " 10.0.0.1"'],
    [
      "there are two of one family",
      both,
      "10.0.0.1,10.0.0.2",
      'LoadBalancerFailed: invalid metallb.io/loadBalancerIPs: "10.0.0.1,10.0.0.2": at most one address of each family can be requested',
    ],
    [
      "there are more than two",
      both,
      "10.0.0.1,fc00::1,10.0.0.1",
      'LoadBalancerFailed: invalid metallb.io/loadBalancerIPs: "10.0.0.1,fc00::1,10.0.0.1": at most one address of each family can be requested',
    ],
    [
      "the family is another",
      {},
      "fc00::1",
      'AllocationFailed: requested loadBalancer IP(s) ["fc00::1"] does not match the ipFamily of the service',
    ],
    [
      "a family is missing",
      both,
      "10.0.0.1",
      'AllocationFailed: requested loadBalancer IP(s) ["10.0.0.1"] does not match the ipFamily of the service',
    ],
  ])("are rejected if %s", (_title, spec, annotation, expected) => {
    expect(problemOf(spec, annotation === undefined ? {} : { "metallb.io/loadBalancerIPs": annotation })).toBe(expected);
  });

  test("are rejected if there are a hundred thousand, with a short message", () => {
    const many = "10.0.0.1,".repeat(100_000);
    expect(problemOf({}, { "metallb.io/loadBalancerIPs": many })).toMatch(/^LoadBalancerFailed: .{0,200}$/);
  });
});

describe("the other annotations", () => {
  test("set the pool and the sharing key with either prefix, and the old prefix is deprecated", () => {
    const read = addressRequestOf(service({}, { "metallb.universe.tf/address-pool": "gold", "metallb.universe.tf/allow-shared-ip": "k" }));
    expect(read).toMatchObject({
      request: { pool: "gold", sharing: { key: "k" } },
      deprecated: ["metallb.universe.tf/address-pool", "metallb.universe.tf/allow-shared-ip"],
    });
  });

  test("count as missing if they are empty", () => {
    const request = requestOf(
      {},
      { "metallb.io/address-pool": "", "metallb.universe.tf/address-pool": "gold", "metallb.io/allow-shared-ip": "" },
    );
    expect(request).toMatchObject({ pool: "gold", sharing: { key: "" } });
  });

  test("record the pool of the current addresses", () => {
    expect(requestOf({}, { "metallb.io/ip-allocated-from-pool": "gold" }).allocatedFrom).toBe("gold");
  });
});

describe("the sharing terms of a Service", () => {
  const selector = { b: "2", a: "1" };

  test.each<[string, Partial<Service["spec"]>, string]>([
    ["nothing with externalTrafficPolicy Cluster", { selector, externalTrafficPolicy: "Cluster" }, ""],
    ["its selector with externalTrafficPolicy Local", { selector, externalTrafficPolicy: "Local" }, "a=1,b=2"],
  ])("have as backend %s", (_title, spec, backend) => {
    expect(requestOf(spec).sharing.backend).toBe(backend);
  });

  test("contain its ports by protocol", () => {
    const ports: Service["spec"]["ports"] = [
      { protocol: "UDP", port: 53 },
      { protocol: "TCP", port: 53 },
      { protocol: "TCP", port: 53, name: "again" },
    ];
    expect(requestOf({ ports }).sharing.ports).toEqual(["TCP/53", "UDP/53"]);
  });
});

test.each<[string, Partial<Service["spec"]>, string | undefined, boolean]>([
  ["without a class, if we have none", {}, undefined, true],
  ["with a class, if we have none", { loadBalancerClass: "x/y" }, undefined, false],
  ["with our class", { loadBalancerClass: "x/y" }, "x/y", true],
  ["with another class", { loadBalancerClass: "x/z" }, "x/y", false],
  ["without a class, if we have one", {}, "x/y", false],
  ["of another type", { type: "NodePort" }, undefined, false],
])("a Service %s is ours or not", (_title, spec, lbClass, expected) => {
  expect(isOurs(service(spec), lbClass)).toBe(expected);
});
