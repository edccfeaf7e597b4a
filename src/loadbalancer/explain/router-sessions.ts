import { L3Passthrough } from "../../api/openpe/l3passthrough.ts";
import { L3VNI } from "../../api/openpe/l3vni.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import type { Index, ObjectReader, Component } from "../../api/health.ts";
import { addressOf } from "../../ip/address.ts";
import { IpError } from "../../ip/error.ts";
import { parseMaskedPrefix, type Prefix } from "../../ip/prefix.ts";
import { objectOf, on } from "./components.ts";

/** The router's end of a session that a node's load balancer has with the router of the same node. */
export interface RouterSession {
  /** What makes it, on the node. */
  readonly resource: Component;
  /** The same session in the router's status; undefined if it has none. */
  readonly session: Component | undefined;
}

export function routerSessions(address: string, node: string, reader: ObjectReader): RouterSession[] {
  if (addressOf(address) === undefined) return [];
  const ends = [
    ...reader.by(vnisByEnd, address).map(({ metadata, spec }) => ({ component: objectOf("L3VNI", metadata), vrf: spec.vrf, spec })),
    ...reader
      .by(passthroughsByEnd, address)
      .map(({ metadata, spec }) => ({ component: objectOf("L3Passthrough", metadata), vrf: "default", spec })),
  ];
  return ends.map(({ component, vrf, spec }) => {
    const links = linksOf(spec.hostsession);
    const observed = reader.get(RouterNodeConfigurationStatus, `${component.namespace}/${node}`)?.status?.sessions ?? [];
    const session = observed.find((one) => one.vrf === vrf && links.some((link) => contains(link, one.neighbor)));
    const name = session && (vrf === "default" ? session.neighbor : `${vrf}/${session.neighbor}`);
    return { resource: on(node, component), session: name === undefined ? undefined : { kind: "Session", name, node } };
  });
}

const vnisByEnd: Index<L3VNI> = { kind: L3VNI, of: ({ spec }) => linksOf(spec.hostsession).flatMap(endOf) };
const passthroughsByEnd: Index<L3Passthrough> = { kind: L3Passthrough, of: ({ spec }) => linksOf(spec.hostsession).flatMap(endOf) };

/** The prefixes of the link between router and host. What cannot be read is the router's business. */
function linksOf(session: L3VNI["spec"]["hostsession"]): Prefix[] {
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

/** It is the same on every node. A network address that ends in a zero byte is left out. */
function endOf({ first }: Prefix): string[] {
  const end = first.plus(first.value % 256n === 0n ? 1n : 0n);
  return end ? [end.toString()] : [];
}

function contains(link: Prefix, neighbor: string): boolean {
  const address = addressOf(neighbor);
  return address !== undefined && link.contains(address);
}
