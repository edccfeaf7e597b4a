import type { Exhaustion } from "./errno.ts";

/** Why an action could not be tried; says nothing about the target. */
export interface LocalFault {
  /** For metrics. */
  readonly cause: Exhaustion | "stalled" | "lookups";
  readonly fault: string;
}

export const eventLoopStalled: LocalFault = {
  cause: "stalled",
  fault: "The checker was stalled (event loop blocked); result discarded",
};

const LACKS: Readonly<Record<Exhaustion, string>> = {
  descriptors: "file descriptors",
  ports: "local ports",
  memory: "memory for sockets",
};

export function resourceExhausted(lack: Exhaustion, code: string): LocalFault {
  return { cause: lack, fault: `The checker is out of ${LACKS[lack]} (${code})` };
}
