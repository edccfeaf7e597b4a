import { isObject, type JsonObject } from "../../api/admission/value.ts";
import { badRequest } from "../fault.ts";
import { same } from "../objects/json.ts";

/** How the lists below a field are merged; a list without a key is replaced as a whole. */
interface MergeRule {
  /** The field that names an item; `""` where the items are plain values. */
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

/** The strategic merge patch of Kubernetes' own kinds: lists are merged item by item where their items have names. */
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
    if (Array.isArray(list) && Array.isArray(gone))
      fields.set(
        field,
        list.filter((item) => !gone.some((value) => same(item, value))),
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
    const added = patch.filter((item) => !target.some((held) => same(held, item)));
    return inOrder([...target, ...added], patch, target, key);
  }
  if (patch.some((item) => isObject(item) && item["$patch"] === "replace" && item[key] === undefined)) {
    return patch.filter((item) => !isDirective(item));
  }
  const merged = [...target];
  for (const item of patch) {
    if (!isObject(item) || item[key] === undefined) throw badRequest(`an item of ${name} does not contain declared merge key: ${key}`);
    const at = merged.findIndex((held) => isObject(held) && same(held[key], item[key]));
    if (item["$patch"] === "delete") merged.splice(at < 0 ? merged.length : at, 1);
    else if (at < 0) merged.push(mergeObjects({}, item, rule));
    else merged[at] = mergeObjects(objectOf(merged[at]), item, rule);
  }
  return inOrder(merged, patch, target, key);
}

const isDirective = (item: unknown) => isObject(item) && item["$patch"] !== undefined;

/**
 * The items that `order` names, in that order, and the others where they were: before the first named one that they preceded in the list
 * as it was.
 */
function inOrder(list: readonly unknown[], order: readonly unknown[], before: readonly unknown[], key: string): unknown[] {
  const nameOf = (item: unknown) => (key !== "" && isObject(item) ? item[key] : item);
  const placeIn = (places: readonly unknown[], item: unknown) => places.findIndex((place) => same(nameOf(place), nameOf(item)));
  const named = list.filter((item) => placeIn(order, item) >= 0).sort((a, b) => placeIn(order, a) - placeIn(order, b));
  const others = list.filter((item) => placeIn(order, item) < 0);
  const ordered: unknown[] = [];
  while (others.length > 0 || named.length > 0) {
    const [other, next] = [others[0], named[0]];
    const place = placeIn(before, other);
    const comesFirst = named.length === 0 || (others.length > 0 && place >= 0 && place < placeIn(before, next));
    ordered.push(comesFirst ? others.shift() : named.shift());
  }
  return ordered;
}
