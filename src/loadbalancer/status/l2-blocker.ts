import type { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import { nodeAnnotation } from "../../kube/members/agent-lease.ts";
import { cutLine } from "../../kube/status/limits.ts";

/** What keeps an elected node from answering for addresses, as it says itself. */
export interface Hindrance {
  readonly node: string;
  readonly reason: "addressInUse" | "announceFailed";
  readonly message: string;
}

/** It stands in one condition beside everything else. */
const LONGEST = 1024;

/** undefined also while the node asks around, which it does for a moment whenever it takes over. */
export function hindranceIn({ metadata, status }: ServiceL2Status): Hindrance | undefined {
  const node = metadata.annotations?.[nodeAnnotation];
  const condition = status?.conditions?.find(({ type }) => type === "Announced");
  if (node === undefined || condition?.status !== "False") return undefined;
  const { reason, message } = condition;
  if (reason !== "AddressInUse" && reason !== "Refused") return undefined;
  return { node, reason: reason === "AddressInUse" ? "addressInUse" : "announceFailed", message: cutLine(message, LONGEST) };
}
