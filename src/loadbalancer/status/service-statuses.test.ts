import { expect, test } from "vitest";
import { parseAddress } from "../../ip/address.ts";
import { serviceBgpStatus, serviceBgpStatusKey } from "./service-bgp-status.ts";
import { type AddressState, serviceL2Status } from "./service-l2-status.ts";

const service = { name: "web", namespace: "shop", uid: "u1" };
const metadata = {
  labels: { "metallb.io/node": "worker0", "metallb.io/service": "web" },
  annotations: { "plumbline.dev/node": "worker0" },
  ownerReferences: [{ apiVersion: "v1", kind: "Service", name: "web", uid: "u1" }],
};

test("a ServiceBGPStatus has the peers by family, the advertisements, and the Service as its owner", () => {
  const reach = { IPv4: ["a", "b"], IPv6: ["b"], all: ["a", "b"], advertisements: ["ad"] };
  expect(serviceBgpStatus(service, "worker0", reach)).toEqual({
    status: {
      bgpPeers: ["a", "b"],
      node: "worker0",
      service: "web",
      families: [
        { family: "IPv4", peers: ["a", "b"] },
        { family: "IPv6", peers: ["b"] },
      ],
      advertisements: ["ad"],
      conditions: [{ type: "Reported", status: "True", reason: "AgentReports", message: "As decided by the node's agent" }],
    },
    create: { metadata },
  });
});

test("a ServiceBGPStatus is named after Service and node, in the namespace of the Service", () => {
  expect(serviceBgpStatusKey(service, "worker0", () => false)).toBe("shop/web-worker0");
  expect(serviceBgpStatusKey(service, "a-b", (other, node) => other === "web-a" && node === "b")).toMatch(/^shop\/web-a-b-[0-9a-f]{10}$/);
});

const vip = parseAddress("10.0.0.1");
const vip6 = parseAddress("2001:db8::1");
const elected = { node: "worker0", addresses: [vip, vip6], interfaces: ["eth1", "eth0"], candidates: ["worker0", "worker1"] };
const holding: AddressState = { is: "holding", since: new Date(0), interfaces: ["eth0"] };
const conditionsWith = (state: AddressState) => {
  const picture = serviceL2Status(service, elected, (address) => (address === vip ? state : holding), { is: "on" });
  return (picture.status as { conditions: object[] }).conditions;
};

test("a ServiceL2Status has the elected node, its interfaces and the failover order", () => {
  expect(serviceL2Status(service, elected, () => holding, { is: "on" })).toEqual({
    status: {
      node: "worker0",
      service: "web",
      interfaces: [{ name: "eth0" }, { name: "eth1" }],
      eligibleNodes: ["worker0", "worker1"],
      conditions: [
        {
          type: "Announced",
          status: "True",
          reason: "Announcing",
          message: "Announcing 10.0.0.1; Announcing 2001:db8::1",
        },
        {
          type: "HostProtected",
          status: "True",
          reason: "Filtered",
          message: "Connections to the addresses cannot reach the node's own services",
        },
      ],
    },
    create: { metadata },
  });
});

test("a ServiceL2Status without interfaces means all interfaces", () => {
  const all = { node: elected.node, addresses: elected.addresses, candidates: elected.candidates };
  expect(serviceL2Status(service, all, () => holding, { is: "on" }).status).not.toHaveProperty("interfaces");
});

test("an address in use by another machine is reported with its MAC, before healthy addresses", () => {
  expect(conditionsWith({ is: "in-use", mac: "02:00:00:00:00:01", interface: "eth0" })[0]).toEqual({
    type: "Announced",
    status: "False",
    reason: "AddressInUse",
    message: "10.0.0.1 is in use by 02:00:00:00:00:01 on eth0; the node announces it when that stops",
  });
  expect(conditionsWith({ is: "probing" })[0]).toMatchObject({ status: "False", reason: "Probing" });
  expect(conditionsWith({ is: "failed", message: "no such device" })[0]).toMatchObject({
    status: "False",
    reason: "Refused",
    message: "Cannot announce 10.0.0.1: no such device",
  });
});

test("another machine that answers for a kept address is reported with its MAC while it does", () => {
  const contested = { ...holding, rival: { mac: "02:00:00:00:00:01", interface: "eth0" } };
  expect(conditionsWith(contested)[0]).toMatchObject({ type: "Announced", status: "True" });
  expect(conditionsWith(contested)[2]).toEqual({
    type: "Conflict",
    status: "True",
    reason: "AddressInUse",
    message: "10.0.0.1 is also in use by 02:00:00:00:00:01 on eth0",
  });
  expect(conditionsWith(holding)).toHaveLength(2);
});

test("an unprotected host is reported with the reason", () => {
  const picture = serviceL2Status(service, elected, () => holding, { is: "off", why: "the kernel has no nftables" });
  expect((picture.status as { conditions: object[] }).conditions[1]).toEqual({
    type: "HostProtected",
    status: "False",
    reason: "NotFiltered",
    message: "the kernel has no nftables",
  });
});

const conflictsWith = (state: AddressState) =>
  (serviceL2Status(service, elected, () => state, { is: "on" }).status as { conflicts?: object[] }).conflicts;

test("the status lists the machines of a conflict while there are any", () => {
  const rival = { mac: "02:00:00:00:00:01", interface: "eth0" };
  expect(conflictsWith({ is: "in-use", ...rival })?.[0]).toEqual({ address: "10.0.0.1", ...rival });
  expect(conflictsWith({ ...holding, rival })?.[0]).toEqual({ address: "10.0.0.1", ...rival });
  expect(conflictsWith(holding)).toBeUndefined();
});
