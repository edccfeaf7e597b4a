import { defineKind, type Stored } from "../define-kind.ts";
import { rule } from "../rule.ts";
import { s } from "../schema.ts";
import { selections } from "./selections.ts";

export const BGPAdvertisement = defineKind({
  group: "metallb.io",
  version: "v1beta1",
  kind: "BGPAdvertisement",
  plural: "bgpadvertisements",
  scope: "Namespaced",
  categories: ["plumbline", "metallb"],
  doc: "Announces the addresses of Services over BGP: which pools, from which nodes, to which peers, and how. The ServiceBGPStatus objects report where each Service is announced.",
  columns: [
    { name: "IPAddressPools", path: ".spec.ipAddressPools", type: "string", doc: "The pools by name." },
    { name: "IPAddressPool Selectors", path: ".spec.ipAddressPoolSelectors", type: "string", doc: "The pools by label." },
    { name: "Peers", path: ".spec.peers", type: "string", doc: "The peers; empty means all." },
    { name: "Node Selectors", path: ".spec.nodeSelectors", type: "string", doc: "The nodes; empty means all.", wide: true },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "Time since creation." },
  ],
  spec: s.default(
    s.object(
      {
        ...selections,
        aggregationLength: s.default(
          s.int({
            doc: "The length of the IPv4 prefix that is announced for an address: 32 is the address alone.",
            minimum: 1,
            maximum: 2_147_483_647,
          }),
          32,
        ),
        aggregationLengthV6: s.default(
          s.int({
            doc: "The length of the IPv6 prefix that is announced for an address: 128 is the address alone.",
            minimum: -2_147_483_648,
            maximum: 2_147_483_647,
          }),
          128,
        ),
        localPref: s.optional(s.int({ doc: "The local preference, for iBGP peers. 0 means not set.", minimum: 0, maximum: 4_294_967_295 })),
        communities: s.optional(
          s.list(
            s.string({
              doc: "A community such as 64512:100, a large one such as large:64512:1:2, or the name of an alias from a Community.",
              maxLength: 253,
            }),
            {
              doc: "The communities of the prefixes.",
              maxItems: 256,
            },
          ),
        ),
        peers: s.optional(
          s.list(s.string({ doc: "The name of a BGPPeer.", maxLength: 253 }), {
            doc: "The peers to announce to. Empty means all.",
            maxItems: 1024,
          }),
        ),
      },
      {
        doc: "The desired state.",
        rules: [
          rule({
            cel: "!has(self.serviceSelectors) || size(self.serviceSelectors) == 0 || (self.aggregationLength == 32 && self.aggregationLengthV6 == 128)",
            message:
              "serviceSelectors and aggregationLength/aggregationLengthV6 are mutually exclusive: a prefix is announced for all Services in it",
            check: (self) => !self.serviceSelectors?.length || (self.aggregationLength === 32 && self.aggregationLengthV6 === 128),
          }),
        ],
      },
    ),
    {},
  ),
  status: s.object({}, { doc: "Empty: see the ConfigurationState of each node." }),
});
export type BGPAdvertisement = Stored<typeof BGPAdvertisement>;
