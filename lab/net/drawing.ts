import { type ObservedLink, stateText } from "./impairment.ts";
import { ACCESS_BRIDGE, LEAF_BRIDGE, MACHINE, ROUTER_ASN, SPEAKER_ASN, type Topology, UNDERLAY_LENGTH } from "./topology.ts";

export interface DrawingOptions {
  /** Whether the nodes have routers; otherwise their load balancers peer with the ToRs. */
  readonly routers: boolean;
}

/** A switch with its segments, and the links on each. */
export function drawTopology({ tors, nodes }: Topology, links: readonly ObservedLink[], { routers }: DrawingOptions): string {
  const nodeAsn = routers ? ROUTER_ASN : SPEAKER_ASN;
  const asnOf = new Map(tors.flatMap(({ name }) => nodes.map((node) => [`${node}-${name}`, nodeAsn])));
  const width = Math.max(...links.map(({ name }) => name.length));
  const switches = [...tors.map(({ name, asn }) => ({ name, title: `${name}  AS ${asn}` })), { name: MACHINE, title: "management" }];
  return switches
    .map(({ name, title }) => {
      const segments = Map.groupBy(
        links.filter(({ ends }) => ends[1].host === name),
        ({ ends: [, port] }) => port.bridge ?? port.device,
      );
      const torAddress = tors.find((tor) => tor.name === name)?.address;
      const parts = [...segments].map(([segment, of]) => {
        const lines = branches(of.map((link) => [lineOf(link, width, asnOf.get(link.name))]));
        return [segmentTitle(segment, of, torAddress)].concat(lines);
      });
      return [title, ...branches(parts)].join("\n");
    })
    .join("\n\n");
}

function segmentTitle(segment: string, [first]: readonly ObservedLink[], torAddress: string | undefined): string {
  if (segment === LEAF_BRIDGE) return `${segment}  ${torAddress}/${UNDERLAY_LENGTH}`;
  if (segment === ACCESS_BRIDGE) return `${segment}  layer 2 only`;
  const { address, vrf } = first?.ends[1] ?? {};
  return [segment, ...(address === undefined ? [] : [address]), ...(vrf === undefined ? [] : [`VRF ${vrf}`])].join("  ");
}

function lineOf(link: ObservedLink, width: number, asn: number | undefined): string {
  const {
    name,
    ends: [end],
  } = link;
  const where = `${end.host} ${end.device}`.padEnd(14);
  const columns = [name.padEnd(width), where, (end.address ?? "").padEnd(17), (asn === undefined ? "" : `AS ${asn}`).padEnd(9)];
  return [...columns, stateText(link)].join("  ").trimEnd();
}

/** Each part is a line with what is below it. */
function branches(parts: readonly (readonly string[])[]): string[] {
  return parts.flatMap(([head = "", ...below], nth) => {
    const last = nth === parts.length - 1;
    return [`${last ? "└─" : "├─"} ${head}`, ...below.map((line) => `${last ? "   " : "│  "}${line}`)];
  });
}
