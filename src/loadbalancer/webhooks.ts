import { isDeepStrictEqual } from "node:util";
import type { FieldError } from "../api/admission/field-error.ts";
import type { Node } from "../api/core/node.ts";
import type { Secret } from "../api/core/secret.ts";
import type { Kind, KubeObject } from "../api/kind.ts";
import { BFDProfile } from "../api/metallb/bfd-profile.ts";
import { BGPAdvertisement } from "../api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../api/metallb/bgp-peer.ts";
import { Community } from "../api/metallb/community.ts";
import { IPAddressPool } from "../api/metallb/ip-address-pool.ts";
import { L2Advertisement } from "../api/metallb/l2-advertisement.ts";
import type { Cache } from "../kube/cache/cache.ts";
import type { ReviewResult, Review } from "../kube/webhook/review.ts";
import type { WebhookServer } from "../kube/webhook/server.ts";
import { type ConfigFailure, loadConfig } from "./config/load.ts";
import { cachedObjects, type ConfigObjects, labeled } from "./config/objects.ts";
import { RULES } from "./config/rules.ts";

type Watched<T extends KubeObject> = Pick<Cache<T>, "list" | "waitForSync">;

export interface ReviewSources {
  readonly pools: Watched<IPAddressPool>;
  readonly peers: Watched<BGPPeer>;
  readonly bfdProfiles: Watched<BFDProfile>;
  readonly bgpAdvertisements: Watched<BGPAdvertisement>;
  readonly l2Advertisements: Watched<L2Advertisement>;
  readonly communities: Watched<Community>;
  readonly nodes: Watched<Node>;
}

type Part = Exclude<keyof ReviewSources, "nodes">;

/** Validates writes with the rules of the configuration, except transient ones. */
export function registerWebhooks(server: Pick<WebhookServer, "register">, sources: ReviewSources, namespace: string): void {
  const register = <T extends KubeObject>(kind: Kind<T>, part: Part) =>
    server.register(
      kind,
      async (review: Review<KubeObject>, signal) => {
        await Promise.all(Object.values(sources).map((cache: Watched<KubeObject>) => cache.waitForSync(signal)));
        return validateWrite(review, { kind: kind.kind, part, namespace, objects: objectsOf(sources) });
      },
      part === "bfdProfiles" ? ["CREATE", "UPDATE", "DELETE"] : ["CREATE", "UPDATE"],
    );
  register(IPAddressPool, "pools");
  register(BGPPeer, "peers");
  register(BFDProfile, "bfdProfiles");
  register(BGPAdvertisement, "bgpAdvertisements");
  register(L2Advertisement, "l2Advertisements");
  register(Community, "communities");
}

interface WriteContext {
  readonly kind: string;
  readonly part: Part;
  readonly namespace: string;
  readonly objects: ConfigObjects;
}

/** Problems of the object itself, or of others because of it. */
export function validateWrite(review: Review<KubeObject>, context: WriteContext): ReviewResult {
  if (review.operation === "DELETE") return deletion(review.old, context);
  const { object } = review;
  if (object.metadata.namespace !== context.namespace) {
    const message = `resource must be created in ${context.namespace} namespace`;
    return review.operation === "CREATE" ? { errors: [{ reason: "FieldValueForbidden", field: "metadata.namespace", message }] } : {};
  }
  // Removing a finalizer from an invalid object must not be blocked by its errors.
  if (object.metadata.deletionTimestamp !== undefined || (review.operation === "UPDATE" && isSame(review.old, object))) return {};
  const warnings = deprecations(object, context.kind);
  const found = failures(withObject(context, review)).filter(
    ({ rule, namespace }) => RULES[rule].webhook === "blocks" && namespace !== STAND_IN,
  );
  const isOwn = ({ kind, name }: ConfigFailure) => kind === context.kind && name === object.metadata.name;
  const known = found.every(isOwn) ? new Set<string>() : new Set(failures(context.objects).map(textOf));
  const errors = [...found.filter(isOwn).map(ownError), ...found.filter((one) => !isOwn(one) && !known.has(textOf(one))).map(caused)];
  return { errors, warnings };
}

/** Without last good versions: they do not make a bad write valid. */
function failures(objects: ConfigObjects): readonly ConfigFailure[] {
  return loadConfig(withReferences(objects), { view: { of: "cluster" }, lastGood: new Map(), now: new Date() }).failures;
}

function withObject({ objects, part }: WriteContext, review: Exclude<Review<KubeObject>, { operation: "DELETE" }>): ConfigObjects {
  const { object, operation } = review;
  // A new object is younger than all existing ones, even if created in the same second.
  const created = { ...object, metadata: { ...object.metadata, creationTimestamp: "9999-01-01T00:00:00Z" } };
  const others = (objects[part] as readonly KubeObject[]).filter(({ metadata }) => metadata.name !== object.metadata.name);
  return { ...objects, [part]: [...others, operation === "CREATE" ? created : object] };
}

/** The namespace of placeholder objects. */
const STAND_IN = "";
const SECRET: Secret = { metadata: { name: "" }, type: "kubernetes.io/basic-auth", data: { password: "Kg==" } };

/** Missing references are assumed to exist: they may be created next. */
function withReferences(objects: ConfigObjects): ConfigObjects {
  const profiles = new Set(objects.bfdProfiles.map(({ metadata }) => metadata.name));
  const wanted = new Set(objects.peers.flatMap(({ spec }) => spec?.bfdProfile ?? []).filter((name) => name !== "" && !profiles.has(name)));
  const aliases = new Set(objects.communities.flatMap(({ spec }) => (spec?.communities ?? []).map(({ name }) => name)));
  const named = new Set(objects.bgpAdvertisements.flatMap(({ spec }) => spec?.communities ?? []));
  const unknown = [...named].filter((name) => !name.includes(":") && !aliases.has(name));
  return {
    ...objects,
    bfdProfiles: [...objects.bfdProfiles, ...[...wanted].map((name) => ({ metadata: { name }, spec: {} }))],
    communities: [
      ...objects.communities,
      { metadata: { name: "aliases.to-come.plumbline.dev" }, spec: { communities: unknown.map((name) => ({ name, value: "0:0" })) } },
    ],
    secret: () => SECRET,
  };
}

function deletion({ metadata: { name, namespace } }: KubeObject, context: WriteContext): ReviewResult {
  const users = context.objects.peers.filter(({ spec }) => spec?.bfdProfile === name);
  if (context.part !== "bfdProfiles" || namespace !== context.namespace) return {};
  return {
    errors: users.map(({ metadata }) => ({
      reason: "FieldValueForbidden",
      field: "metadata.name",
      message: `failed to delete BFDProfile ${name}, used by BGPPeer ${metadata.name}`,
    })),
  };
}

function deprecations(object: KubeObject, kind: string): string[] {
  const disabled = kind === "BGPPeer" && (object as Partial<BGPPeer>).spec?.disableMP === true;
  return disabled ? ["spec.disableMP is deprecated and has no effect; leave it out"] : [];
}

function ownError({ field, message }: ConfigFailure): FieldError {
  return { reason: "FieldValueInvalid", field, message: inOneLine(message) };
}

function caused({ kind, name, field, message }: ConfigFailure): FieldError {
  return {
    reason: "FieldValueInvalid",
    field: "spec",
    message: `the change makes ${kind} ${name} invalid: ${field}: ${inOneLine(message)}`,
  };
}

function inOneLine(message: string): string {
  return message
    .split("\n")
    .map((line) => line.trimEnd())
    .join("; ");
}

function textOf({ kind, name, field, message }: ConfigFailure): string {
  return JSON.stringify([kind, name, field, message]);
}

function isSame(before: KubeObject, after: KubeObject): boolean {
  return isDeepStrictEqual(whatCounts(before), whatCounts(after));
}

function whatCounts(object: KubeObject): unknown {
  return { labels: object.metadata.labels ?? {}, spec: (object as { spec?: unknown }).spec };
}

function objectsOf(sources: ReviewSources): ConfigObjects {
  return {
    ...cachedObjects(sources),
    namespaces: [],
    nodes: labeled(sources.nodes.list()),
    secret: () => undefined,
  };
}
