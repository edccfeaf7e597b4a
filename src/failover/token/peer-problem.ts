import { X509Certificate } from "node:crypto";
import type { LookupFunction } from "node:net";
import { addressOf } from "../../ip/address.ts";
import { scopeOf } from "../../ip/scope.ts";
import type { ClusterAccess, Credential } from "../../kube/client/access.ts";
import type { KubeError } from "../../kube/client/error.ts";

/** The fields of the peer's configuration; each problem names one of these. */
export const PEER_FIELDS = {
  peer: "spec.peer",
  secret: "spec.peer.kubeconfigSecret",
  name: "spec.peer.kubeconfigSecret.name",
  key: "spec.peer.kubeconfigSecret.key",
} as const;

/** A problem of `spec.peer` or its Secret that waiting does not fix. */
export class PeerProblem extends Error {
  override readonly name = "PeerProblem";
  readonly field: string;

  constructor(field: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.field = field;
  }
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;
/** Metadata services of clouds that are not at a link-local address. */
const METADATA = new Set(["fd00:ec2::254", "100.100.100.200", "168.63.129.16"]);
/** The other site's certificate or clock, not the Secret. */
const SERVER_CERTIFICATE = new Set(["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID"]);
const FORBIDDEN_ADDRESS = "EFORBIDDENADDRESS";

/** Why a kubeconfig is not used. Without verification anybody could answer Released. */
export function rejectedAccess({ server, insecure }: ClusterAccess, own: string): string | undefined {
  if (insecure) return "insecure-skip-tls-verify is true; give the certificate-authority of the other site";
  const url = URL.parse(server);
  if (url?.protocol !== "https:" && !(url?.protocol === "http:" && LOOPBACK.test(url.hostname))) {
    return `server is ${server}; only https:// is accepted`;
  }
  const address = forbiddenAddress(url.hostname.replace(/^\[(.*)\]$/, "$1"));
  if (address !== undefined) return `server is ${server}, ${address}; give the address of the other site's API server`;
  return url.origin === URL.parse(own)?.origin
    ? `server is ${server}, which is this cluster; give a kubeconfig of the other site`
    : undefined;
}

/** Addresses that only the controller's node can reach are forbidden to the authors of policies. */
function forbiddenAddress(text: string): string | undefined {
  const address = addressOf(text);
  if (!address) return undefined;
  const scope = scopeOf(address);
  if (METADATA.has((address.mappedIPv4 ?? address).toString())) return "the address of a cloud's metadata service";
  return scope === "unicast" || scope === "loopback" ? undefined : scope === "unspecified" ? "not a server address" : `a ${scope} address`;
}

/** A name must not resolve to a forbidden address. */
export const lookup: LookupFunction = (host, options, answer) => {
  process.getBuiltinModule("node:dns").lookup(host, options, (error, found, family) => {
    const addresses = typeof found === "string" ? [found] : (found ?? []).map(({ address }) => address);
    const forbidden = error ? undefined : addresses.map(forbiddenAddress).find((why) => why !== undefined);
    if (forbidden === undefined) answer(error, found, family);
    else answer(Object.assign(new Error(`${host} is ${forbidden}`), { code: FORBIDDEN_ADDRESS }), found, family);
  });
};

/** The problem of the Secret that an error shows; undefined if the site may just be unreachable. */
export async function problemOf(error: KubeError, access: ClusterAccess, now: Date): Promise<PeerProblem | undefined> {
  const renew = "put a new kubeconfig into the Secret, as deploy/failover/peer.yaml says";
  const problem = (message: string) => new PeerProblem(PEER_FIELDS.secret, message, { cause: error });
  const code = socketCode(error);
  if (code === FORBIDDEN_ADDRESS)
    return problem(
      `The kubeconfig is rejected: server is ${access.server}, and ${socketError(error)?.message}; give the address of the other site's API server`,
    );
  if (error.code === "Certificate")
    return SERVER_CERTIFICATE.has(code) ? undefined : problem(withExpiry(error.message, await expiry(access), now));
  // The server decides whether a credential is valid: our clock may be wrong.
  if (error.code === "Unauthorized")
    return problem(
      `${withExpiry(`The other site does not accept the credentials of ${access.describe}`, await expiry(access), now)}; ${renew}`,
    );
  if (error.code === "Forbidden") {
    return problem(
      `The other site does not let ${access.describe} read its policy; apply deploy/failover/peer.yaml there for this policy, or correct spec.peer`,
    );
  }
  return undefined;
}

function socketError(error: KubeError): NodeJS.ErrnoException | undefined {
  return error.cause instanceof Error && error.cause.cause instanceof Error ? error.cause.cause : undefined;
}

function socketCode(error: KubeError): string {
  return socketError(error)?.code ?? "";
}

function withExpiry(message: string, end: { what: string; at: Date } | undefined, now: Date): string {
  return end && end.at <= now ? `${message}: its ${end.what} expired at ${end.at.toISOString().replace(/\.\d+Z$/, "Z")}` : message;
}

/** When the credential expires, if it says so. */
async function expiry(access: ClusterAccess): Promise<{ what: string; at: Date } | undefined> {
  const identity = await access.identity();
  const at = identity.token === undefined ? certificateEnd(identity) : tokenEnd(identity.token);
  return at === undefined || Number.isNaN(at.getTime())
    ? undefined
    : { what: identity.token === undefined ? "client certificate" : "token", at };
}

function certificateEnd({ cert }: Credential): Date | undefined {
  try {
    return cert === undefined ? undefined : new X509Certificate(cert).validToDate;
  } catch {
    return undefined;
  }
}

function tokenEnd(token: string): Date | undefined {
  try {
    const { exp } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as { exp?: unknown };
    return typeof exp === "number" ? new Date(exp * 1000) : undefined;
  } catch {
    return undefined;
  }
}
