import { exactlyOneOf, rule } from "../rule.ts";
import { s } from "../schema.ts";

export function hostSession() {
  return s.object(
    {
      asn: s.int({ doc: "The AS number that the router uses in this session.", minimum: 1, maximum: 4_294_967_295 }),
      hostasn: s.optional(
        s.int({
          doc: "The AS number of the host, the node's own BGP speaker. It must differ from asn.",
          minimum: 0,
          maximum: 4_294_967_295,
        }),
      ),
      hosttype: s.optional(
        s.enum(["external", "internal"], {
          doc: "Instead of hostasn: the host has any other AS number than asn (external), or the same (internal).",
        }),
      ),
      localcidr: s.object(
        {
          ipv4: s.optional(
            s.string({ doc: "The IPv4 prefix that the two ends are numbered from, such as 192.169.10.0/24.", maxLength: 64 }),
          ),
          ipv6: s.optional(
            s.string({ doc: "The IPv6 prefix that the two ends are numbered from, such as 2001:db8:10::/64.", maxLength: 64 }),
          ),
        },
        {
          doc: "The prefixes of the link between router and host, at least one. The router's end has the first address on every node; the host's end has a different address on each node. Immutable: delete and recreate the object to change it.",
          rules: [
            rule({
              cel: "has(self.ipv4) || has(self.ipv6)",
              message: "at least one of ipv4 and ipv6 must be set",
              check: (self) => self.ipv4 !== undefined || self.ipv6 !== undefined,
            }),
            rule({
              cel: "self == oldSelf",
              message: "localcidr is immutable; delete and recreate the object to change it",
              transition: (self, oldSelf) => self.ipv4 === oldSelf.ipv4 && self.ipv6 === oldSelf.ipv6,
            }),
          ],
        },
      ),
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
