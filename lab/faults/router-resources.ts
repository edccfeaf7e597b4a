import { ROUTER_ASN, SPEAKER_ASN, TOR_ADDRESS, TOR_ASN } from "../net/topology.ts";
import type { Kind } from "../../src/api/kind.ts";
import { L2VNI } from "../../src/api/openpe/l2vni.ts";
import { L3Passthrough } from "../../src/api/openpe/l3passthrough.ts";
import { L3VNI } from "../../src/api/openpe/l3vni.ts";
import { RawFRRConfig } from "../../src/api/openpe/raw-frr-config.ts";
import { Underlay } from "../../src/api/openpe/underlay.ts";
import { ROUTER_NAMESPACE } from "../cli/api.ts";
import type { Fault } from "./fault.ts";
import { applied, edited, type Made, rejectedByRouters } from "./resources.ts";

function made(kind: Kind, name: string, spec: object): Made {
  return { kind, object: { metadata: { name, namespace: ROUTER_NAMESPACE }, spec } };
}

function rejected(about: string, kind: Kind, name: string, spec: object, reason = "ValidationFailed"): Fault {
  return applied(about, "router", [made(kind, name, spec)], rejectedByRouters(kind.kind, name, reason));
}

function rejectedEdit(about: string, kind: Kind, name: string, change: object, back: object): Fault {
  const edit = { kind, name, namespace: ROUTER_NAMESPACE, change: { spec: change }, back: { spec: back } };
  return edited(about, "router", edit, rejectedByRouters(kind.kind, name, "ValidationFailed"));
}

const session = (ipv4: string) => ({ asn: ROUTER_ASN, hostasn: SPEAKER_ASN, localcidr: { ipv4 } });
const neighbor = { asn: TOR_ASN, address: TOR_ADDRESS, holdTime: "9s", keepaliveTime: "3s", connectTime: "2s" };

/** What `lab break` knows of configuration that routers refuse. */
export const ROUTER_RESOURCE_FAULTS: Readonly<Record<string, Fault>> = {
  "bad-resource": rejected("someone applies an L3VNI with the VNI of a working L2VNI", L3VNI, "bad", { vrf: "bad", vni: 110 }),
  "vni-taken": rejected("someone applies an L2VNI with the VNI of a working L3VNI", L2VNI, "vni-taken", { vrf: "red", vni: 200 }),
  "vrf-taken": rejected("someone applies a second L3VNI for the VRF red", L3VNI, "vrf-taken", { vrf: "red", vni: 301 }),
  "route-target-taken": rejected("someone applies an L3VNI that exports the route target of another", L3VNI, "route-target-taken", {
    vrf: "rtt",
    vni: 302,
    hostsession: session("192.169.31.0/24"),
    exportRTs: [`${ROUTER_ASN}:100`],
  }),
  "route-target-bad": rejected("someone applies an L3VNI with an invalid route target", L3VNI, "route-target-bad", {
    vrf: "rtb",
    vni: 303,
    hostsession: session("192.169.32.0/24"),
    exportRTs: ["soon"],
  }),
  "subnet-taken": rejected("someone applies an L2VNI whose gateway is in the subnet of another", L2VNI, "subnet-taken", {
    vrf: "red",
    vni: 304,
    l2gatewayips: ["10.110.0.254/25"],
  }),
  "gateway-bad": rejected("someone applies an L2VNI with an invalid gateway address", L2VNI, "gateway-bad", {
    vrf: "red",
    vni: 305,
    l2gatewayips: ["10.131.0.300/24"],
  }),
  "bridge-missing": rejected("someone applies an L2VNI for a bridge that no node has", L2VNI, "bridge-missing", {
    vrf: "red",
    vni: 306,
    hostmaster: { type: "linux-bridge", linuxBridge: { name: "br-nowhere" } },
  }),
  "selector-bad": rejected("someone applies an L2VNI with an invalid nodeSelector", L2VNI, "selector-bad", {
    vrf: "red",
    vni: 307,
    nodeSelector: { matchExpressions: [{ key: "rack", operator: "In" }] },
  }),
  "vrf-lonely": rejected("someone applies an L3VNI for an empty VRF", L3VNI, "vrf-lonely", { vrf: "lonely", vni: 308 }, "DependencyFailed"),
  "session-prefix-taken": rejected("someone applies an L3VNI with the session prefix of another", L3VNI, "session-prefix-taken", {
    vrf: "spt",
    vni: 309,
    hostsession: session("192.169.10.0/24"),
  }),
  "second-passthrough": rejected("someone applies a second L3Passthrough", L3Passthrough, "second-passthrough", {
    hostsession: session("192.169.33.0/24"),
  }),
  "second-underlay": rejected("someone applies a second Underlay", Underlay, "second-underlay", {
    asn: ROUTER_ASN,
    nics: ["eth1"],
    neighbors: [neighbor],
    evpn: { vtepcidr: "100.66.0.0/24" },
  }),
  rejected: rejected(
    "someone applies a RawFRRConfig with a line that FRR does not know",
    RawFRRConfig,
    "raw-refused",
    { rawConfig: "route-map drill permit 10\n set nonsense 7\n" },
    "ApplicationFailed",
  ),
  "vni-edited": rejectedEdit("someone changes a working L2VNI to the VNI of another", L2VNI, "stock", { vni: 110 }, { vni: 120 }),
  "nic-edited": rejectedEdit(
    "someone changes the Underlay to an interface that no node has",
    Underlay,
    "underlay",
    { nics: ["eth9"] },
    { nics: ["eth1"] },
  ),
  "neighbor-secret-missing": rejectedEdit(
    "someone changes the Underlay's password to a missing Secret",
    Underlay,
    "underlay",
    { neighbors: [{ ...neighbor, passwordSecret: "drill-nowhere" }] },
    { neighbors: [neighbor] },
  ),
};
