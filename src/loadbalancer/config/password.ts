import type { Secret } from "../../api/core/secret.ts";
import type { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import { passwordProblem } from "../../frr/render-neighbor.ts";
import { quote } from "../../ip/error.ts";
import type { ConfigObjects } from "./objects.ts";
import type { ConfigProblem, ResourceVersion } from "./field-error.ts";

const TYPE = "kubernetes.io/basic-auth";
const FIELD = "spec.passwordSecret.name";

type Password = { readonly password?: string } | { readonly problem: ConfigProblem } | { readonly unread: string };

/** The password of the session, if any. It never appears in a message. */
export function readPassword(peer: ResourceVersion<BGPPeer["spec"]>, secretNamed: ConfigObjects["secret"]): Password {
  const { name, namespace, spec } = peer;
  const reference = spec.passwordSecret?.name ?? "";
  const prefix = `parsing peer ${name}`;
  if (spec.password && reference) {
    const message = `${prefix} can not have both password and secret ref set in peer config ${quote(namespace)}/${quote(name)}`;
    return { problem: { rule: "P9", field: "spec.passwordSecret", message } };
  }
  if (spec.password) {
    const problem = passwordProblem(spec.password);
    if (problem) return { problem: { rule: "P13", field: "spec.password", message: `${prefix} password ${problem}` } };
    return { password: spec.password };
  }
  if (reference === "") return {};

  const problemOf = (rule: ConfigProblem["rule"], cause: string): Password => ({
    problem: { rule, field: FIELD, message: `${prefix} ${cause}\nfailed to parse peer ${name} password secret` },
  });
  const secret = secretNamed(reference);
  if (secret === "unreadable") return { unread: reference };
  const secretText = `${quote(secret?.metadata.namespace ?? namespace)}/${quote(reference)}`;
  if (!secret) return problemOf("T1", `secret ref not found for peer config ${quote(namespace)}/${quote(name)}`);
  // The space before the line's end is in the text that users know.
  if (secret.type !== TYPE) return problemOf("V1", `secret type mismatch on ${secretText}, type "${TYPE}" is expected `);
  const password = passwordIn(secret);
  if (password === undefined) return problemOf("V2", `password not specified in the secret ${secretText}`);
  const problem = password === "" ? undefined : passwordProblem(password);
  if (problem) return problemOf("V4", `password in the secret ${secretText} ${problem}`);
  return password === "" ? {} : { password };
}

function passwordIn({ data, stringData }: Secret): string | undefined {
  const encoded = data?.["password"];
  return stringData?.["password"] ?? (encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString("utf8"));
}
