import { s } from "./schema.ts";

/**
 * Since when an object asks for the values that only one object may have. The controller writes it once, so that every node decides
 * alike who was first.
 */
export function claims() {
  return s.listMap(
    ["claim"],
    s.object(
      {
        claim: s.string({
          doc: "The value that is asked for, with its kind: vni/100, vrf/red, range/192.0.2.0-192.0.2.255.",
          minLength: 1,
          maxLength: 256,
        }),
        since: s.time({
          doc: "When the object first asked for this value. Of two objects that ask for the same one, the older claim has it.",
          significant: true,
        }),
      },
      { doc: "One value that only one object may have." },
    ),
    {
      doc: "The values that this object asks for and nobody else may have at the same time, and since when. Written by the controller.",
      maxItems: 16_384,
    },
  );
}
