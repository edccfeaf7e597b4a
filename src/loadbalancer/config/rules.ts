/** What can be wrong with the load balancer's configuration. docs/configuration-errors.md lists the same. */
interface Rule {
  /** How the message reads; `<...>` stands for what differs. Where a rule has several, one of them. */
  readonly text: readonly string[];
  readonly when: string;
  /** Transient: it heals by itself once a missing object appears. Permanent: somebody has to change something. */
  readonly class: "Transient" | "Permanent";
  /** Whether the webhook refuses the write that would cause it. */
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
    when: "Two BGPPeers that share a node give different routerIDs; one that gives none differs from one that does. The older value holds.",
  },
  F2: {
    ...permanent,
    text: ["peer <id> already exists, FRR mode doesn't support duplicate BGPPeers selecting the same node"],
    when: "Two BGPPeers that share a node have the same address or interface in the same VRF.",
  },
  F3: {
    ...permanent,
    text: ["peer <id> has myAsn different from <id>, in FRR mode all myAsn must be equal"],
    when: "Two BGPPeers that share a node and a VRF give different myASNs. The older value holds.",
  },
  B1: {
    ...permanent,
    text: ["parsing bfd profile <name>: invalid value <value>, must be in <min>-<max> range\ninvalid <field> value"],
    when: "A number of a BFDProfile is out of its range. The schema refuses it as well.",
  },
  B2: {
    ...permanent,
    text: [
      "missing bfd profile name",
      "found duplicate bfd profile name <name>",
      "bfd profile name <name> has more than 63 characters, which is all that FRR takes",
    ],
    when: "A BFDProfile has no name, one that is there already (neither gets past an API server), or one that FRR would cut.",
  },
  P1: { ...permanent, text: ["parsing peer <name> missing local ASN"], when: "myASN is 0." },
  P2: {
    ...permanent,
    text: [
      "parsing peer <name> missing peer ASN and dynamicASN",
      "parsing peer <name> both peer ASN and dynamicASN specified",
      "parsing peer <name> invalid dynamicASN <value>",
    ],
    when: "Not exactly one of peerASN and dynamicASN is given, or dynamicASN is neither internal nor external.",
  },
  P3: {
    ...permanent,
    text: ["parsing peer <name> invalid ebgp-multihop parameter set for an ibgp peer"],
    when: "ebgpMultiHop with a peer of our own AS: peerASN equals myASN, or dynamicASN is internal.",
  },
  P4: {
    ...permanent,
    text: [
      "parsing peer <name> peer has no Address or Interface specified",
      "parsing peer <name> peer has both Address and Interface specified",
    ],
    when: "Not exactly one of peerAddress and interface is given.",
  },
  P5: {
    ...permanent,
    text: [
      "parsing peer <name> invalid BGPPeer timers: invalid hold time <value>: must be 0 or >=3s",
      "parsing peer <name> invalid BGPPeer timers: invalid hold time <value>: must be <=65535s",
      "parsing peer <name> invalid BGPPeer timers: invalid keepaliveTime <value>, must be lower than holdTime <value>",
      "parsing peer <name> invalid BGPPeer timers: invalid keepaliveTime <value>: must be 0s to 65535s",
      "parsing peer <name> invalid BGPPeer timers: <field> <value> is no length of time such as 30s",
    ],
    when: "holdTime or keepaliveTime cannot be, by itself or together with the other.",
  },
  P6: {
    ...permanent,
    text: [
      "parsing peer <name> invalid BGPPeer address <value>",
      "parsing peer <name> invalid router ID <value>",
      "parsing peer <name> invalid source IP <value>",
      "parsing peer <name> invalid source IP <value>: the peer is of the other family",
    ],
    when: "peerAddress or sourceAddress is not the address of a machine, or of another family than the other one; or routerID is no IPv4 address, or 0.0.0.0.",
  },
  P7: {
    ...permanent,
    text: ["parsing peer <name> duplicate definition of <what> <value>"],
    when: "A node selector, a match expression in one, or a value in that stands there twice.",
  },
  P8: {
    ...permanent,
    text: ["parsing peer <name> <problem>\nfailed to convert peer <name> node selector"],
    when: "A node selector cannot be understood: a key or operator is missing or unknown.",
  },
  P9: {
    ...permanent,
    text: ["parsing peer <name> can not have both password and secret ref set in peer config <namespace>/<name>"],
    when: "password and passwordSecret are both given.",
  },
  P10: { ...permanent, text: ["peer <name> already exists"], when: "The same BGPPeer is there twice, which no API server allows." },
  P11: {
    ...permanent,
    text: ["parsing peer <name> invalid <field> <value>: must be in <min>-<max> range"],
    when: "A port, connectTime or AS number is out of its range. The schema refuses it as well.",
  },
  P12: {
    ...permanent,
    text: ["parsing peer <name> invalid <field> <value>: <problem>"],
    when: "interface or vrf is no name that the kernel has for one, or means something else to FRR.",
  },
  P13: {
    ...permanent,
    text: ["parsing peer <name> password <problem>"],
    when: "password is longer than FRR takes, or has a character that it does not take: a space, a line break.",
  },
  T1: {
    ...transient,
    text: [`parsing peer <name> secret ref not found for peer config <namespace>/<name>\n${SECRET}`],
    when: "passwordSecret names a Secret that is not there. It heals when the Secret is created.",
  },
  V1: {
    ...unseen,
    text: [`parsing peer <name> secret type mismatch on <namespace>/<secret>, type "kubernetes.io/basic-auth" is expected \n${SECRET}`],
    when: "The Secret is not of type kubernetes.io/basic-auth. Create it anew: the type of a Secret cannot be changed.",
  },
  V2: {
    ...unseen,
    text: [`parsing peer <name> password not specified in the secret <namespace>/<secret>\n${SECRET}`],
    when: "The Secret has no key password.",
  },
  V4: {
    ...unseen,
    text: [`parsing peer <name> password in the secret <namespace>/<secret> <problem>\n${SECRET}`],
    when: "The password in the Secret is longer than FRR takes, or has a character that it does not take: often a line break at its end.",
  },
  T2: {
    ...transient,
    text: [
      "peer <name> referencing non existing bfd profile <profile>",
      "peer <name> referencing bfd profile <profile>, which is not valid",
    ],
    when: "bfdProfile names a BFDProfile that is not there, or is not valid. It heals when the profile is.",
  },
  C1: {
    ...permanent,
    text: ["parsing community <alias>: invalid community value: <problem>", "parsing community <alias>: invalid community format: <value>"],
    when: "The value of an alias in a Community is no community.",
  },
  C2: {
    ...permanent,
    text: ["duplicate definition of community <alias>"],
    when: "An alias is there twice, in one Community or in two. The older claim holds.",
  },
  A1: {
    ...permanent,
    text: ["parsing address pool <name>: missing pool name", "parsing address pool <name>: pool has no prefixes defined"],
    when: "An IPAddressPool has no addresses.",
  },
  A2: {
    ...permanent,
    text: ["parsing address pool <name>: invalid CIDR <value> in pool <name>: <problem>"],
    when: "An entry of addresses is neither a prefix nor a range of addresses of one family, or has only such as no Service can have: loopback, groups, 0.0.0.0.",
  },
  A3: {
    ...permanent,
    text: [
      "parsing address pool <name>: duplicate definition in namespaces field",
      "parsing address pool <name>: duplicate definition of <what> <value>",
      "parsing address pool <name>: <problem>\ninvalid <what> label selector <value> in ip pool <name>",
    ],
    when: "serviceAllocation names a namespace or a selector twice, or has a selector that cannot be understood.",
  },
  A4: {
    ...permanent,
    text: ["duplicate definition of pool <name>"],
    when: "The same IPAddressPool is there twice, which no API server allows.",
  },
  A5: {
    ...permanent,
    text: ["CIDR <value> in pool <name> overlaps with already defined CIDR <value>"],
    when: "Two entries share an address, in one pool or in two. The older claim holds.",
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
    when: "An L2Advertisement names a pool or a selector twice, has a selector that cannot be understood, or names an interface that the kernel cannot have.",
  },
  G1: {
    ...permanent,
    text: ["duplicate definition of bgpadvertisements. advertisement <name> is there twice"],
    when: "The same BGPAdvertisement is there twice, which no API server allows.",
  },
  G2: {
    ...permanent,
    text: [
      "duplicate definition of <what> <value>",
      "<problem>\nfailed to parse <what> for <name>",
      "<problem>\ninvalid label selector <value>",
    ],
    when: "A BGPAdvertisement names a pool, community, peer or selector twice, or has a selector that cannot be understood.",
  },
  G3: {
    ...permanent,
    text: ["serviceSelectors and <field> are mutually exclusive, both cannot be set in <name>"],
    when: "serviceSelectors together with an aggregation length: a prefix is announced for all Services in it. The schema refuses it as well.",
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
      "too many communities in BGP advertisement: <count>, and at most <max> go with one prefix",
    ],
    when: "A community with a colon in it has a number too large, or too many parts; or there are more than 63 different ones.",
  },
  T3: {
    ...transient,
    text: ["invalid community format: <value>\ninvalid community <value> in BGP advertisement"],
    when: "A community without a colon is no alias of any Community. It heals when the alias is defined.",
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
    when: "Two BGPAdvertisements without serviceSelectors give the same prefix of a pool different localPrefs on a common node, to a common peer.",
  },
  V3: {
    ...unseen,
    text: ["pool <pool> has bgpadvertisement <name> which references peer <peer> which has bfd echo enabled, which is not possible"],
    when: "A pool with IPv6 addresses is announced to a BGPPeer whose BFDProfile has echoMode.",
  },
  N1: {
    ...permanent,
    text: ["<value> is no name of an object"],
    when: "The name of an object has characters that none can have, which no API server allows.",
  },
  E1: {
    ...unseen,
    text: ["extras has a control character in line <n>"],
    when: "The ConfigMap bgpextras has something in its key extras that is no text.",
  },
} as const satisfies Record<string, Rule>;

export type RuleId = keyof typeof RULES;
