import type { L3Passthrough } from "../../api/openpe/l3passthrough.ts";
import type { Family } from "../../ip/address.ts";
import { sessionAddresses, type SessionAddresses } from "./addresses.ts";
import { AS_NUMBER, type Complaint, complaintIf, numberComplaints } from "./complaint.ts";
import { readPrefixOf, type Reading, unusable, valueOf } from "./networks.ts";

export type HostSession = L3Passthrough["spec"]["hostsession"];

const FIELD = "spec.hostsession";

/** H1 to H3, and whether there is an address for this node. */
export function hostSessionComplaints(session: HostSession, index: number): Complaint[] {
  const { asn, hostasn, localcidr } = session;
  const families = ([4, 6] as const).filter((family) => localcidr?.[`ipv${family}`]);
  return [
    ...numberComplaints(`${FIELD}.asn`, "AS number", asn, AS_NUMBER.min, AS_NUMBER.max),
    ...numberComplaints(`${FIELD}.hostasn`, "AS number of the host", hostasn, AS_NUMBER.min, AS_NUMBER.max),
    ...complaintIf(asn !== undefined && asn === hostasn, `${FIELD}.hostasn`, () => `AS number of the host ${hostasn} must differ from asn`),
    ...complaintIf(families.length === 0, `${FIELD}.localcidr`, () => "localcidr needs ipv4, ipv6 or both"),
    ...families.flatMap((family) => {
      const reading = sessionLink(session, family, index);
      return "complaint" in reading ? [{ field: `${FIELD}.localcidr.ipv${family}`, message: reading.complaint }] : [];
    }),
  ];
}

/** The ends of a session that nothing is wrong with, by family. */
export function sessionEnds(session: HostSession, index: number): Map<Family, SessionAddresses> {
  const families = ([4, 6] as const).filter((family) => session.localcidr[`ipv${family}`]);
  return new Map(families.map((family) => [family, valueOf(sessionLink(session, family, index))]));
}

/** The addresses of the link that the session runs over, for one family that it has. */
function sessionLink({ localcidr }: HostSession, family: Family, index: number): Reading<SessionAddresses> {
  const words = `localcidr.ipv${family}`;
  const reading = readPrefixOf(family, words, localcidr[`ipv${family}`]);
  if ("complaint" in reading) return reading;
  const addresses = sessionAddresses(reading.value, index);
  if (!addresses) return { complaint: `${words} ${reading.value.toString()} has no address for the host with node index ${index}` };
  for (const { address } of [addresses.router, addresses.host]) {
    const why = unusable(address);
    if (why) return { complaint: `${words} ${reading.value.toString()} cannot be used: ${address.toString()} ${why}` };
  }
  return { value: addresses };
}
