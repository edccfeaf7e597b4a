import type { L2VNI } from "../../api/openpe/l2vni.ts";
import { quote } from "../../ip/error.ts";
import type { Observed } from "../observed.ts";
import { type Complaint, complaintIf } from "./field-error.ts";
import { nameComplaints } from "./names.ts";

const FIELD = "spec.hostmaster";
const BODY = { "linux-bridge": "linuxBridge", "ovs-bridge": "ovsBridge" } as const;

/** V6, V7, and whether the bridge is there. */
export function hostMasterComplaints(
  { hostmaster }: L2VNI["spec"],
  { interfaces, ovs }: Pick<Observed, "interfaces" | "ovs">,
): Complaint[] {
  if (!hostmaster) return [];
  const { type } = hostmaster;
  if (!Object.hasOwn(BODY, type)) {
    return [{ field: `${FIELD}.type`, message: `hostmaster type ${quote(type)} is neither linux-bridge nor ovs-bridge` }];
  }
  const body = BODY[type];
  const bridge = hostmaster[body];
  const other = type === "linux-bridge" ? "ovsBridge" : "linuxBridge";
  if (!bridge) return [{ field: `${FIELD}.${body}`, message: `hostmaster of type ${type} needs ${body}` }];

  const at = `${FIELD}.${body}`;
  const { name, autoCreate } = bridge;
  return [
    ...complaintIf(Boolean(hostmaster[other]), `${FIELD}.${other}`, () => `hostmaster of type ${type} goes with ${body} alone`),
    ...complaintIf(Number(Boolean(name)) + Number(autoCreate) !== 1, at, () => `${body} needs exactly one of name and autoCreate`),
    ...(name ? namedBridgeComplaints(`${at}.name`, name, type, interfaces) : []),
    ...(type === "ovs-bridge" && !ovs
      ? [{ field: `${FIELD}.type`, message: "Open vSwitch does not answer on this node", transient: true } as const]
      : []),
  ];
}

function namedBridgeComplaints(field: string, name: string, type: keyof typeof BODY, { host }: Observed["interfaces"]): Complaint[] {
  const complaints = nameComplaints(field, "Bridge", name);
  // A bridge of Open vSwitch is created where it is missing.
  if (complaints.length > 0 || type === "ovs-bridge") return complaints;
  const there = host.find((one) => one.name === name);
  if (!there) return [{ field, message: `Interface ${name} not present on node`, transient: true }];
  return complaintIf(there.kind !== "bridge", field, () => `Interface ${name} is no bridge`);
}
