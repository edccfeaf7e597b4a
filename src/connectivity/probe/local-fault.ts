import type { Exhaustion } from "./errno.ts";

/** Why an action could not be tried: it says nothing about the target. */
export interface Fault {
  /** One of a few, for metrics. */
  readonly cause: Exhaustion | "stalled" | "lookups";
  readonly fault: string;
}

export const stoodStill: Fault = {
  cause: "stalled",
  fault: "The source itself stood still for most of the time that the target had for an answer",
};

const LACKS: Readonly<Record<Exhaustion, string>> = {
  descriptors: "file descriptors",
  ports: "local ports",
  memory: "memory for sockets",
};

export function outOf(lack: Exhaustion, code: string): Fault {
  return { cause: lack, fault: `The source itself is out of ${LACKS[lack]} (${code})` };
}
