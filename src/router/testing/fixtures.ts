import type { ObjectMeta } from "../../api/kind.ts";
import type { L2VNI } from "../../api/openpe/l2vni.ts";
import type { L3Passthrough } from "../../api/openpe/l3passthrough.ts";
import type { L3VNI } from "../../api/openpe/l3vni.ts";
import type { RawFRRConfig } from "../../api/openpe/raw-frr-config.ts";
import type { Underlay } from "../../api/openpe/underlay.ts";
import type { Rendered } from "../model/rendered.ts";
import type { ObservedNode, RouterObjects } from "../model/observed.ts";

// Objects and a node for tests: everything is valid by default.

/** The hour of the day that an object was created at makes its age. */
export interface ResourceAge {
  readonly hour?: number;
  readonly generation?: number;
  readonly annotations?: Record<string, string>;
}

function metadata(kind: string, name: string, { hour = 0, generation = 1, annotations }: ResourceAge): ObjectMeta {
  return {
    name,
    namespace: "openperouter-system",
    uid: `${kind}-${name}`,
    generation,
    creationTimestamp: `2026-01-01T${String(hour).padStart(2, "0")}:00:00Z`,
    ...(annotations && { annotations }),
  };
}

export function underlay(name = "fabric", spec: Partial<Underlay["spec"]> = {}, born: ResourceAge = {}): Underlay {
  return {
    metadata: metadata("Underlay", name, born),
    spec: {
      asn: 64514,
      routeridcidr: "10.0.0.0/24",
      neighbors: [{ asn: 64512, address: "192.168.11.2" }],
      nics: ["eth1"],
      evpn: { vtepcidr: "100.65.0.0/24" },
      ...spec,
    },
  };
}

export function l2vni(name: string, spec: Partial<L2VNI["spec"]> & { vni: number }, born: ResourceAge = {}): L2VNI {
  return { metadata: metadata("L2VNI", name, born), spec: { vxlanport: 4789, ...spec } };
}

export function l3vni(name: string, spec: Partial<L3VNI["spec"]> & { vni: number; vrf: string }, born: ResourceAge = {}): L3VNI {
  return { metadata: metadata("L3VNI", name, born), spec: { vxlanport: 4789, ...spec } };
}

export function hostSession(ipv4 = "192.169.10.0/24", ipv6?: string): L3Passthrough["spec"]["hostsession"] {
  return { asn: 64514, hostasn: 64515, localcidr: { ipv4, ...(ipv6 !== undefined && { ipv6 }) } };
}

export function passthrough(name: string, session = hostSession("192.169.20.0/24"), born: ResourceAge = {}): L3Passthrough {
  return { metadata: metadata("L3Passthrough", name, born), spec: { hostsession: session } };
}

export function rawConfig(name: string, text: string, priority = 0, born: ResourceAge = {}): RawFRRConfig {
  return { metadata: metadata("RawFRRConfig", name, born), spec: { rawConfig: text, priority } };
}

export function observed(objects: Partial<RouterObjects>, rest: Partial<Omit<ObservedNode, "objects">> = {}): ObservedNode {
  return {
    node: { name: "worker-1", labels: { "kubernetes.io/hostname": "worker-1" } },
    index: 0,
    objects: { underlays: [], l2vnis: [], l3vnis: [], passthroughs: [], rawConfigs: [], ...objects },
    passwords: new Map(),
    interfaces: {
      host: [
        { name: "eth0", addresses: ["192.0.2.1/24"] },
        { name: "eth1", addresses: ["192.168.11.4/24"] },
        { name: "br0", addresses: [], kind: "bridge" },
      ],
      router: [{ name: "lo", addresses: ["127.0.0.1/8"] }],
    },
    guarded: new Map([["eth0", "carries the Node address 192.0.2.1"]]),
    ovs: true,
    lastGood: new Map(),
    newlySelectedAt: new Map(),
    now: new Date("2026-01-02T00:00:00Z"),
    ...rest,
  };
}

/** Text as `print` of frr/ writes it is easier to read in a test than a tree; so are links by name. */
export function linkNames({ links }: Rendered): string[] {
  return links.map(({ netns, name, master }) => `${netns} ${name}${master === undefined ? "" : ` in ${master}`}`);
}
