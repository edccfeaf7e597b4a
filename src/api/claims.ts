import { s } from "./schema.ts";

/** Since when an object claims values that only one object can own. Written once by the controller, so that every node decides alike. */
export function claims() {
  return s.listMap(
    ["claim"],
    s.object(
      {
        claim: s.string({
          doc: "The claimed value with its type: vni/100, vrf/red, range/192.0.2.0-192.0.2.255.",
          minLength: 1,
          maxLength: 256,
        }),
        since: s.time({
          doc: "When the object first claimed this value. When two objects claim the same value, the older claim wins.",
          significant: true,
        }),
      },
      { doc: "A value that only one object can own." },
    ),
    {
      doc: "The values that this object claims for itself, and since when. Written by the controller.",
      maxItems: 16_384,
    },
  );
}
