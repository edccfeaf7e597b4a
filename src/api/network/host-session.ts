import { exactlyOneOf, rule } from "../rule.ts";
import { asNumber, localPrefixes } from "../router-fields.ts";
import { s } from "../schema.ts";

export function hostSession() {
  return s.object(
    {
      asn: asNumber("The AS number that the router uses in this session."),
      hostASN: s.optional(asNumber("The AS number of the host, the node's own BGP speaker. It must differ from asn.", 1)),
      hostType: s.optional(
        s.enum(["External", "Internal"], {
          doc: "Instead of hostASN: the host has any other AS number than asn (External), or the same (Internal).",
        }),
      ),
      localCIDR: localPrefixes("localCIDR"),
    },
    {
      doc: "A BGP session with the host over a dedicated link. It exchanges routes between the VRF and the node.",
      rules: [
        exactlyOneOf("hostASN", "hostType"),
        rule({
          cel: "!has(self.hostASN) || self.hostASN != self.asn",
          message: "hostASN must differ from asn",
          check: (self) => self.hostASN !== self.asn,
        }),
      ],
    },
  );
}

/** A session is a link with addresses of its own, so it does not come and go with an edit. */
export function sameHostSession() {
  return rule<{ hostSession?: unknown }>({
    cel: "has(self.hostSession) == has(oldSelf.hostSession)",
    message: "hostSession cannot be added or removed; delete and recreate the object to change it",
    transition: (self, oldSelf) => (self.hostSession === undefined) === (oldSelf.hostSession === undefined),
  });
}
