import { claims } from "../claims.ts";
import { defineKind, type Stored } from "../define-kind.ts";
import { s } from "../schema.ts";

const addressCount = (doc: string) =>
  s.optional(s.int({ doc: `${doc} At most 9007199254740991 (2^53-1).`, minimum: 0, maximum: Number.MAX_SAFE_INTEGER }));

const serviceAllocation = s.object(
  {
    priority: s.optional(
      s.int({
        doc: "The order among pools that match: a lower number comes first. 0 or unset comes last.",
      }),
    ),
    namespaces: s.optional(
      s.list(s.string({ doc: "The name of a namespace.", maxLength: 253 }), {
        doc: "The namespaces whose Services can get an address from this pool, by name; in addition to namespaceSelectors.",
        maxItems: 4096,
      }),
    ),
    namespaceSelectors: s.optional(
      s.list(s.labelSelector({ doc: "Namespaces by their labels." }), {
        doc: "The namespaces whose Services can get an address from this pool, by label; selectors are ORed.",
        maxItems: 256,
      }),
    ),
    serviceSelectors: s.optional(
      s.list(s.labelSelector({ doc: "Services by their labels." }), {
        doc: "The Services that can get an address from this pool, by label; selectors are ORed. If namespaces are selected too, both must match.",
        maxItems: 256,
      }),
    ),
  },
  { doc: "Restricts which Services get an address from this pool automatically. Unset or empty means every Service." },
);

export const IPAddressPool = defineKind({
  group: "metallb.io",
  version: "v1beta1",
  kind: "IPAddressPool",
  plural: "ipaddresspools",
  scope: "Namespaced",
  categories: ["plumbline", "metallb"],
  doc: "Addresses for Services of type LoadBalancer. They are announced only if a BGPAdvertisement or L2Advertisement covers the pool.",
  columns: [
    { name: "Auto Assign", path: ".spec.autoAssign", type: "boolean", doc: "Whether Services get an address automatically." },
    { name: "Avoid Buggy IPs", path: ".spec.avoidBuggyIPs", type: "boolean", doc: "Whether addresses ending in .0 and .255 are excluded." },
    { name: "Addresses", path: ".spec.addresses", type: "string", doc: "The ranges of the pool." },
    { name: "Assigned IPv4", path: ".status.assignedIPV4", type: "integer", doc: "IPv4 addresses in use." },
    { name: "Available IPv4", path: ".status.availableIPV4", type: "integer", doc: "Free IPv4 addresses." },
    { name: "Assigned IPv6", path: ".status.assignedIPV6", type: "integer", doc: "IPv6 addresses in use.", wide: true },
    { name: "Available IPv6", path: ".status.availableIPV6", type: "integer", doc: "Free IPv6 addresses.", wide: true },
    { name: "Services", path: ".status.services", type: "integer", doc: "Services with an address from the pool.", wide: true },
    {
      name: "Exhausted",
      path: '.status.conditions[?(@.type=="Exhausted")].status',
      type: "string",
      doc: "Whether no address is free.",
      wide: true,
    },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "Time since creation." },
  ],
  spec: s.object(
    {
      addresses: s.list(
        s.string({
          doc: "A prefix such as 192.0.2.0/24, or the first and last address of a range: 192.0.2.10-192.0.2.20.",
          maxLength: 128,
        }),
        {
          doc: "The addresses of the pool, as prefixes and ranges of either family. Pools must not overlap: the later claim loses.",
          maxItems: 8192,
        },
      ),
      autoAssign: s.default(
        s.bool({
          doc: "Whether a Service gets an address from this pool automatically. If false, the Service must request the pool or an address with an annotation.",
        }),
        true,
      ),
      avoidBuggyIPs: s.default(
        s.bool({ doc: "Whether IPv4 addresses ending in .0 and .255 are excluded, because some old devices drop their traffic." }),
        false,
      ),
      serviceAllocation: s.optional(serviceAllocation),
    },
    { doc: "The desired state." },
  ),
  status: s.object(
    {
      assignedIPV4: addressCount("IPv4 addresses of the pool in use; a shared address counts once."),
      assignedIPV6: addressCount("IPv6 addresses of the pool in use; a shared address counts once."),
      availableIPV4: addressCount("Free IPv4 addresses of the pool."),
      availableIPV6: addressCount("Free IPv6 addresses of the pool."),
      services: s.optional(s.int({ doc: "Services with an address from the pool.", minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
      conditions: s.optional(s.conditions({ doc: "Exhausted: no address is free in a family of the pool." })),
      claims: s.optional(claims()),
    },
    { doc: "The allocation state. The controller reverts edits by others." },
  ),
});
export type IPAddressPool = Stored<typeof IPAddressPool>;
