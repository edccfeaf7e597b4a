import { getSystemErrorMap } from "node:util";

/** The usual texts; other codes are printed as they are. */
const TEXTS: Readonly<Record<string, string>> = {
  EACCES: "Permission denied",
  EADDRNOTAVAIL: "Cannot assign requested address",
  EAFNOSUPPORT: "Address family not supported by protocol",
  ECONNABORTED: "Software caused connection abort",
  ECONNREFUSED: "Connection refused",
  ECONNRESET: "Connection reset by peer",
  EHOSTDOWN: "Host is down",
  EHOSTUNREACH: "No route to host",
  EINVAL: "Invalid argument",
  ENETDOWN: "Network is down",
  ENETUNREACH: "Network is unreachable",
  EPERM: "Operation not permitted",
  EPROTO: "Protocol error",
  ETIMEDOUT: "Connection timed out",
};

let others: Map<string, string> | undefined;

/** Not the message of the Error, which contains the source port. */
export function errnoText(code: string): string {
  others ??= new Map(Array.from(getSystemErrorMap().values(), ([name, text]) => [name, `${text[0]?.toUpperCase()}${text.slice(1)}`]));
  return TEXTS[code] ?? others.get(code) ?? code;
}

/** The exhausted local resource; undefined if the code is about the target. */
export function exhausted(code: string): Exhaustion | undefined {
  return EXHAUSTED[code];
}

export type Exhaustion = "descriptors" | "ports" | "memory";

const EXHAUSTED: Readonly<Record<string, Exhaustion>> = {
  EMFILE: "descriptors",
  ENFILE: "descriptors",
  EADDRNOTAVAIL: "ports",
  EAGAIN: "memory",
  ENOBUFS: "memory",
  ENOMEM: "memory",
  EAI_MEMORY: "memory",
};

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
