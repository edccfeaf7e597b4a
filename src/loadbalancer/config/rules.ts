/** Also listed in docs/configuration-errors.md. */
interface Rule {
  /** The message; `<...>` marks variable parts. A rule with several texts uses one of them. */
  readonly text: readonly string[];
  readonly when: string;
  /** Transient: resolves when a missing object appears. Permanent: the resource must be changed. */
  readonly class: "Transient" | "Permanent";
  /** Whether the webhook rejects the write that would cause it. */
  readonly webhook: "blocks" | "passes";
}

const permanent = { class: "Permanent", webhook: "blocks" } as const;
const unseen = { class: "Permanent", webhook: "passes" } as const;
const transient = { class: "Transient", webhook: "passes" } as const;

const SECRET = "failed to parse peer <name> password secret";

export const RULES = {
  F1: {
    ...permanent,
    text: ["peer <id> has RouterID different from <id>, in FRR mode all RouterID must be equal"],
    when: "Two BGPPeers that share a node have different routerIDs; an unset routerID differs from a set one. The older value wins.",
  },
  F2: {
    ...permanent,
    text: ["peer <id> already exists, FRR mode doesn't support duplicate BGPPeers selecting the same node"],
    when: "Two BGPPeers that share a node have the same address or interface in the same VRF.",
  },
  F3: {
    ...permanent,
    text: ["peer <id> has myAsn different from <id>, in FRR mode all myAsn must be equal"],
    when: "Two BGPPeers that share a node and a VRF have different myASNs. The older value wins.",
  },
  B1: {
    ...permanent,
    text: ["parsing bfd profile <name>: invalid value <value>, must be in <min>-<max> range\ninvalid <field> value"],
    when: "A value of a BFDProfile is out of range. The schema rejects it too.",
  },
  B2: {
    ...permanent,
    text: [
      "missing bfd profile name",
      "found duplicate bfd profile name <name>",
      "bfd profile name <name> has more than 63 characters, the maximum of FRR",
    ],
    when: "A BFDProfile has no name or a duplicate name (an API server allows neither), or a name too long for FRR.",
  },
  P1: { ...permanent, text: ["parsing peer <name> missing local ASN"], when: "myASN is 0." },
  P2: {
    ...permanent,
    text: [
      "parsing peer <name> missing peer ASN and dynamicASN",
      "parsing peer <name> both peer ASN and dynamicASN specified",
      "parsing peer <name> invalid dynamicASN <value>",
    ],
    when: "Not exactly one of peerASN and dynamicASN is set, or dynamicASN is neither internal nor external.",
  },
  P3: {
    ...permanent,
    text: ["parsing peer <name> invalid ebgp-multihop parameter set for an ibgp peer"],
    when: "ebgpMultiHop is set for an iBGP peer: peerASN equals myASN, or dynamicASN is internal.",
  },
  P4: {
    ...permanent,
    text: [
      "parsing peer <name> peer has no Address or Interface specified",
      "parsing peer <name> peer has both Address and Interface specified",
    ],
    when: "Not exactly one of peerAddress and interface is set.",
  },
  P5: {
    ...permanent,
    text: [
      "parsing peer <name> invalid BGPPeer timers: invalid hold time <value>: must be 0 or >=3s",
      "parsing peer <name> invalid BGPPeer timers: invalid hold time <value>: must be <=65535s",
      "parsing peer <name> invalid BGPPeer timers: invalid keepaliveTime <value>, must be lower than holdTime <value>",
      "parsing peer <name> invalid BGPPeer timers: invalid keepaliveTime <value>: must be 0s to 65535s",
      "parsing peer <name> invalid BGPPeer timers: <field> <value> is not a duration such as 30s",
    ],
    when: "holdTime or keepaliveTime is invalid, alone or in combination.",
  },
  P6: {
    ...permanent,
    text: [
      "parsing peer <name> invalid BGPPeer address <value>",
      "parsing peer <name> invalid router ID <value>",
      "parsing peer <name> invalid source IP <value>",
      "parsing peer <name> invalid source IP <value>: the peer has the other address family",
    ],
    when: "peerAddress or sourceAddress is not a host address, or their families differ; or routerID is not an IPv4 address, or is 0.0.0.0.",
  },
  P7: {
    ...permanent,
    text: ["parsing peer <name> duplicate definition of <what> <value>"],
    when: "A node selector, a match expression or one of its values is duplicated.",
  },
  P8: {
    ...permanent,
    text: ["parsing peer <name> <problem>\nfailed to convert peer <name> node selector"],
    when: "A node selector is invalid: a key or operator is missing or unknown.",
  },
  P9: {
    ...permanent,
    text: ["parsing peer <name> can not have both password and secret ref set in peer config <namespace>/<name>"],
    when: "password and passwordSecret are both set.",
  },
  P10: { ...permanent, text: ["peer <name> already exists"], when: "The BGPPeer exists twice; no API server allows that." },
  P11: {
    ...permanent,
    text: ["parsing peer <name> invalid <field> <value>: must be in <min>-<max> range"],
    when: "A port, connectTime or AS number is out of range. The schema rejects it too.",
  },
  P12: {
    ...permanent,
    text: ["parsing peer <name> invalid <field> <value>: <problem>"],
    when: "interface or vrf is not a valid kernel interface name, or is reserved by FRR.",
  },
  P13: {
    ...permanent,
    text: ["parsing peer <name> password <problem>"],
    when: "password is too long for FRR, or has a character that FRR does not accept: a space, a line break.",
  },
  T1: {
    ...transient,
    text: [`parsing peer <name> secret ref not found for peer config <namespace>/<name>\n${SECRET}`],
    when: "passwordSecret names a Secret that does not exist. Resolves when the Secret is created.",
  },
  V1: {
    ...unseen,
    text: [`parsing peer <name> secret type mismatch on <namespace>/<secret>, type "kubernetes.io/basic-auth" is expected \n${SECRET}`],
    when: "The Secret is not of type kubernetes.io/basic-auth. Recreate it: the type of a Secret is immutable.",
  },
  V2: {
    ...unseen,
    text: [`parsing peer <name> password not specified in the secret <namespace>/<secret>\n${SECRET}`],
    when: "The Secret has no key password.",
  },
  V4: {
    ...unseen,
    text: [`parsing peer <name> password in the secret <namespace>/<secret> <problem>\n${SECRET}`],
    when: "The password in the Secret is too long for FRR, or has a character that FRR does not accept: often a trailing line break.",
  },
  T2: {
    ...transient,
    text: [
      "peer <name> referencing non existing bfd profile <profile>",
      "peer <name> referencing bfd profile <profile>, which is not valid",
    ],
    when: "bfdProfile names a BFDProfile that does not exist or is invalid. Resolves when the profile is created or fixed.",
  },
  C1: {
    ...permanent,
    text: ["parsing community <alias>: invalid community value: <problem>", "parsing community <alias>: invalid community format: <value>"],
    when: "The value of an alias in a Community is not a community.",
  },
  C2: {
    ...permanent,
    text: ["duplicate definition of community <alias>"],
    when: "An alias is defined twice, in one Community or in two. The older claim wins.",
  },
  A1: {
    ...permanent,
    text: ["parsing address pool <name>: missing pool name", "parsing address pool <name>: pool has no prefixes defined"],
    when: "An IPAddressPool has no addresses.",
  },
  A2: {
    ...permanent,
    text: ["parsing address pool <name>: invalid CIDR <value> in pool <name>: <problem>"],
    when: "An entry of addresses is neither a prefix nor a range of one family, or has no address that a Service can use: loopback, multicast, 0.0.0.0.",
  },
  A3: {
    ...permanent,
    text: [
      "parsing address pool <name>: duplicate definition in namespaces field",
      "parsing address pool <name>: duplicate definition of <what> <value>",
      "parsing address pool <name>: <problem>\ninvalid <what> label selector <value> in ip pool <name>",
    ],
    when: "serviceAllocation has a duplicate namespace or selector, or an invalid selector.",
  },
  A4: {
    ...permanent,
    text: ["duplicate definition of pool <name>"],
    when: "The IPAddressPool exists twice; no API server allows that.",
  },
  A5: {
    ...permanent,
    text: ["CIDR <value> in pool <name> overlaps with already defined CIDR <value>"],
    when: "Two entries overlap, in one pool or in two. The older claim wins.",
  },
  L1: {
    ...permanent,
    text: [
      "duplicate definition of <what> <value>",
      "<problem>\nfailed to parse <what> for <name>",
      "<problem>\ninvalid label selector <value>",
      "invalid interface <value> in <name>: <problem>",
      "invalid weight <value> in <name>: must be in <min>-<max> range",
      "l2advertisement <name> already exists",
    ],
    when: "An L2Advertisement has a duplicate pool or selector, an invalid selector, or an invalid interface name.",
  },
  G1: {
    ...permanent,
    text: ["duplicate definition of bgpadvertisements. advertisement <name> exists twice"],
    when: "The BGPAdvertisement exists twice; no API server allows that.",
  },
  G2: {
    ...permanent,
    text: [
      "duplicate definition of <what> <value>",
      "<problem>\nfailed to parse <what> for <name>",
      "<problem>\ninvalid label selector <value>",
    ],
    when: "A BGPAdvertisement has a duplicate pool, community, peer or selector, or an invalid selector.",
  },
  G3: {
    ...permanent,
    text: ["serviceSelectors and <field> are mutually exclusive, both cannot be set in <name>"],
    when: "serviceSelectors and an aggregation length are both set: a prefix is announced for all Services in it. The schema rejects it too.",
  },
  G4: {
    ...permanent,
    text: ["invalid aggregation length <value> for <family>", "invalid local preference <value>"],
    when: "aggregationLength is not 1 to 32, or aggregationLengthV6 not 0 to 128.",
  },
  G5: {
    ...permanent,
    text: [
      "invalid community value: <problem>\ninvalid community <value> in BGP advertisement",
      "invalid community format: <value>\ninvalid community <value> in BGP advertisement",
      "too many communities in BGP advertisement: <count>, at most <max> per prefix",
    ],
    when: "A community with a colon has a number out of range or too many parts; or there are more than 63 communities.",
  },
  T3: {
    ...transient,
    text: ["invalid community format: <value>\ninvalid community <value> in BGP advertisement"],
    when: "A community without a colon is not an alias in any Community. Resolves when the alias is defined.",
  },
  G6: {
    ...permanent,
    text: [
      "invalid aggregation length <value>: prefix <length> in this pool is more specific than the aggregation length for addresses <addresses>",
    ],
    when: "A BGPAdvertisement would announce a prefix larger than an entry of one of its pools.",
  },
  G7: {
    ...permanent,
    text: [
      "invalid local preference <value>: local preference <value> was already set for the same type of BGP update. Check existing BGP advertisements with common pools and aggregation lengths",
    ],
    when: "Two BGPAdvertisements without serviceSelectors set different localPrefs for the same prefix, node and peer.",
  },
  V3: {
    ...unseen,
    text: ["pool <pool> has bgpadvertisement <name> which references peer <peer> which has bfd echo enabled, which is not possible"],
    when: "A pool with IPv6 addresses is announced to a BGPPeer whose BFDProfile has echoMode.",
  },
  N1: {
    ...permanent,
    text: ["<value> is not a valid object name"],
    when: "The object name has invalid characters; no API server allows that.",
  },
  E1: {
    ...unseen,
    text: ["extras has a control character in line <n>"],
    when: "The key extras of ConfigMap bgpextras has control characters.",
  },
} as const satisfies Record<string, Rule>;

export type RuleId = keyof typeof RULES;
