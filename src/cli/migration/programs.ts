import { THEIR_GROUPS } from "./definitions.ts";
import type { MigrationDifference, DifferenceClass } from "./difference.ts";
import type { Inventory, Workload } from "./inventory.ts";

interface Rival {
  readonly name: string;
  readonly image: RegExp;
  /** The app label of its manifests and charts. */
  readonly label: string;
}

const RIVALS: readonly Rival[] = [
  { name: "frr-k8s", image: /(^|\/)frr-k8s([:@]|$)/, label: "frr-k8s" },
  { name: "MetalLB", image: /(^|\/)(metallb\/)?(metallb-)?(speaker|controller)([:@]|$)/, label: "metallb" },
  { name: "OpenPERouter", image: /(^|\/)(openperouter\/)?(openperouter-)?router([:@]|$)/, label: "openperouter" },
];
const ROLE = "app.kubernetes.io/component";

/** Other programs with the same task, and their webhooks. */
export function programDifferences(inventory: Inventory): MigrationDifference[] {
  return [...inventory.workloads.flatMap(ofWorkload), ...ofWebhooks(inventory)];
}

function ofWorkload(workload: Workload): MigrationDifference[] {
  const rival = RIVALS.find((one) => isOf(workload, one));
  if (!rival || hasEnded(workload)) return [];
  const role = roleOf(workload);
  const found = [
    difference(workload, workload.kind === "Deployment" ? "spec.replicas" : "spec.template", "Stop", stopping(workload, rival, role)),
  ];
  for (const { args = [], env = [], name } of containersOf(workload)) {
    const field = `spec.template.spec.containers[${name}]`;
    const mode =
      env.find((one) => one.name === "METALLB_BGP_TYPE")?.value ?? (rival.name === "MetalLB" && role === "speaker" ? "native" : undefined);
    if (mode !== undefined) found.push(difference(workload, `${field}.env[METALLB_BGP_TYPE]`, "Differs", inMode(mode)));
    for (const flag of args.filter((arg) => /^--(lb-class|ignore-exclude-lb)\b/.test(arg))) {
      found.push(difference(workload, `${field}.args`, "Differs", `Give plumbline controller and every agent ${flag} too`));
    }
  }
  return found;
}

/** Scaled to zero, or a node selector that matches no node. */
function hasEnded({ kind, spec, status = {} }: Workload): boolean {
  return kind === "Deployment" ? spec.replicas === 0 : status.observedGeneration !== undefined && status.desiredNumberScheduled === 0;
}

function isOf(workload: Workload, { image, label }: Rival): boolean {
  const { labels = {} } = workload.metadata;
  if ([labels["app.kubernetes.io/name"], labels["app"]].includes(label)) return true;
  return containersOf(workload).some((one) => image.test(one.image ?? "") && (one.image ?? "").includes(label));
}

function roleOf(workload: Workload): string {
  const { labels = {} } = workload.metadata;
  const role = labels[ROLE] ?? labels["component"];
  return role ?? (workload.kind === "DaemonSet" ? "speaker" : "controller");
}

function stopping({ kind }: Workload, { name }: Rival, role: string): string {
  if (kind === "DaemonSet")
    return `The ${role} of ${name} runs on the nodes: stop it on each node just before Plumbline's agent starts there`;
  return `The ${role} of ${name} runs: stop it before Plumbline's controller starts, because both would write the same objects`;
}

function inMode(mode: string): string {
  if (mode === "frr") return "FRR mode: the configuration means the same here; Plumbline's agent runs FRR";
  if (mode === "frr-k8s")
    return "frr-k8s mode: here the agent drives FRR itself, reads no FRRConfiguration, and sourceAddress and localASN of peers take effect";
  return "native mode: here BGP is FRR's, and two peers of a node with the same address, or with different myASN in one VRF, exclude each other";
}

/** Their webhooks reject every write of their kinds when they do not answer. */
function ofWebhooks({ webhooks }: Inventory): MigrationDifference[] {
  return webhooks
    .filter(({ metadata, webhooks: each = [] }) => metadata.name !== "plumbline-webhook" && each.some(({ rules }) => rules.some(isTheirs)))
    .map(({ metadata }) => ({
      kind: "ValidatingWebhookConfiguration",
      name: metadata.name,
      namespace: "",
      field: "",
      message: "It rejects every write while its program is stopped: delete it after the program",
      class: "Stop" as const,
    }));
}

function isTheirs({ apiGroups }: { apiGroups: readonly string[] }): boolean {
  return apiGroups.some((group) => THEIR_GROUPS.has(group));
}

function containersOf({ spec }: Workload) {
  return spec.template?.spec?.containers ?? [];
}

function difference({ kind, metadata }: Workload, field: string, what: DifferenceClass, message: string): MigrationDifference {
  return { kind, name: metadata.name, namespace: metadata.namespace ?? "", field, message, class: what };
}
