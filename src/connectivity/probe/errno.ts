import { getSystemErrorMap } from "node:util";

/** As people know them from other programs; what is not here goes by the name that Node has for it. */
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

/** What the system says about an error code. Never the text of the Error itself: that has the source's port in it, which differs each time. */
export function errnoText(code: string): string {
  others ??= new Map(Array.from(getSystemErrorMap().values(), ([name, text]) => [name, `${text[0]?.toUpperCase()}${text.slice(1)}`]));
  return TEXTS[code] ?? others.get(code) ?? code;
}

/** What the source itself has run out of when a call ends with this code; undefined where the code tells about the target. */
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
