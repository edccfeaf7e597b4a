import type { L3Passthrough } from "../../api/openpe/l3passthrough.ts";
import type { L3VNI } from "../../api/openpe/l3vni.ts";
import type { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { addressOf } from "../../ip/address.ts";
import { IpError } from "../../ip/error.ts";
import { parseMaskedPrefix, type Prefix } from "../../ip/prefix.ts";

type HostSession = L3VNI["spec"]["hostsession"];

/** The prefixes of the link between router and host. A prefix that cannot be parsed is the router's problem. */
export function hostLinks(session: HostSession): Prefix[] {
  const { ipv4 = "", ipv6 = "" } = session?.localcidr ?? {};
  return [ipv4, ipv6].flatMap((text) => {
    try {
      return text === "" ? [] : [parseMaskedPrefix(text)];
    } catch (error) {
      if (error instanceof IpError) return [];
      throw error;
    }
  });
}

/** The router's end of such a link, the same on every node. A network address that ends in a zero byte is left out. */
export function routerEnd({ first }: Prefix): string[] {
  const end = first.plus(first.value % 256n === 0n ? 1n : 0n);
  return end ? [end.toString()] : [];
}

/** Objects of the routers that the nodes have besides the load balancer. */
interface RouterReports {
  readonly passthroughs: Iterable<L3Passthrough>;
  readonly l3vnis: Iterable<L3VNI>;
  readonly reports: Iterable<RouterNodeConfigurationStatus>;
}

/**
 * Whether a peer is the router of the same node and none of that router's sessions with the fabric is up, so that it passes no route on.
 */
export function cutOffRouters({ passthroughs, l3vnis, reports }: RouterReports): (node: string, peer: string) => boolean {
  const links = [...passthroughs, ...l3vnis].flatMap(({ spec }) => hostLinks(spec.hostsession));
  const ends = new Set(links.flatMap(routerEnd));
  const cutOff = new Set(Array.from(reports).flatMap((report) => (isCutOff(report, links) ? [report.metadata.name] : [])));
  return (node, peer) => cutOff.has(node) && ends.has(peer);
}

function isCutOff({ status }: RouterNodeConfigurationStatus, links: readonly Prefix[]): boolean {
  const uplinks = (status?.sessions ?? []).filter(({ vrf, neighbor }) => {
    const address = addressOf(neighbor);
    return vrf === "default" && !(address && links.some((link) => link.contains(address)));
  });
  return uplinks.length > 0 && uplinks.every(({ state }) => state !== "Established");
}
