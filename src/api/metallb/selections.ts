import { s } from "../schema.ts";

const selectedName = (doc: string) => s.string({ doc, maxLength: 253 });

export const selections = {
  ipAddressPools: s.optional(
    s.list(selectedName("The name of an IPAddressPool."), {
      doc: "The pools whose addresses are announced, by name; in addition to ipAddressPoolSelectors. If both are empty, every pool.",
      maxItems: 8192,
    }),
  ),
  ipAddressPoolSelectors: s.optional(
    s.list(s.labelSelector({ doc: "Pools by their labels." }), {
      doc: "The pools whose addresses are announced, by label; selectors are ORed.",
      maxItems: 256,
    }),
  ),
  nodeSelectors: s.optional(
    s.list(s.labelSelector({ doc: "Nodes by their labels." }), {
      doc: "The nodes that announce; selectors are ORed. Empty means all nodes.",
      maxItems: 256,
    }),
  ),
  serviceSelectors: s.optional(
    s.list(s.labelSelector({ doc: "Services by their labels." }), {
      doc: "The Services that are announced; selectors are ORed. Empty means all Services with an address of the pools.",
      maxItems: 256,
    }),
  ),
};
