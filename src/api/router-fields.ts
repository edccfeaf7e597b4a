import { claims } from "./claims.ts";
import { type Rule, rule } from "./rule.ts";
import { s } from "./schema.ts";

// What the kinds of both groups of the router have in common.

export const OPENPE = {
  group: "openpe.openperouter.github.io",
  version: "v1alpha1",
  scope: "Namespaced",
  categories: ["plumbline", "openperouter"],
} as const;

export const NETWORK = { ...OPENPE, group: "network.openperouter.io" } as const;

export const AGE = { name: "Age", path: ".metadata.creationTimestamp", type: "date", doc: "Time since creation." } as const;

export function claimsStatus() {
  return s.object({ claims: s.optional(claims()) }, { doc: "The state of this object in the cluster, written by the controller." });
}

export function nodeSelector() {
  return s.labelSelector({ doc: "Selects nodes by their labels. Missing or empty: every node." });
}

export function vrf(doc: string, minLength = 0) {
  return s.string({ doc, ...(minLength > 0 && { minLength }), maxLength: 15, pattern: "^[a-zA-Z][a-zA-Z0-9_-]*$" });
}

export function vni(doc: string) {
  return s.int({ doc, minimum: 1, maximum: 16_777_215 });
}

export function vxlanPort() {
  return s.default(
    s.int({ doc: "The UDP port of the VXLAN tunnel, the same on every VTEP of the fabric.", minimum: 1, maximum: 65_535 }),
    4789,
  );
}

export function underlayAddressFamily<const V extends readonly string[]>(families: V) {
  return s.enum(families, { doc: "The address family of the VXLAN tunnels. Default: that of the Underlay's VTEP." });
}

export function routeTargets(doc: string) {
  return s.list(s.string({ doc: "A route target, such as 64514:100 or 192.0.2.1:100.", maxLength: 21 }), { doc, maxItems: 100 });
}

/** Of an L3VNI. */
export function vniRouteTargets() {
  return {
    exportRTs: s.optional(
      routeTargets(
        "The route targets that the VRF's routes are exported with. Default: derived from the AS number and the VNI. Two VRFs of a node must not export the same route target, nor one whose number is another VNI of the node: FRR imports that from any AS number.",
      ),
    ),
    importRTs: s.optional(
      routeTargets(
        "The route targets whose routes the VRF imports. Default: derived from the VNI, for any AS number. Traffic flows only between L3VNIs with the same VNI.",
      ),
    ),
  };
}

export function gatewayAddresses(rules: readonly Rule<readonly string[]>[] = []) {
  return s.optional(
    s.list(s.string({ doc: "An address with the length of its subnet, such as 192.0.2.1/24.", maxLength: 64 }), {
      doc: "The gateway of the broadcast domain, the same on every node: at most one IPv4 and one IPv6 address. Immutable: delete and recreate the object to change it.",
      maxItems: 2,
      ...(rules.length > 0 && { rules }),
    }),
  );
}

export function sameGateways<F extends string>(field: F) {
  type Self = { readonly [K in F]?: readonly string[] | undefined };
  const of = (self: Self): readonly string[] | undefined => self[field];
  return rule<Self>({
    cel: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
    message: `${field} is immutable; delete and recreate the object to change it`,
    transition: (self, oldSelf) =>
      of(self)?.length === of(oldSelf)?.length && (of(self) ?? []).every((address, nth) => address === of(oldSelf)?.[nth]),
  });
}

/** The prefixes of a session with the host. */
export function localPrefixes(field: string) {
  return s.object(
    {
      ipv4: s.optional(s.string({ doc: "The IPv4 prefix that the two ends are numbered from, such as 192.169.10.0/24.", maxLength: 64 })),
      ipv6: s.optional(s.string({ doc: "The IPv6 prefix that the two ends are numbered from, such as 2001:db8:10::/64.", maxLength: 64 })),
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
          message: `${field} is immutable; delete and recreate the object to change it`,
          transition: (self, oldSelf) => self.ipv4 === oldSelf.ipv4 && self.ipv6 === oldSelf.ipv6,
        }),
      ],
    },
  );
}

export function asNumber(doc: string, minimum = 1) {
  return s.int({ doc, minimum, maximum: 4_294_967_295 });
}

export const interval = (doc: string) => s.optional(s.int({ doc: `${doc} In milliseconds.`, minimum: 10, maximum: 60_000 }));

const timer = (doc: string, minimum: number) => s.optional(s.int({ doc: `${doc} In seconds.`, minimum, maximum: 65_535 }));

export function bfdTimers() {
  return {
    receiveInterval: interval("The shortest interval at which control packets can be received."),
    transmitInterval: interval("The shortest interval at which control packets are sent."),
    detectMultiplier: s.optional(s.int({ doc: "How many packets may be missed before the session is down.", minimum: 2, maximum: 255 })),
  };
}

export function addressFamilyType() {
  return s.enum(["ipv4unicast", "ipv6unicast", "evpn", "ipv4vpn", "ipv6vpn"], {
    doc: "The address family. ipv4vpn and ipv6vpn are not supported by this version.",
  });
}

export const ADDRESS_FAMILIES = {
  doc: "The address families of the session, exactly these. Default: unicast of the session's own family, and evpn if the Underlay has a VTEP.",
  maxItems: 4,
};

export function neighborInterface() {
  return s.optional(
    s.string({
      doc: "Instead of address: the interface of the Underlay that leads to the neighbor. The session uses IPv6 link-local addresses.",
      minLength: 1,
      maxLength: 15,
      pattern: "^[^/:\\s]+$",
    }),
  );
}

export function portAndPassword(password: { pattern?: string }) {
  return {
    port: s.optional(s.int({ doc: "The TCP port to connect to. Default: 179.", minimum: 0, maximum: 16_384 })),
    password: s.optional(
      s.string({
        doc: "The TCP MD5 password of the session. Everyone who can read this object can read it; prefer passwordSecret.",
        maxLength: 128,
        ...password,
      }),
    ),
    passwordSecret: s.optional(
      s.string({
        doc: "The name of a Secret in this namespace whose key `password` holds the TCP MD5 password of the session.",
        maxLength: 253,
      }),
    ),
  };
}

export function timersInSeconds() {
  return {
    holdTimeSeconds: timer("The BGP hold time: 0, or at least 3. Set it together with keepaliveTimeSeconds.", 0),
    keepaliveTimeSeconds: timer("The interval between keepalives, at most holdTimeSeconds. Set it together with holdTimeSeconds.", 0),
    connectTimeSeconds: timer("The interval between connection attempts.", 1),
  };
}
