import { seconds } from "../../util/duration.ts";
import { named, setting, type Spelling } from "./respell.ts";

/** By kind, relative to `spec`. */
export type Spellings = Readonly<Record<string, readonly Spelling[]>>;

const added = (...names: readonly string[]): Spelling[] => names.map((newer) => ({ newer }));

const duration = (name: string) =>
  setting<string, number>({
    older: name,
    newer: `${name}Seconds`,
    toNewer(text, lose) {
      const whole = seconds(text);
      if (Number.isInteger(whole)) return whole;
      lose(`${text} is not a whole number of seconds`);
      return undefined;
    },
    toOlder: (whole) => `${whole}s`,
  });

interface NetworkDevice {
  type: string;
  networkDevice?: { interfaceName: string };
}

/** A missing AS number of the host is that of the router in v0.1, written as 0. */
const hostSession01 = setting<{ hostasn?: number }, { hostasn?: number; hosttype?: string }>({
  older: "hostsession",
  newer: "hostsession",
  toNewer: ({ hostasn, ...session }) => ({ ...session, ...(hostasn === 0 ? { hosttype: "internal" } : defined({ hostasn })) }),
  toOlder({ hosttype, ...session }, lose) {
    if (hosttype === "external") lose("v0.1 needs the AS number of the host", ".hosttype");
    return { ...session, ...(hosttype === "internal" && { hostasn: 0 }) };
  },
});

/** v0.1 and v0.2: one group. */
export const V01_TO_V02: Spellings = {
  Underlay: [
    setting<string[], NetworkDevice[]>({
      older: "nics",
      newer: "interfaces",
      toNewer: (names) => names.map((interfaceName) => ({ type: "NetworkDevice", networkDevice: { interfaceName } })),
      toOlder: (interfaces) => interfaces.flatMap(({ networkDevice }) => networkDevice?.interfaceName ?? []),
    }),
    setting<{ vtepcidr?: string; vtepInterface?: string }, { cidrs: string[] }>({
      older: "evpn",
      newer: "tunnelEndpoint",
      toNewer({ vtepcidr, vtepInterface }, lose) {
        if (vtepInterface) lose("v0.2 has no such setting: give a prefix in tunnelEndpoint.cidrs", ".vtepInterface");
        return vtepcidr ? { cidrs: [vtepcidr] } : undefined;
      },
      toOlder({ cidrs }, lose) {
        const kept = cidrs.find((text) => !text.includes(":"));
        cidrs.forEach((text, nth) => text !== kept && lose(`v0.1 has one IPv4 prefix of VTEPs, and not ${text}`, `.cidrs[${nth}]`));
        return kept === undefined ? undefined : { vtepcidr: kept };
      },
    }),
    {
      older: "neighbors",
      newer: "neighbors",
      fields: [
        duration("holdTime"),
        duration("keepaliveTime"),
        duration("connectTime"),
        { older: "hostasn" },
        { older: "bfd", newer: "bfd", fields: [{ older: "minimumTtl", newer: "minimumTTL" }] },
        ...added("type", "interface", "addressFamilies"),
      ],
    },
    ...added("gracefulRestart", "isis", "srv6"),
  ],
  L2VNI: added("underlayAddressFamily"),
  L3VNI: [...added("underlayAddressFamily", "exportRTs", "importRTs"), hostSession01],
  L3Passthrough: [hostSession01],
  RawFRRConfig: [],
};

const SIDES = { external: "External", internal: "Internal" };
const FAMILIES = { ipv4: "IPv4", ipv6: "IPv6" };

const hostSession02: Spelling = {
  older: "hostsession",
  newer: "hostSession",
  fields: [{ older: "hostasn", newer: "hostASN" }, named("hosttype", "hostType", SIDES), { older: "localcidr", newer: "localCIDR" }],
};

interface Properties {
  type: string;
  ebgpMultiHop?: { ttl?: number };
}

const multiHop = setting<boolean, Properties[]>({
  older: "ebgpMultiHop",
  newer: "properties",
  toNewer: (on) => (on ? [{ type: "ebgpMultiHop", ebgpMultiHop: {} }] : undefined),
  toOlder: ([property], lose) => {
    const ttl = property?.ebgpMultiHop?.ttl ?? 255;
    if (ttl !== 255) lose(`Before main, ebgpMultiHop has no ttl, and is 255 instead of ${ttl}`, "[0].ebgpMultiHop.ttl");
    return property && true;
  },
});

/** Fields of main that Plumbline takes in the old group too. */
export const OLD_GROUP_EXTENSIONS: Spellings = {
  Underlay: [{ older: "neighbors", newer: "neighbors", fields: [multiHop] }],
};

const neighbor: Spelling = {
  older: "neighbors",
  newer: "neighbors",
  fields: [
    named("type", "type", SIDES),
    multiHop,
    {
      older: "bfd",
      newer: "bfd",
      fields: [
        { older: "echoInterval" },
        { older: "echoMode" },
        setting<boolean, string>({
          older: "passiveMode",
          newer: "sessionMode",
          toNewer: (passive) => (passive ? "Passive" : "Active"),
          toOlder: (mode) => mode === "Passive",
        }),
      ],
    },
    { older: "addressFamilies", newer: "addressFamilies", fields: added("properties") },
    ...added("listenRange"),
  ],
};

interface OlderBridge {
  name?: string;
  autoCreate?: boolean;
}

interface NewerBridge {
  name?: string;
  lifecycle: "Managed" | "External";
}

const bridge = (name: string) =>
  setting<OlderBridge, NewerBridge>({
    older: name,
    newer: name,
    toNewer: ({ autoCreate, name: existing }) =>
      autoCreate ? { lifecycle: "Managed" } : { lifecycle: "External", ...defined({ name: existing }) },
    toOlder: ({ lifecycle, name: existing }) => (lifecycle === "Managed" ? { autoCreate: true } : defined({ name: existing })),
  });

const vxlan: readonly Spelling[] = [
  { older: "vxlanport", newer: "vxlanPort" },
  named("underlayAddressFamily", "underlayAddressFamily", FAMILIES),
];

/** v0.2 and main: another group. The VRF of an L2VNI is not here: main refers to another object instead. */
export const V02_TO_MAIN: Spellings = {
  Underlay: [
    { older: "routeridcidr", newer: "routerIDCIDR" },
    neighbor,
    setting<NetworkDevice[], NetworkDevice[]>({
      older: "interfaces",
      newer: "interfaces",
      toNewer: (same) => same,
      toOlder(interfaces, lose) {
        interfaces.forEach(({ type }, nth) => type === "CNIDevice" && lose("v0.2 has no devices of CNI plugins", `[${nth}]`));
        const devices = interfaces.filter(({ type }) => type === "NetworkDevice");
        return devices.length > 0 ? devices : undefined;
      },
    }),
    {
      older: "isis",
      newer: "isis",
      fields: [
        {
          older: "interfaces",
          newer: "interfaces",
          fields: [named("ipFamily", "ipFamily", { ...FAMILIES, dualstack: "DualStack" })],
        },
      ],
    },
    { older: "srv6", newer: "srv6", fields: added("encapBehavior") },
    ...added("routeReflector"),
  ],
  L2VNI: [
    ...vxlan,
    { older: "l2gatewayips", newer: "gatewayIPs" },
    {
      older: "hostmaster",
      newer: "hostMaster",
      fields: [
        named("type", "type", { "linux-bridge": "LinuxBridge", "ovs-bridge": "OVSBridge" }),
        bridge("linuxBridge"),
        bridge("ovsBridge"),
      ],
    },
  ],
  L3VNI: [...vxlan, hostSession02],
  L3Passthrough: [hostSession02],
  L3VPN: [hostSession02],
  RawFRRConfig: [],
};

function defined<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
