import { defineKind, type Stored } from "../define-kind.ts";
import { s } from "../schema.ts";

const resourceKind = () =>
  s.enum(["Underlay", "L2VNI", "L3VNI", "L3Passthrough", "RawFRRConfig"], {
    doc: "The kind of the resource, in the namespace of this object.",
  });
const resourceName = () => s.string({ doc: "The name of the resource.", minLength: 1, maxLength: 253 });
const vrf = () => s.string({ doc: "The VRF that it belongs to; default is the default VRF.", maxLength: 15 });

const failedResource = s.object(
  {
    kind: resourceKind(),
    name: resourceName(),
    reason: s.enum(["ValidationFailed", "DependencyFailed", "ApplicationFailed"], {
      doc: "ValidationFailed: rejected before anything changed. DependencyFailed: valid, but a dependency is missing or has failed. ApplicationFailed: FRR or the kernel rejected it.",
    }),
    message: s.optional(s.string({ doc: "What is wrong, with the value and, in a conflict, the resource that owns it.", maxLength: 4096 })),
    field: s.optional(s.string({ doc: "The field to change, such as spec.vni.", maxLength: 253 })),
  },
  { doc: "A resource whose current generation is not applied on this node." },
);

const resource = s.object(
  {
    kind: resourceKind(),
    name: resourceName(),
    generation: s.int({
      doc: "The metadata.generation of the resource that the state is about.",
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
    }),
    state: s.enum(["Applied", "Failed", "KeptPrevious", "Rebuilding"], {
      doc: "Applied: this generation is live. Failed: nothing of it is live. KeptPrevious: this generation failed and the last good one is live. Rebuilding: it is being removed and set up again.",
    }),
    api: s.optional(
      s.enum(["v0.1", "v0.2"], { doc: "The version of OpenPERouter whose field names and meanings it was read with. Missing: v0.1." }),
    ),
  },
  { doc: "The state of one resource on this node." },
);

const session = s.object(
  {
    vrf: s.default(vrf(), "default"),
    neighbor: s.string({ doc: "The neighbor's address, or the interface of an unnumbered session.", minLength: 1, maxLength: 64 }),
    state: s.string({ doc: "The state of the BGP session as FRR reports it: Established when it is up.", maxLength: 64 }),
    since: s.optional(s.time({ doc: "Time of the last state change." })),
  },
  { doc: "A BGP session of the router on this node." },
);

const link = s.object(
  {
    name: s.string({ doc: "The name of the interface.", minLength: 1, maxLength: 64 }),
    state: s.enum(["Up", "NoCarrier", "Down", "Missing"], {
      doc: "Up: it works. NoCarrier: the cable or the other end is down. Down: administratively down on this node. Missing: not present on this node.",
    }),
    since: s.optional(s.time({ doc: "Time of the last state change that the agent observed." })),
  },
  { doc: "An interface of the Underlay." },
);

const vni = s.object(
  {
    vni: s.int({ doc: "The VXLAN network identifier.", minimum: 1, maximum: 16_777_215 }),
    type: s.enum(["L2", "L3"], { doc: "Whether it is bridged (L2) or routed (L3)." }),
    vrf: s.default(vrf(), "default"),
    state: s.string({
      doc: "Up: FRR uses it, and its VXLAN device, bridge, VRF and ports in the kernel are up and connected. Down: otherwise. Unknown: the kernel cannot be read.",
      maxLength: 64,
    }),
    message: s.optional(s.string({ doc: "Why it is not up.", maxLength: 256 })),
    macs: s.optional(
      s.counter({
        doc: "The number of known MAC addresses. Updated only together with another change of the status.",
      }),
    ),
    vteps: s.optional(s.counter({ doc: "The number of known remote VTEPs. Updated like macs." })),
    prefixes: s.optional(s.counter({ doc: "The number of prefixes in its VRF. Updated like macs." })),
  },
  { doc: "The state of a VNI in FRR and the kernel." },
);

const failingPath = s.object(
  {
    node: s.string({ doc: "The other node.", minLength: 1, maxLength: 253 }),
    reason: s.enum(["NoAnswerInVNI", "NoEVPNRoute", "NoRouterMAC", "NoPath", "NoAnswer", "TooLarge", "Loss"], {
      doc: "NoAnswerInVNI: frames of these VNIs do not arrive, the underlay works. NoEVPNRoute: the other node has these VNIs, and its EVPN routes do not arrive here, or those of this node do not arrive there. NoRouterMAC: the other node announces the address of a host session in these L3VNIs, and FRR here has no router MAC of it, or FRR there has none of this node: packets of the VRF do not find their way. NoPath: the other node does not even answer pings. NoAnswer: it answers pings and no probe, although its agent is alive. TooLarge: small packets pass, full packets do not. Loss: packets are lost on the underlay.",
    }),
    vnis: s.optional(s.string({ doc: "The VNIs that fail, as ranges.", maxLength: 1024 })),
    message: s.string({ doc: "What passes and what does not.", maxLength: 1024 }),
    since: s.optional(s.time({ doc: "Since when it fails: the first lost probe, as far as this is known." })),
  },
  { doc: "A path to another node that does not work." },
);

const overlay = s.object(
  {
    vtep: s.optional(s.string({ doc: "The VTEP address of this node.", maxLength: 64 })),
    probed: s.optional(s.counter({ doc: "The number of probed paths: one for each VNI and probed node, and two for each probed VTEP." })),
    reached: s.optional(
      s.counter({
        doc: "The number of probed nodes that answer and to which nothing fails. Updated only together with another change of the status.",
      }),
    ),
    failing: s.optional(s.list(failingPath, { doc: "Paths that do not work, the first 64.", maxItems: 64 })),
    unobserved: s.optional(
      s.list(s.string({ doc: "A node.", maxLength: 253 }), {
        doc: "Nodes whose agents are alive, and to which some paths have not been observed for a minute: they may work or not. The first 64.",
        maxItems: 64,
      }),
    ),
  },
  { doc: "What the probes of this node through the overlay found." },
);

const foreign = s.object(
  {
    object: s.enum(["rule", "route", "neighbor", "qdisc", "filter", "nftables", "port", "mtu"], {
      doc: "What it is. rule, route, neighbor: as ip prints them. qdisc, filter: as tc prints them. nftables: table, chain and rule. port: a setting of a bridge port. mtu: an interface of the Underlay is too small.",
    }),
    namespace: s.enum(["host", "router"], { doc: "The network namespace that it is in." }),
    interface: s.optional(s.string({ doc: "The interface that it belongs to.", maxLength: 64 })),
    text: s.string({ doc: "The object as ip, tc or nft prints it.", maxLength: 1024 }),
  },
  { doc: "Something that Plumbline did not make, and that can keep packets from the router's interfaces." },
);

export const RouterNodeConfigurationStatus = defineKind({
  group: "openpe.openperouter.github.io",
  version: "v1alpha1",
  kind: "RouterNodeConfigurationStatus",
  plural: "routernodeconfigurationstatuses",
  scope: "Namespaced",
  shortNames: ["rncs"],
  categories: ["plumbline", "openperouter"],
  doc: "The result of the router configuration on one node. It has the name of the node, is owned by the Node and is written by the agent on it.",
  columns: [
    { name: "Ready", path: '.status.conditions[?(@.type=="Ready")].status', type: "string", doc: "Whether everything is applied." },
    { name: "Degraded", path: '.status.conditions[?(@.type=="Degraded")].status', type: "string", doc: "Whether something failed." },
    {
      name: "Sessions",
      path: '.status.conditions[?(@.type=="SessionsEstablished")].status',
      type: "string",
      doc: "Whether every BGP session is up.",
      wide: true,
    },
    {
      name: "VNIs",
      path: '.status.conditions[?(@.type=="VNIsUp")].status',
      type: "string",
      doc: "Whether every VNI is up.",
      wide: true,
    },
    {
      name: "Overlay",
      path: '.status.conditions[?(@.type=="OverlayReachable")].status',
      type: "string",
      doc: "Whether probes to other nodes are answered in every VNI.",
      wide: true,
    },
    { name: "Reason", path: '.status.conditions[?(@.type=="Ready")].message', type: "string", doc: "Why it is ready or not.", wide: true },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "Time since creation." },
  ],
  status: s.object(
    {
      lastUpdateTime: s.optional(
        s.time({ doc: "Time of the last change of the conditions Ready and Degraded, failedResources or resources." }),
      ),
      conditions: s.optional(
        s.conditions({
          doc: "Ready: everything that selects this node is applied. Degraded: something failed, the rest works. SessionsEstablished: every BGP session is up. VNIsUp: every VNI that is applied is up in FRR and in the kernel, and not all of its probed paths fail. OverlayReachable: every probed path to another node carries traffic. DataPathClear: nothing of others can keep packets from the router's interfaces. Unknown when the agent has stopped reporting.",
        }),
      ),
      failedResources: s.optional(
        s.list(failedResource, {
          doc: "Resources whose current generation is not applied, and why. An entry is removed once its cause is gone.",
          maxItems: 8192,
        }),
      ),
      resources: s.optional(
        s.listMap(["kind", "name"], resource, {
          doc: "Every resource that selects this node, with its generation and state.",
          maxItems: 8192,
        }),
      ),
      sessions: s.optional(s.listMap(["vrf", "neighbor"], session, { doc: "The router's BGP sessions.", maxItems: 4096 })),
      links: s.optional(s.listMap(["name"], link, { doc: "The interfaces of the Underlay.", maxItems: 256 })),
      vnis: s.optional(
        s.listMap(["vni"], vni, {
          doc: "The VNIs on this node. A very long list is truncated.",
          maxItems: 4096,
        }),
      ),
      overlay: s.optional(overlay),
      foreign: s.optional(
        s.list(foreign, {
          doc: "What others made that can keep packets from the router's interfaces, the first 64. Plumbline does not remove it.",
          maxItems: 64,
        }),
      ),
    },
    { doc: "The state that the agent on the node observed." },
  ),
});
export type RouterNodeConfigurationStatus = Stored<typeof RouterNodeConfigurationStatus>;
