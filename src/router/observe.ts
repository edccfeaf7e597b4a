import type { UnderlaySpec } from "./model/specs.ts";
import { type LabelSelector, selects } from "../api/core/label-selector.ts";
import type { Node } from "../api/core/node.ts";
import type { Secret } from "../api/core/secret.ts";
import type { KubeObject } from "../api/kind.ts";
import type { Link, Links, Snapshot } from "../hostnet/snapshot.ts";
import { protectedInterfaces } from "./protected-interfaces.ts";
import type { ObservedInterface, ObservedNode, Password, RouterObjects } from "./model/observed.ts";
import { selectorFieldProblems } from "./validate/selector.ts";
import type { RouterState, SelectionRecord } from "./state.ts";

export interface ObserveInput {
  readonly node: Node;
  readonly index: number | undefined;
  readonly objects: RouterObjects;
  /** "unreadable": it is not known whether the Secret exists. */
  readonly secret: (name: string) => Secret | "unreadable" | undefined;
  readonly links: Pick<Snapshot, "host" | "router">;
  readonly towardsApi: ReadonlySet<string>;
  readonly ovs: boolean;
  readonly state: RouterState;
  readonly now: Date;
}

export function observe({ node, index, objects, secret, links, towardsApi, ovs, state, now }: ObserveInput): ObservedNode {
  const nodeAddresses = (node.status?.addresses ?? []).map(({ address }) => address);
  return {
    node: { name: node.metadata.name, labels: node.metadata.labels ?? {} },
    index,
    objects,
    passwords: passwordsFor(objects, secret),
    interfaces: { host: interfaces(links.host, state.nics), router: interfaces(links.router, state.nics) },
    ...(state.nics && { nics: state.nics }),
    guarded: protectedInterfaces(links.host, { nodeAddresses, towardsApi }),
    ovs,
    lastGood: state.lastGood,
    ...(state.rejections && { rejections: state.rejections }),
    newlySelectedAt: newlySelected(objects, state.selections),
    now,
  };
}

/** Objects that select the node, and since when, if observed. For new objects their record counts. */
export function updateSelection(
  objects: RouterObjects,
  selections: ReadonlyMap<string, SelectionRecord>,
  node: Node,
  now: Date,
): Map<string, SelectionRecord> {
  const labels = node.metadata.labels ?? {};
  return new Map(
    Object.values(objects)
      .flat()
      .map((object): [string, SelectionRecord] => {
        const { uid = "" } = object.metadata;
        const before = selections.get(uid);
        const selector = object.spec.nodeSelector as LabelSelector | undefined;
        const here = selectorFieldProblems(selector).length > 0 ? (before?.selects ?? true) : selects(selector, labels);
        if (!here) return [uid, { selects: false }];
        if (before?.selects !== false) return [uid, before ?? { selects: true }];
        return [uid, { selects: true, since: now.toISOString() }];
      }),
  );
}

function newlySelected(objects: RouterObjects, selections: ReadonlyMap<string, SelectionRecord>): Map<string, Date> {
  const newly = new Map<string, Date>();
  const kinds: [string, readonly KubeObject[]][] = [
    ["Underlay", objects.underlays],
    ["L2VNI", objects.l2vnis],
    ["L3VNI", objects.l3vnis],
    ["L3Passthrough", objects.passthroughs],
    ["RawFRRConfig", objects.rawConfigs],
  ];
  for (const [kind, list] of kinds) {
    for (const { metadata } of list) {
      const { since } = selections.get(metadata.uid ?? "") ?? {};
      if (since !== undefined) newly.set(`${kind}/${metadata.name}`, new Date(since));
    }
  }
  return newly;
}

export function secretsOf({ underlays }: Pick<RouterObjects, "underlays">): Set<string> {
  return new Set(underlays.flatMap(({ spec }) => (spec.neighbors ?? []).flatMap(({ passwordSecret }) => passwordSecret ?? [])));
}

function passwordsFor(objects: RouterObjects, secret: ObserveInput["secret"]): Map<string, Password> {
  return new Map([...secretsOf(objects)].map((name) => [name, passwordIn(name, secret(name))]));
}

function passwordIn(name: string, secret: Secret | "unreadable" | undefined): Password {
  if (secret === "unreadable") return { problem: `Secret ${name} cannot be read: the API server does not answer or denies access` };
  if (!secret) return { problem: `Secret ${name} not found` };
  const encoded = secret.data?.["password"];
  if (encoded === undefined) return { problem: `Secret ${name} has no key password` };
  return { password: Buffer.from(encoded, "base64").toString("utf8") };
}

/** Addresses of the Underlays' interfaces, to restore one that lost all of them with the namespace. */
export function recordNicAddresses(
  underlays: readonly Pick<UnderlaySpec, "nics">[],
  { host, router }: ObserveInput["links"],
  before: RouterState["nics"] = new Map(),
): Map<string, readonly string[]> {
  const names = new Set(underlays.flatMap(({ nics = [] }) => nics));
  return new Map(
    [...names].sort().flatMap((name): [string, readonly string[]][] => {
      const current = own(router.get(name) ?? host.get(name));
      const addresses = current.length > 0 ? current : (before.get(name) ?? []);
      return addresses.length > 0 ? [[name, addresses]] : [];
    }),
  );
}

/** Permanent addresses. */
function own(link: Link | undefined): string[] {
  const lasting = link?.addresses.filter(({ scope, dynamic, peer }) => scope === "global" && !dynamic && peer === undefined) ?? [];
  return lasting.map(({ text }) => text);
}

function interfaces(links: Links, nics?: RouterState["nics"]): ObservedInterface[] {
  return [...links.values()].map((link) => {
    const { name, addresses, type } = link;
    const lost = own(link).length === 0 ? (nics?.get(name) ?? []) : [];
    const texts = [...addresses.map(({ text }) => text), ...lost];
    return type === "" ? { name, addresses: texts } : { name, addresses: texts, kind: type };
  });
}

/** Nothing else of a Secret is kept. */
export function passwordOnly(secret: Secret): Secret {
  const password = secret.data?.["password"];
  return { metadata: secret.metadata, ...(password !== undefined && { data: { password } }) };
}
