import type { LinkPlan } from "../planned-state.ts";
import type { Link, LinkAddress, OvsBridge, Route, Snapshot } from "../snapshot.ts";

/** For tests: a link that we created for L2VNI/red, up and without addresses. */
export function link(
  name: string,
  type: string,
  fields: Partial<Omit<Link, "addresses">> & { addresses?: readonly (string | LinkAddress)[] } = {},
): Link {
  const { addresses = [], ...others } = fields;
  return {
    name,
    type,
    index: 1,
    alias: "plumbline:L2VNI/red",
    group: "7017",
    mtu: 1500,
    mac: "02:00:00:00:00:01",
    up: true,
    addrGenMode: "eui64",
    ...others,
    addresses: addresses.map((address) => (typeof address === "string" ? linkAddress(address) : address)),
  };
}

export function linkAddress(text: string, fields: Partial<LinkAddress> = {}): LinkAddress {
  const scope = text.startsWith("fe80:") ? "link" : "global";
  return { text, scope, dynamic: false, secondary: false, dadFailed: false, ...fields };
}

/** For tests: a node whose namespaces have a loopback and these. */
export function snapshot(links: {
  host?: readonly Link[];
  router?: readonly Link[];
  ovs?: readonly OvsBridge[];
  routes?: Record<string, Route[]>;
}): Snapshot {
  const lo = link("lo", "", { alias: "", group: "default" });
  const named = (some: readonly Link[] = []) => new Map([lo, ...some].map((each) => [each.name, each]));
  return {
    host: named(links.host),
    router: named(links.router),
    namespaces: { host: "4711", router: "perouter" },
    routes: new Map(Object.entries(links.routes ?? {})),
    ...(links.ovs && { ovs: links.ovs }),
  };
}

/** For tests: what would be typed, with the place before it. */
export function typedCommands({ commands }: LinkPlan): string[] {
  return commands.map(({ netns, program, args }) => `${netns}: ${[program, ...args].join(" ")}`);
}
