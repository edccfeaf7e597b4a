import { exactlyOneOf, rule } from "../rule.ts";
import { asNumber, localPrefixes } from "../router-fields.ts";
import { s } from "../schema.ts";

export function hostSession() {
  return s.object(
    {
      asn: asNumber("The AS number that the router uses in this session."),
      hostasn: s.optional(asNumber("The AS number of the host, the node's own BGP speaker. It must differ from asn.", 0)),
      hosttype: s.optional(
        s.enum(["external", "internal"], {
          doc: "Instead of hostasn: the host has any other AS number than asn (external), or the same (internal).",
        }),
      ),
      localcidr: localPrefixes("localcidr"),
    },
    {
      doc: "A BGP session with the host over a dedicated link. It exchanges routes between the VRF and the node.",
      rules: [
        exactlyOneOf("hostasn", "hosttype"),
        rule({
          cel: "!has(self.hostasn) || self.hostasn != self.asn",
          message: "hostasn must differ from asn",
          check: (self) => self.hostasn !== self.asn,
        }),
      ],
    },
  );
}

/** A session is a link with addresses of its own, so it does not come and go with an edit. */
export function sameHostSession() {
  return rule<{ hostsession?: unknown }>({
    cel: "has(self.hostsession) == has(oldSelf.hostsession)",
    message: "hostsession cannot be added or removed; delete and recreate the object to change it",
    transition: (self, oldSelf) => (self.hostsession === undefined) === (oldSelf.hostsession === undefined),
  });
}
