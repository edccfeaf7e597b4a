import { applyDefaults } from "../../api/admission/defaulting.ts";
import type { CustomKind } from "../../api/define-kind.ts";
import { parseKey, type Condition, type Kind, type KubeObject, type ObjectMeta, type OwnerReference } from "../../api/kind.ts";
import { metaTime } from "../../api/time.ts";
import type { ObjectManifest } from "../client/resource-client.ts";
import { conditionsChanged, withTransitionTimes, type ConditionReport } from "./conditions.ts";
import { mergePatch, withoutNulls, type PatchableObject } from "./merge-patch.ts";
import { sameStatus } from "./same-status.ts";

export type StatusOf<T> = T extends { status?: infer S } ? Exclude<S, undefined> : never;

/** A status as a reconciler sees it. When a condition last flipped, and what a stamp adds, is the writer's business. */
type StatusReport<S> = { [K in keyof S]: K extends "conditions" ? readonly ConditionReport[] : S[K] };

/** What the cluster should hold of one object. */
export interface DesiredStatus<T extends KubeObject> {
  /** The whole status; or, where others write into the same status, what becomes of the one that is held. */
  status: StatusReport<StatusOf<T>> | ((stored: StatusOf<T> | undefined) => StatusReport<StatusOf<T>>);
  /** Given for objects that are ours: a missing one is created, and these labels, annotations and owners are kept. */
  create?: Creation;
  /** Given where the picture is of this very object, and of no later one with the same name. */
  uid?: string;
}

export interface Creation {
  metadata?: Pick<ObjectMeta, "labels" | "annotations" | "ownerReferences">;
  /** Only what a new object starts with. */
  spec?: object;
}

export interface StatusRules<T extends KubeObject> {
  kind: Kind<T>;
  /** Whether the change is news that goes before refreshes. By default: a condition came, went or flipped. */
  transition?: (stored: StatusOf<T>, next: StatusOf<T>) => boolean;
  /** Adds the times that tell when something changed. Must give back the held ones while it did not. */
  stamp?: (next: StatusOf<T>, stored: StatusOf<T> | undefined, now: string) => StatusOf<T>;
  /** Whether only that changes which may go to and fro for hours: then it is written a few times at once, and every ten seconds from then on. */
  damps?: (stored: StatusOf<T>, next: StatusOf<T>) => boolean;
  /** The statuses have their own lastTransitionTimes. By default these are the times of the write. */
  knowsFlips?: boolean;
  /** Whether the object is left as it is, because somebody else says what is true of it. */
  yields?: (stored: T, desired: DesiredStatus<T>) => boolean;
}

type News = "first" | "transition" | "refresh";

export type StatusRequest<T extends KubeObject> =
  | { do: "create"; news: "first"; object: ObjectManifest<T> }
  | { do: "patch"; news: "refresh"; patch: { metadata: Partial<ObjectMeta> }; resourceVersion: string }
  | { do: "patch-status"; news: News; patch: { status: PatchableObject }; resourceVersion: string; next: StatusOf<T>; damped: boolean }
  | { do: "delete"; news: "transition"; uid: string; resourceVersion: string };

/** Undefined if the stored status already matches or the object does not exist yet. */
export function plan<T extends KubeObject>(
  key: string,
  desired: DesiredStatus<T>,
  stored: T | undefined,
  rules: StatusRules<T>,
  date: Date,
): StatusRequest<T> | undefined {
  if (!stored) return desired.create && { do: "create", news: "first", object: newObject(key, desired.create) };
  if (desired.uid !== undefined && desired.uid !== stored.metadata.uid) return undefined;
  if (rules.yields?.(stored, desired)) return undefined;
  const resourceVersion = stored.metadata.resourceVersion ?? "";
  const metadata = desired.create?.metadata && metadataPatch(stored.metadata, desired.create.metadata);
  if (metadata && !stored.metadata.deletionTimestamp) return { do: "patch", news: "refresh", patch: { metadata }, resourceVersion };

  const before = statusOf(stored);
  const next = nextStatus(desired, before, rules, metaTime(date));
  if (sameOfKind(rules.kind)(before, next)) return undefined;
  const patch = { status: mergePatch(before ?? {}, next as PatchableObject) };
  const damped = before !== undefined && rules.damps?.(before, next) === true;
  return { do: "patch-status", news: newsOf(before, next, rules), patch, resourceVersion, next, damped };
}

/** Undefined if the object is gone, being deleted or not ours any more. */
export function planDeletion<T extends KubeObject>(stored: T | undefined, mine: (object: T) => boolean): StatusRequest<T> | undefined {
  if (!stored || stored.metadata.deletionTimestamp || !mine(stored)) return undefined;
  const { uid = "", resourceVersion = "" } = stored.metadata;
  return { do: "delete", news: "transition", uid, resourceVersion };
}

export function sameOfKind<T extends KubeObject>(kind: Kind<T>): (stored: StatusOf<T> | undefined, next: StatusOf<T>) => boolean {
  const schema = isCustom(kind) ? kind.schema.properties.status : undefined;
  return (stored, next) => sameStatus(stored ?? {}, next, schema);
}

export function hasMetadata(stored: ObjectMeta, given: NonNullable<Creation["metadata"]>): boolean {
  return changedEntries(stored.labels, given.labels).length === 0 && changedEntries(stored.annotations, given.annotations).length === 0;
}

function newObject<T extends KubeObject>(key: string, { metadata, spec }: Creation): ObjectManifest<T> {
  return { metadata: { ...parseKey(key), ...metadata }, ...(spec && { spec }) } as ObjectManifest<T>;
}

function nextStatus<T extends KubeObject>(
  { status }: DesiredStatus<T>,
  stored: StatusOf<T> | undefined,
  { kind, stamp, knowsFlips = false }: StatusRules<T>,
  now: string,
): StatusOf<T> {
  const report = (typeof status === "function" ? withoutNulls(status(stored)) : status) as object;
  const timed =
    "conditions" in report && !knowsFlips
      ? { ...report, conditions: withTransitionTimes(conditionsOf(report), conditionsOf(stored), now) }
      : report;
  const stamped = stamp ? withoutNulls(stamp(timed as StatusOf<T>, stored, now)) : timed;
  // The server sets the same defaults; without them the stored status would never be equal.
  return (isCustom(kind) ? applyDefaults(kind, { status: stamped }).status : stamped) as StatusOf<T>;
}

function newsOf<T extends KubeObject>(
  stored: StatusOf<T> | undefined,
  next: StatusOf<T>,
  { transition = conditionFlipped }: StatusRules<T>,
): News {
  if (!stored) return "first";
  return transition(stored, next) ? "transition" : "refresh";
}

function conditionFlipped(stored: unknown, next: unknown): boolean {
  return conditionsChanged(conditionsOf(stored), conditionsOf(next));
}

function conditionsOf(status: unknown): Condition[] {
  return (status as { conditions?: Condition[] } | undefined)?.conditions ?? [];
}

export function statusOf<T>(object: T): StatusOf<T> | undefined {
  return (object as { status?: StatusOf<T> }).status;
}

function isCustom(kind: Kind): kind is CustomKind {
  return "schema" in kind;
}

/** Labels, annotations and owners of others stay. */
function metadataPatch(stored: ObjectMeta, ours: NonNullable<Creation["metadata"]>): Partial<ObjectMeta> | undefined {
  const patch: Partial<ObjectMeta> = {};
  for (const field of ["labels", "annotations"] as const) {
    const changed = changedEntries(stored[field], ours[field]);
    if (changed.length > 0) patch[field] = Object.fromEntries(changed);
  }
  const owners = ours.ownerReferences ?? [];
  const present = stored.ownerReferences ?? [];
  if (!owners.every((owner) => present.some((other) => sameOwner(owner, other)))) {
    patch.ownerReferences = [...present.filter((other) => !owners.some((owner) => sameName(owner, other))), ...owners];
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}

function changedEntries(stored: Record<string, string> = {}, ours: Record<string, string> = {}): [string, string][] {
  return Object.entries(ours).filter(([name, value]) => stored[name] !== value);
}

function sameOwner(owner: OwnerReference, other: OwnerReference): boolean {
  return sameName(owner, other) && owner.uid === other.uid && Boolean(owner.controller) === Boolean(other.controller);
}

/** An owner of this name with another uid is a deleted predecessor. */
function sameName(owner: OwnerReference, other: OwnerReference): boolean {
  return owner.apiVersion === other.apiVersion && owner.kind === other.kind && owner.name === other.name;
}
