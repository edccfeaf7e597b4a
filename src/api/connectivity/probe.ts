import { X509Certificate } from "node:crypto";
import { defineKind } from "../define-kind.ts";
import { rule } from "../rule.ts";
import { s, type StoredValue } from "../schema.ts";
import { admit } from "../admission/validation.ts";
import { probeAnnotation } from "../annotations.ts";
import type { PodNetworkConnectivityCheck } from "./pod-network-connectivity-check.ts";

const expectation = () =>
  s.object(
    {
      status: s.optional(
        s.list(s.int({ doc: "A status code.", minimum: 100, maximum: 599 }), {
          doc: "The status codes that are a success. Default: 200 to 299.",
          minItems: 1,
          maxItems: 16,
        }),
      ),
      body: s.optional(
        s.string({
          doc: "A text that the first 64 KiB of the body must contain; upper and lower case differ.",
          minLength: 1,
          maxLength: 256,
        }),
      ),
    },
    { doc: "The expected answer." },
  );

const tls = () =>
  s.object(
    {
      caBundle: s.optional(
        s.string({
          doc: "The certificates in PEM that sign the server's. Default: the public authorities.",
          minLength: 1,
          maxLength: 16_384,
        }),
      ),
      insecure: s.optional(s.bool({ doc: "Accept every certificate." })),
    },
    {
      doc: "How the server's certificate is verified.",
      rules: [
        rule({
          cel: "!has(self.caBundle) || !has(self.insecure) || !self.insecure",
          message: "caBundle has no effect with insecure; remove one of them",
          check: (self: { caBundle?: string; insecure?: boolean }) => self.caBundle === undefined || self.insecure !== true,
        }),
      ],
    },
  );

export const probe = () =>
  s.object(
    {
      type: s.enum(["TCP", "HTTP", "HTTPS"], { doc: "TCP connects. HTTP and HTTPS also send a GET request." }),
      from: s.optional(
        s.enum(["Router"], {
          doc: "Router: connect from the router of the source's node, so that the fabric is on the path. Where none runs, the check has no result. Default: from the source itself.",
        }),
      ),
      vrf: s.optional(
        s.string({
          doc: "The VRF of the router. Default: the one with the most specific route to the target; if several have it, each.",
          maxLength: 15,
          pattern: "^[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?$",
        }),
      ),
      path: s.optional(s.string({ doc: "The path of the request, with its query. Default: /.", maxLength: 256, pattern: '^/[!-"$-~]*$' })),
      host: s.optional(
        s.string({
          doc: "The Host header, and for HTTPS the name in the certificate. Default: the host of the target.",
          maxLength: 253,
          pattern: "^[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?$",
        }),
      ),
      expect: s.optional(expectation()),
      followRedirects: s.optional(s.bool({ doc: "Follow up to three redirects to the same host. Default: a redirect is the answer." })),
      tls: s.optional(tls()),
    },
    {
      doc: "How the target is probed. Default: a TCP connection.",
      rules: [
        rule({
          cel: "self.type != 'TCP' || !(has(self.path) || has(self.host) || has(self.expect) || has(self.followRedirects))",
          message: "path, host, expect and followRedirects need type HTTP or HTTPS",
          check: (self: { type: string; path?: string; host?: string; expect?: object; followRedirects?: boolean }) =>
            self.type !== "TCP" || [self.path, self.host, self.expect, self.followRedirects].every((field) => field === undefined),
        }),
        rule({
          cel: "self.type == 'TCP' || !has(self.from)",
          message: "from needs type TCP",
          check: (self: { type: string; from?: string }) => self.type === "TCP" || self.from === undefined,
        }),
        rule({
          cel: "has(self.from) || !has(self.vrf)",
          message: "vrf needs from: Router",
          check: (self: { from?: string; vrf?: string }) => self.from !== undefined || self.vrf === undefined,
        }),
        rule({
          cel: "self.type == 'HTTPS' || !has(self.tls)",
          message: "tls needs type HTTPS",
          check: (self: { type: string; tls?: object }) => self.type === "HTTPS" || self.tls === undefined,
        }),
      ],
    },
  );

export type Probe = StoredValue<ReturnType<typeof probe>>;

/** Never installed: validates the annotation of a check as the API server validates the field of a mesh. */
const ProbeAnnotation = defineKind({
  group: "plumbline.dev",
  version: "v1alpha1",
  kind: "Probe",
  plural: "probes",
  scope: "Namespaced",
  doc: "The annotation plumbline.dev/probe of a check.",
  spec: probe(),
});

export function readProbe(text: string): Probe | { readonly problem: string } {
  let written: unknown;
  try {
    written = JSON.parse(text);
  } catch {
    return { problem: "not JSON" };
  }
  const { object, errors, unknownFields } = admit(ProbeAnnotation, { metadata: { name: "probe" }, spec: written });
  const [error] = errors;
  const [unknown] = unknownFields;
  if (error) return { problem: `${fieldOf(error.field)}${error.message.replace(": spec.", ": ")}` };
  if (unknown !== undefined) return { problem: `unknown field ${unknown.replace("spec.", "")}` };
  const { caBundle } = object.spec.tls ?? {};
  return caBundle === undefined || isCertificate(caBundle) ? object.spec : { problem: "tls.caBundle: not a certificate in PEM" };
}

/** Node ignores a bundle that it cannot read. */
function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined;
  } catch {
    return false;
  }
}

function fieldOf(field: string): string {
  const own = field.replace(/^spec\.?/, "");
  return own === "" ? "" : `${own}: `;
}

/** The annotation of a check, with its fields in a fixed order; undefined for a plain TCP connection. */
export function probeText({ type, from, vrf, path, host, expect, followRedirects, tls }: Probe): string | undefined {
  const status = expect?.status;
  const body = expect?.body;
  const { caBundle, insecure } = tls ?? {};
  const written = { type, from, vrf, path, host, expect: expect && { status, body }, followRedirects, tls: tls && { caBundle, insecure } };
  return isPlain({ type, from }) ? undefined : JSON.stringify(written);
}

/** A TCP connection from the source itself, as without a probe. */
export function isPlain({ type, from }: { type: string; from?: string | undefined }): boolean {
  return type === "TCP" && from === undefined;
}

/** What a check reaches, as messages name it: `host:port`, with `from router` if that connects, or the URL of a request. */
export function targetText({ metadata, spec: { targetEndpoint } }: PodNetworkConnectivityCheck): string {
  const annotation = metadata.annotations?.[probeAnnotation];
  const probe = annotation === undefined ? undefined : readProbe(annotation);
  return probe === undefined || "problem" in probe ? targetEndpoint : probedText(targetEndpoint, probe);
}

export function probedText(endpoint: string, { type, from, vrf, path = "/" }: Probe): string {
  if (from !== undefined) return `${endpoint} from router${vrf === undefined ? "" : ` VRF ${vrf}`}`;
  return type === "TCP" ? endpoint : `${type.toLowerCase()}://${endpoint}${path}`;
}
