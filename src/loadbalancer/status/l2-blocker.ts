import { nodeAnnotation } from "../../api/annotations.ts";
import type { ServiceL2Status } from "../../api/metallb/service-l2-status.ts";
import type { L2BlockerReason } from "../reasons.ts";
import { announceFailedReason } from "./service-l2-status.ts";
import { truncateLine } from "../../kube/status/limits.ts";

/** Why an elected node cannot announce addresses, from its own report. */
export interface L2Blocker {
  readonly node: string;
  readonly reason: L2BlockerReason;
  readonly message: string;
}

/** It shares a condition message with other texts. */
const LONGEST = 1024;

/** undefined also while the node probes, which it does briefly on every takeover. */
export function l2BlockerIn({ metadata, status }: ServiceL2Status): L2Blocker | undefined {
  const node = metadata.annotations?.[nodeAnnotation];
  const condition = status?.conditions?.find(({ type }) => type === "Announced");
  if (node === undefined || condition?.status !== "False") return undefined;
  const { reason, message } = condition;
  if (reason !== "AddressInUse" && reason !== announceFailedReason) return undefined;
  return { node, reason: reason === "AddressInUse" ? "addressInUse" : "announceFailed", message: truncateLine(message, LONGEST) };
}
