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

const TLS_TEXTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "the certificate has expired",
  CERT_NOT_YET_VALID: "the certificate is not valid yet",
  CERT_SIGNATURE_FAILURE: "the signature of the certificate is wrong",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "the certificate is signed by an unknown authority",
  UNABLE_TO_GET_ISSUER_CERT: "the certificate is signed by an unknown authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "the certificate is signed by an unknown authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the certificate is signed by an unknown authority",
  INVALID_PURPOSE: "the certificate is not one of a server",
  ECONNRESET: "the server closed the connection during the handshake",
  ERR_SSL_WRONG_VERSION_NUMBER: "the server does not speak TLS",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "the server does not speak TLS",
  ERR_SSL_UNSUPPORTED_PROTOCOL: "no version of TLS in common",
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: "no version of TLS in common",
};

/** Of OpenSSL's error codes; others are printed as they are. */
export function tlsText(code: string, host: string): string {
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return `the certificate is not valid for ${host}`;
  return TLS_TEXTS[code] ?? (code.startsWith("ERR_SSL_") ? `the handshake failed (${code})` : errnoText(code));
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
  readonly cause: Exhaustion | "stalled" | "lookups" | "router";
  readonly fault: string;
}

/** This node has no path that would say something about the target. Neither of them is at fault. */
export interface Unobserved {
  readonly fault: string;
  readonly isNotObserved: true;
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
