import type { ServerResponse } from "node:http";
import { apiVersionOf } from "../../api/kind.ts";
import type { ServedKind } from "../kinds/served-kind.ts";
import { sendObject, sendText } from "./response.ts";
import type { Extra } from "./handler.ts";
import { negotiate } from "./negotiation.ts";
import type { ApiRequest } from "./request.ts";

/** The Kubernetes version that this API resembles. */
const VERSION = {
  major: "1",
  minor: "37",
  gitVersion: "v1.37.0+plumbline",
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "none",
  compiler: "none",
  platform: `linux/${process.arch === "x64" ? "amd64" : process.arch}`,
};

const VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const STATUS_VERBS = ["get", "patch", "update"];
const HEALTH = new Set(["/healthz", "/livez", "/readyz"]);
const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

interface Group {
  readonly name: string;
  /** The preferred one first. */
  readonly versions: ReadonlyMap<string, ServedKind[]>;
}

/** In the aggregated and the older format. */
export function discovery(kinds: readonly ServedKind[]): Extra {
  const groups = groupsOf(kinds);
  const legacy = groups.filter(({ name }) => name === "");
  const named = groups.filter(({ name }) => name !== "");
  const documents = new Map<string, object>([
    ["/version", VERSION],
    ["/api", { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] }],
    ["/apis", { kind: "APIGroupList", apiVersion: "v1", groups: named.map(groupDocument) }],
    ...named.map((group) => [`/apis/${group.name}`, { kind: "APIGroup", apiVersion: "v1", ...groupDocument(group) }] as const),
    ...groups.flatMap(({ name, versions }) => [...versions].map(([version, resources]) => resourceDocument(name, version, resources))),
  ]);
  documents.set("/", { paths: [...documents.keys(), ...HEALTH].sort((a, b) => (a < b ? -1 : 1)) });
  const aggregated = new Map<string, object>([
    ["/api", aggregatedDocument(legacy)],
    ["/apis", aggregatedDocument(named)],
  ]);

  return ({ method, path, message }: ApiRequest, response: ServerResponse) => {
    const plain = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
    if (method !== "GET" && method !== "HEAD") return false;
    if (HEALTH.has(plain)) {
      sendText(response, 200, "ok");
      return true;
    }
    const document = documents.get(plain);
    if (!document) return false;
    const { as } = negotiate(message.headers.accept, aggregated.has(plain) ? ["object", "discovery"] : ["object"]);
    if (as === "discovery") sendObject(response, 200, aggregated.get(plain) ?? {}, { contentType: AGGREGATED });
    else sendObject(response, 200, document);
    return true;
  };
}

function groupsOf(kinds: readonly ServedKind[]): Group[] {
  const groups = new Map<string, Map<string, ServedKind[]>>();
  for (const kind of kinds) {
    const versions = groups.get(kind.group) ?? new Map<string, ServedKind[]>();
    groups.set(kind.group, versions);
    for (const { name } of kind.versions) versions.set(name, [...(versions.get(name) ?? []), kind]);
  }
  return [...groups].map(([name, versions]) => ({ name, versions: new Map([...versions].sort(([a], [b]) => byPriority(a, b))) }));
}

const STABILITIES = ["alpha", "beta", undefined];

/** As in Kubernetes: stable before beta before alpha, then the newer. */
function byPriority(a: string, b: string): number {
  const [one, other] = [a, b].map((version) => {
    const [, major = "0", stability, minor = "0"] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version) ?? [];
    return [STABILITIES.indexOf(stability), Number(major), Number(minor)];
  }) as [number[], number[]];
  return other.map((rank, nth) => rank - (one[nth] ?? 0)).find((difference) => difference !== 0) ?? 0;
}

function groupDocument({ name, versions }: Group): object {
  const served = [...versions.keys()].map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: served, preferredVersion: served[0] };
}

function resourceDocument(group: string, version: string, kinds: readonly ServedKind[]): readonly [string, object] {
  const groupVersion = group === "" ? version : `${group}/${version}`;
  const resources = kinds.flatMap((kind) => {
    const namespaced = kind.scope === "Namespaced";
    const { shortNames, categories } = kind;
    const main = {
      name: kind.plural,
      singularName: kind.singular,
      namespaced,
      kind: kind.kind,
      verbs: verbsOf(kind),
      ...(shortNames && { shortNames }),
      ...(categories.length > 0 && { categories }),
    };
    const status = { name: `${kind.plural}/status`, singularName: "", namespaced, kind: kind.kind, verbs: STATUS_VERBS };
    return kind.rules.hasStatus ? [main, status] : [main];
  });
  const path = group === "" ? `/api/${version}` : `/apis/${groupVersion}`;
  return [path, { kind: "APIResourceList", apiVersion: "v1", groupVersion, resources }];
}

function aggregatedDocument(groups: readonly Group[]): object {
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: "apidiscovery.k8s.io/v2",
    metadata: {},
    items: groups.map(({ name, versions }) => ({
      metadata: name === "" ? {} : { name },
      versions: [...versions].map(([version, kinds]) => ({
        version,
        resources: kinds.map((kind) => aggregatedResource(kind, version)),
        freshness: "Current",
      })),
    })),
  };
}

function aggregatedResource(kind: ServedKind, version: string): object {
  const responseKind = { group: kind.group, version, kind: kind.kind };
  const { shortNames, categories } = kind;
  return {
    resource: kind.plural,
    responseKind,
    scope: kind.scope === "Namespaced" ? "Namespaced" : "Cluster",
    singularResource: kind.singular,
    verbs: verbsOf(kind),
    ...(shortNames && { shortNames }),
    ...(categories.length > 0 && { categories }),
    ...(kind.rules.hasStatus && { subresources: [{ subresource: "status", responseKind, verbs: STATUS_VERBS }] }),
  };
}

function verbsOf(kind: ServedKind): string[] {
  return apiVersionOf(kind) === "v1" && kind.kind === "Namespace" ? VERBS.filter((verb) => verb !== "deletecollection") : VERBS;
}
