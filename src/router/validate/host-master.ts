import type { L2VNISpec } from "../model/specs.ts";
import { quote } from "../../ip/error.ts";
import type { ObservedNode } from "../model/observed.ts";
import { type FieldProblem, problemIf } from "./field-error.ts";
import { nameProblems } from "./names.ts";

const FIELD = "spec.hostmaster";
const BODY = { "linux-bridge": "linuxBridge", "ovs-bridge": "ovsBridge" } as const;

/** V6, V7, and whether the bridge is there. */
export function hostMasterProblems(
  { hostmaster }: L2VNISpec,
  { interfaces, ovs }: Pick<ObservedNode, "interfaces" | "ovs">,
): FieldProblem[] {
  if (!hostmaster) return [];
  const { type } = hostmaster;
  if (!Object.hasOwn(BODY, type)) {
    return [{ field: `${FIELD}.type`, message: `hostmaster type ${quote(type)} must be linux-bridge or ovs-bridge` }];
  }
  const body = BODY[type];
  const bridge = hostmaster[body];
  const other = type === "linux-bridge" ? "ovsBridge" : "linuxBridge";
  if (!bridge) return [{ field: `${FIELD}.${body}`, message: `hostmaster type ${type} requires ${body}` }];

  const at = `${FIELD}.${body}`;
  const { name, autoCreate } = bridge;
  return [
    ...problemIf(Boolean(hostmaster[other]), `${FIELD}.${other}`, () => `hostmaster type ${type} allows only ${body}`),
    ...problemIf(Number(Boolean(name)) + Number(autoCreate) !== 1, at, () => `${body} requires exactly one of name and autoCreate`),
    ...(name ? namedBridgeProblems(`${at}.name`, name, type, interfaces) : []),
    ...(type === "ovs-bridge" && !ovs
      ? [{ field: `${FIELD}.type`, message: "Open vSwitch does not answer on this node", transient: true } as const]
      : []),
  ];
}

function namedBridgeProblems(field: string, name: string, type: keyof typeof BODY, { host }: ObservedNode["interfaces"]): FieldProblem[] {
  const problems = nameProblems(field, "Bridge", name);
  // A bridge of Open vSwitch is created where it is missing.
  if (problems.length > 0 || type === "ovs-bridge") return problems;
  const there = host.find((one) => one.name === name);
  if (!there) return [{ field, message: `Interface ${name} not present on node`, transient: true }];
  return problemIf(there.kind !== "bridge", field, () => `Interface ${name} is not a bridge`);
}
