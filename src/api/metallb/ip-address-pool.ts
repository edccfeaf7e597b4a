import { claims } from "../claims.ts";
import { defineKind, type Stored } from "../define-kind.ts";
import { s } from "../schema.ts";

const addressCount = (doc: string) =>
  s.optional(s.int({ doc: `${doc} Counts to 9007199254740991 (2^53-1) and stays there.`, minimum: 0, maximum: Number.MAX_SAFE_INTEGER }));

const serviceAllocation = s.object(
  {
    priority: s.optional(
      s.int({
        doc: "Which pool is tried first where several would do: the lower number. 0, or none, comes last.",
      }),
    ),
    namespaces: s.optional(
      s.list(s.string({ doc: "The name of a namespace.", maxLength: 253 }), {
        doc: "The namespaces whose Services may have an address from this pool, by name; together with those that namespaceSelectors select.",
        maxItems: 4096,
      }),
    ),
    namespaceSelectors: s.optional(
      s.list(s.labelSelector({ doc: "Namespaces by their labels." }), {
        doc: "The namespaces whose Services may have an address from this pool, by label; one selector that matches is enough.",
        maxItems: 256,
      }),
    ),
    serviceSelectors: s.optional(
      s.list(s.labelSelector({ doc: "Services by their labels." }), {
        doc: "The Services that may have an address from this pool, by label; one selector that matches is enough. Where namespaces are named too, both must hold.",
        maxItems: 256,
      }),
    ),
  },
  { doc: "Who may have an address from this pool without asking for it by name. Without it, or when it is empty, every Service." },
);

export const IPAddressPool = defineKind({
  group: "metallb.io",
  version: "v1beta1",
  kind: "IPAddressPool",
  plural: "ipaddresspools",
  scope: "Namespaced",
  categories: ["plumbline", "metallb"],
  doc: "Addresses to be handed out to Services of type LoadBalancer. They are announced only where a BGPAdvertisement or L2Advertisement covers the pool.",
  columns: [
    { name: "Auto Assign", path: ".spec.autoAssign", type: "boolean", doc: "Whether Services get an address without asking for it." },
    { name: "Avoid Buggy IPs", path: ".spec.avoidBuggyIPs", type: "boolean", doc: "Whether addresses ending in .0 and .255 are left out." },
    { name: "Addresses", path: ".spec.addresses", type: "string", doc: "The ranges of the pool." },
    { name: "Assigned IPv4", path: ".status.assignedIPV4", type: "integer", doc: "How many IPv4 addresses are in use." },
    { name: "Available IPv4", path: ".status.availableIPV4", type: "integer", doc: "How many IPv4 addresses are free." },
    { name: "Assigned IPv6", path: ".status.assignedIPV6", type: "integer", doc: "How many IPv6 addresses are in use.", wide: true },
    { name: "Available IPv6", path: ".status.availableIPV6", type: "integer", doc: "How many IPv6 addresses are free.", wide: true },
    { name: "Services", path: ".status.services", type: "integer", doc: "How many Services have an address from it.", wide: true },
    {
      name: "Exhausted",
      path: '.status.conditions[?(@.type=="Exhausted")].status',
      type: "string",
      doc: "Whether nothing is left.",
      wide: true,
    },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "How long it has existed." },
  ],
  spec: s.object(
    {
      addresses: s.list(
        s.string({
          doc: "A prefix such as 192.0.2.0/24, or the first and last address of a range: 192.0.2.10-192.0.2.20.",
          maxLength: 128,
        }),
        {
          doc: "The addresses of the pool, as prefixes and ranges of either family. No two pools may share an address: the later claim loses.",
          maxItems: 8192,
        },
      ),
      autoAssign: s.default(
        s.bool({
          doc: "Whether a Service gets an address from this pool without asking for it. With false the pool or an address must be named in an annotation of the Service.",
        }),
        true,
      ),
      avoidBuggyIPs: s.default(
        s.bool({ doc: "Whether IPv4 addresses ending in .0 and .255 are left out, because some old devices drop their traffic." }),
        false,
      ),
      serviceAllocation: s.optional(serviceAllocation),
    },
    { doc: "What is wanted." },
  ),
  status: s.object(
    {
      assignedIPV4: addressCount("How many IPv4 addresses of the pool are in use; a shared one counts once."),
      assignedIPV6: addressCount("How many IPv6 addresses of the pool are in use; a shared one counts once."),
      availableIPV4: addressCount("How many IPv4 addresses of the pool are free."),
      availableIPV6: addressCount("How many IPv6 addresses of the pool are free."),
      services: s.optional(
        s.int({ doc: "How many Services have an address from the pool.", minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
      ),
      conditions: s.optional(s.conditions({ doc: "Exhausted: no address is left in a family that the pool has." })),
      claims: s.optional(claims()),
    },
    { doc: "What the controller has handed out. Edits by others are put right." },
  ),
});
export type IPAddressPool = Stored<typeof IPAddressPool>;
