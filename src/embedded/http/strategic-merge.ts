import { isObject, type JsonObject } from "../../api/admission/value.ts";
import { badRequest } from "../store/api-error.ts";

/** How the lists below a field are merged; a list without a key is replaced. */
interface MergeRule {
  /** The field that identifies an item; `""` for plain values. */
  readonly key?: string;
  readonly fields?: Readonly<Record<string, MergeRule>>;
}

const byType: MergeRule = { key: "type" };
const values: MergeRule = { key: "" };

const container: MergeRule = {
  key: "name",
  fields: {
    ports: { key: "containerPort" },
    env: { key: "name" },
    volumeMounts: { key: "mountPath" },
    volumeDevices: { key: "devicePath" },
  },
};
const podSpec: MergeRule = {
  fields: {
    containers: container,
    initContainers: container,
    ephemeralContainers: container,
    volumes: { key: "name" },
    imagePullSecrets: { key: "name" },
    hostAliases: { key: "ip" },
    topologySpreadConstraints: { key: "topologyKey" },
  },
};
const metadata: MergeRule = { fields: { ownerReferences: { key: "uid" }, finalizers: values } };
const template: MergeRule = { fields: { metadata, spec: podSpec } };
const conditions: MergeRule = { fields: { conditions: byType } };

const rules: Readonly<Record<string, MergeRule>> = {
  Node: { fields: { metadata, spec: { fields: { podCIDRs: values } }, status: { fields: { conditions: byType, addresses: byType } } } },
  Service: { fields: { metadata, spec: { fields: { ports: { key: "port" } } }, status: conditions } },
  Pod: {
    fields: { metadata, spec: podSpec, status: { fields: { conditions: byType, podIPs: { key: "ip" }, hostIPs: { key: "ip" } } } },
  },
  Deployment: { fields: { metadata, spec: { fields: { template } }, status: conditions } },
  DaemonSet: { fields: { metadata, spec: { fields: { template } }, status: conditions } },
  StatefulSet: { fields: { metadata, spec: { fields: { template } }, status: conditions } },
  Job: { fields: { metadata, spec: { fields: { template } }, status: conditions } },
  CronJob: { fields: { metadata, spec: { fields: { jobTemplate: { fields: { spec: { fields: { template } } } } } } } },
  PersistentVolumeClaim: { fields: { metadata, status: conditions } },
  Namespace: { fields: { metadata, status: conditions } },
};

/** Strategic merge patch of built-in kinds: lists are merged by the key of their items. */
export function strategicallyMerged(kind: string, target: object, patch: JsonObject): JsonObject {
  return mergeObjects(target as JsonObject, patch, rules[kind] ?? { fields: { metadata } });
}

const ORDER = "$setElementOrder/";
const REMOVE = "$deleteFromPrimitiveList/";

function mergeObjects(target: JsonObject, patch: JsonObject, rule: MergeRule): JsonObject {
  const directive = patch["$patch"];
  if (directive === "delete") return {};
  if (directive === "replace") return Object.fromEntries(Object.entries(patch).filter(([name]) => name !== "$patch"));
  if (directive !== undefined && directive !== "merge") throw badRequest(`unrecognized patch directive ${JSON.stringify(directive)}`);
  const retained = patch["$retainKeys"];
  const fields = new Map(Object.entries(target).filter(([name]) => !Array.isArray(retained) || retained.includes(name)));

  for (const [name, gone] of Object.entries(patch).filter(([field]) => field.startsWith(REMOVE))) {
    const field = name.slice(REMOVE.length);
    const list = fields.get(field);
    if (!Array.isArray(list) || !Array.isArray(gone)) continue;
    const removed = new Set(gone.map(idOf));
    fields.set(
      field,
      list.filter((item) => !removed.has(idOf(item))),
    );
  }
  for (const [name, value] of Object.entries(patch)) {
    if (name.startsWith("$")) continue;
    const below = rule.fields?.[name] ?? {};
    if (value === null) fields.delete(name);
    else if (Array.isArray(value)) fields.set(name, mergeLists(listOf(fields.get(name)), value, below, name));
    else if (isObject(value)) fields.set(name, mergeObjects(objectOf(fields.get(name)), value, below));
    else fields.set(name, value);
  }
  for (const [name, order] of Object.entries(patch).filter(([field]) => field.startsWith(ORDER))) {
    const field = name.slice(ORDER.length);
    const list = fields.get(field);
    const key = rule.fields?.[field]?.key ?? "";
    if (Array.isArray(list) && Array.isArray(order)) fields.set(field, inOrder(list, order, listOf(target[field]), key));
  }
  return Object.fromEntries(fields);
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {});

function mergeLists(target: readonly unknown[], patch: readonly unknown[], rule: MergeRule, name: string): unknown[] {
  const { key } = rule;
  if (key === undefined) return patch.filter((item) => !isDirective(item));
  if (key === "") {
    const existing = new Set(target.map(idOf));
    const added = patch.filter((item) => !existing.has(idOf(item)));
    return inOrder([...target, ...added], patch, target, key);
  }
  if (patch.some((item) => isObject(item) && item["$patch"] === "replace" && item[key] === undefined)) {
    return patch.filter((item) => !isDirective(item));
  }
  const merged = new Map(target.entries());
  const positions = new Map<string, number[]>();
  for (const [at, item] of target.entries()) if (isObject(item)) indexesOf(positions, item[key]).push(at);
  let end = target.length;
  for (const item of patch) {
    if (!isObject(item) || item[key] === undefined) throw badRequest(`an item of ${name} does not contain declared merge key: ${key}`);
    const found = indexesOf(positions, item[key]);
    const [at] = found;
    if (item["$patch"] === "delete") merged.delete(found.shift() ?? -1);
    else if (at === undefined) {
      found.push(end);
      merged.set(end++, mergeObjects({}, item, rule));
    } else merged.set(at, mergeObjects(objectOf(merged.get(at)), item, rule));
  }
  return inOrder([...merged.values()], patch, target, key);
}

function indexesOf(positions: Map<string, number[]>, name: unknown): number[] {
  const id = idOf(name);
  const found = positions.get(id) ?? [];
  positions.set(id, found);
  return found;
}

const isDirective = (item: unknown) => isObject(item) && item["$patch"] !== undefined;

/** The items of `order` in that order; the others stay before the first of these that they preceded. */
function inOrder(list: readonly unknown[], order: readonly unknown[], before: readonly unknown[], key: string): unknown[] {
  const nameOf = (item: unknown) => idOf(key !== "" && isObject(item) ? item[key] : item);
  const [wanted, former] = [firstIndexes(order.map(nameOf)), firstIndexes(before.map(nameOf))];
  const items = list.map((item) => {
    const id = nameOf(item);
    return { item, wantedAt: wanted.get(id) ?? -1, formerAt: former.get(id) ?? -1 };
  });
  const named = items.filter(({ wantedAt }) => wantedAt >= 0).sort((a, b) => a.wantedAt - b.wantedAt);
  const others = items.filter(({ wantedAt }) => wantedAt < 0);
  const ordered: unknown[] = [];
  for (let [nextOther, nextNamed] = [0, 0]; nextOther + nextNamed < items.length;) {
    const [other, next] = [others[nextOther], named[nextNamed]];
    const comesFirst = !next || (other !== undefined && other.formerAt >= 0 && other.formerAt < next.formerAt);
    ordered.push((comesFirst ? others[nextOther++] : named[nextNamed++])?.item);
  }
  return ordered;
}

function firstIndexes(ids: readonly string[]): Map<string, number> {
  return new Map([...ids.entries()].reverse().map(([at, id]) => [id, at]));
}

/** Equal values have equal ids: comparing each item with each would take minutes in long lists. */
function idOf(value: unknown): string {
  if (!isObject(value) && !Array.isArray(value)) return JSON.stringify(value) ?? "";
  return JSON.stringify(value, (_name, item: unknown) => (isObject(item) ? inNameOrder(item) : item)) ?? "";
}

function inNameOrder(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
}
