import type { HostSession } from "../model/specs.ts";
import type { Family } from "../../ip/address.ts";
import { parseInterfaceAddress } from "../../ip/interface-address.ts";
import type { ObservedNode } from "../model/observed.ts";
import { sessionAddresses, type SessionAddresses } from "./addresses.ts";
import { AS_NUMBER, type FieldProblem, problemIf, numberProblems } from "./field-error.ts";
import { readPrefixOf, type ParsedField, unusable, valueOf } from "./networks.ts";

const FIELD = "spec.hostsession";
const OWN_LEG = /^(host-[0-9]+|pt-host)$/;

type NodeAddresses = Pick<ObservedNode, "index" | "interfaces" | "guarded">;

/** H1 to H3, whether there is an address for this node, and whether it leaves the node its own. */
export function hostSessionProblems(session: HostSession, { index = 0, ...facts }: NodeAddresses): FieldProblem[] {
  const { asn, hostasn, hosttype, localcidr } = session;
  const families = ([4, 6] as const).filter((family) => localcidr?.[`ipv${family}`]);
  return [
    ...numberProblems(`${FIELD}.asn`, "AS number", asn, AS_NUMBER.min, AS_NUMBER.max),
    ...(hosttype ? [] : numberProblems(`${FIELD}.hostasn`, "AS number of the host", hostasn, AS_NUMBER.min, AS_NUMBER.max)),
    ...problemIf(hosttype !== undefined && hostasn !== undefined, `${FIELD}.hosttype`, () => "Set hostasn or hosttype, not both"),
    ...problemIf(asn !== undefined && asn === hostasn, `${FIELD}.hostasn`, () => `AS number of the host ${hostasn} must differ from asn`),
    ...problemIf(families.length === 0, `${FIELD}.localcidr`, () => "localcidr requires ipv4, ipv6 or both"),
    ...families.flatMap((family) => {
      const reading = sessionLink(session, family, index);
      if ("problem" in reading) return [{ field: `${FIELD}.localcidr.ipv${family}`, message: reading.problem }];
      return lifeLineProblems(reading.value, family, facts);
    }),
  ];
}

/** The host's end brings a route of its own: one into the network that the node lives on would cut it off. */
function lifeLineProblems(
  { host }: SessionAddresses,
  family: Family,
  { interfaces, guarded }: Omit<NodeAddresses, "index">,
): FieldProblem[] {
  const overlapping = interfaces.host
    .filter(({ name }) => guarded.has(name) && !OWN_LEG.test(name))
    .flatMap(({ name, addresses }) => addresses.map((text) => ({ name, text })))
    .find(({ text }) => parseInterfaceAddress(text).prefix.overlaps(host.prefix));
  return problemIf(
    overlapping !== undefined,
    `${FIELD}.localcidr.ipv${family}`,
    () =>
      `localcidr.ipv${family} ${host.prefix.toString()} overlaps ${overlapping?.text} of interface ${overlapping?.name}, which ${guarded.get(overlapping?.name ?? "")}`,
  );
}

/** The ends of a session that nothing is wrong with, by family. */
export function sessionAddressPair(session: HostSession, index: number): Map<Family, SessionAddresses> {
  const families = ([4, 6] as const).filter((family) => session.localcidr[`ipv${family}`]);
  return new Map(families.map((family) => [family, valueOf(sessionLink(session, family, index))]));
}

/** The addresses of the link that the session runs over, for one family that it has. */
function sessionLink({ localcidr }: HostSession, family: Family, index: number): ParsedField<SessionAddresses> {
  const label = `localcidr.ipv${family}`;
  const reading = readPrefixOf(family, label, localcidr[`ipv${family}`]);
  if ("problem" in reading) return reading;
  const addresses = sessionAddresses(reading.value, index);
  if (!addresses) return { problem: `${label} ${reading.value.toString()} has no address for the host with node index ${index}` };
  for (const { address } of [addresses.router, addresses.host]) {
    const why = unusable(address);
    if (why) return { problem: `${label} ${reading.value.toString()} cannot be used: ${address.toString()} ${why}` };
  }
  return { value: addresses };
}
