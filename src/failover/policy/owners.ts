import type { ManagedKind } from "../../api/failover/policy-fields.ts";
import type { KubeObject } from "../../api/kind.ts";

/** Applies an object from Git or a chart, and reverts changes of others. */
export interface Owner {
  /** `Helm`: a release without a HelmRelease. It changes nothing until a person runs helm again. */
  readonly kind: "Kustomization" | "HelmRelease" | "Application" | "Helm";
  readonly namespace?: string;
  readonly name: string;
  readonly mark: string;
}

const KUSTOMIZE = "kustomize.toolkit.fluxcd.io";
const HELM_CONTROLLER = "helm.toolkit.fluxcd.io";
const HELM = "meta.helm.sh";
const TRACKING = "argocd.argoproj.io/tracking-id";
const INSTANCE = "app.kubernetes.io/instance";

/** Makes kustomize-controller skip an object. It is read in the cluster, so no commit is needed. */
export const EXEMPT = { key: `${KUSTOMIZE}/reconcile`, value: "disabled" } as const;

/** Most charts set `app.kubernetes.io/instance`, so it counts only together with an Application of that name. */
type Applications = readonly { readonly kind: ManagedKind; readonly name: string }[];

export function ownersOf(kind: string, object: KubeObject, named: Applications = []): Owner[] {
  const { labels = {}, annotations = {} } = object.metadata;
  const fluxOwner = (owner: "Kustomization" | "HelmRelease", group: string): Owner[] => {
    const [name, namespace] = [labels[`${group}/name`], labels[`${group}/namespace`]];
    return name === undefined || namespace === undefined ? [] : [{ kind: owner, namespace, name, mark: `label ${group}/name` }];
  };
  const helmReleases = fluxOwner("HelmRelease", HELM_CONTROLLER);
  const release = annotations[`${HELM}/release-name`];
  const namespace = annotations[`${HELM}/release-namespace`];
  const helm: Owner[] =
    release === undefined || helmReleases.length > 0
      ? []
      : [{ kind: "Helm", ...(namespace !== undefined && { namespace }), name: release, mark: `annotation ${HELM}/release-name` }];
  return [...fluxOwner("Kustomization", KUSTOMIZE), ...helmReleases, ...helm, ...argoOwner(kind, object, named)];
}

/** `Kustomization flux-system/apps` */
export function titleOf({ kind, namespace, name }: Pick<Owner, "kind" | "namespace" | "name">): string {
  const title = kind === "Helm" ? "Helm release" : kind;
  return `${title} ${namespace === undefined ? name : `${namespace}/${name}`}`;
}

export function isNamed(owner: Owner, managed: readonly { kind: ManagedKind; namespace: string; name: string }[]): boolean {
  return managed.some(
    ({ kind, namespace, name }) =>
      kind === owner.kind && name === owner.name && (owner.namespace === undefined || owner.namespace === namespace),
  );
}

/**
 * Whether kustomize-controller skips this object. It reads `IfNotPresent` in Git, not in the cluster; the object has it if Git had it at
 * its creation.
 */
export function isExempt({ metadata: { labels = {}, annotations = {} } }: KubeObject): boolean {
  const has = (key: string, values: readonly string[]) =>
    [labels[key], annotations[key]].some((value) => value !== undefined && values.includes(value.toLowerCase()));
  return has(EXEMPT.key, [EXEMPT.value]) || has(`${KUSTOMIZE}/ssa`, ["ifnotpresent", "ignore"]);
}

/** A copied annotation names another object; Argo CD ignores it too. */
function argoOwner(kind: string, { metadata }: KubeObject, named: Applications): Owner[] {
  const { labels = {}, annotations = {} } = metadata;
  const [application = "", groupKind = "", target = ""] = annotations[TRACKING]?.split(":") ?? [];
  const isOwn = application !== "" && groupKind.endsWith(`/${kind}`) && target === `${metadata.namespace ?? ""}/${metadata.name}`;
  if (isOwn) return [{ kind: "Application", ...applicationOf(application), mark: `annotation ${TRACKING}` }];
  const instance = labels[INSTANCE];
  const isConfirmed = instance !== undefined && named.some((one) => one.kind === "Application" && one.name === instance);
  return isConfirmed ? [{ kind: "Application", name: instance, mark: `label ${INSTANCE}` }] : [];
}

/** `team-a_shop` where Applications are allowed in any namespace; `shop` in Argo CD's own. */
function applicationOf(instance: string): { namespace?: string; name: string } {
  const at = instance.indexOf("_");
  return at < 0 ? { name: instance } : { namespace: instance.slice(0, at), name: instance.slice(at + 1) };
}
