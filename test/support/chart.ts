import { execFile } from "node:child_process";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { helmBinary } from "../../lab/helm/binary.ts";
import { KUBERNETES_VERSION } from "../../lab/kube/binary.ts";
import { progressOn } from "../../lab/progress.ts";

export const CHART = join(import.meta.dirname, "../../deploy/chart");

/** Typical sets of values. */
export const VARIATIONS: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
  ["as it is", {}],
  ["without a router", { "router.enabled": false }],
  ["as a router alone", { "loadbalancer.enabled": false, "connectivity.enabled": false }],
  ["for checks alone", { "router.enabled": false, "loadbalancer.enabled": false, "failover.enabled": false }],
  [
    "with every value turned",
    {
      "image.repository": "registry.example.com/edge/plumbline",
      "image.tag": "next",
      "image.pullSecrets": ["registry"],
      "namespaces.router": "edge",
      "namespaces.loadbalancer": "edge",
      "loadbalancer.class": "example.com/edge",
      "loadbalancer.ignoreExcludeLabel": true,
      "loadbalancer.sessionPollInterval": "500ms",
      "connectivity.checkInterval": "30s",
      "connectivity.allowTargets": ["169.254.20.10/32", "fe80::/10"],
      "failover.dnsAnnotation": "dns.example.com/owner",
      "failover.namespaces": ["platform", "*"],
      "controller.nodeSelector": { "node-role.kubernetes.io/control-plane": "" },
      "controller.tolerations": [{ operator: "Exists" }],
      "controller.priorityClassName": "",
      "agent.healthPort": 18081,
      "agent.logLevel": "debug",
      "networkPolicy.from.webhook": [{ ipBlock: { cidr: "192.0.2.0/24" } }],
      "frr.logLevel": "warn",
      "monitoring.serviceMonitor": "on",
      "monitoring.rules": "on",
      "monitoring.labels": { release: "prometheus" },
      "monitoring.runbooks": "https://wiki.example.com/runbooks",
    },
  ],
  [
    "with everything that can be left out left out",
    {
      "namespaces.create": false,
      "crds.install": false,
      "webhooks.enabled": false,
      "page.enabled": false,
      "podDisruptionBudget.enabled": false,
      "networkPolicy.enabled": false,
      "flowControl.enabled": false,
      "monitoring.serviceMonitor": "off",
      "monitoring.rules": "off",
      "monitoring.dashboard": false,
    },
  ],
];

export interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly [field: string]: unknown;
}

/** What helm prints; its own words where it refuses. */
export async function helm(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const program = await helmBinary(progressOn(process.stderr));
  return new Promise((resolve, reject) => {
    execFile(program, args, { env: { ...process.env, ...env }, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`helm ${args[0]}: ${stdout}${stderr}`));
      else resolve(stdout);
    });
  });
}

/** `--set` for each of these values. */
export function settings(values: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(values).map(([path, value]) => `--set-json=${path}=${JSON.stringify(value)}`);
}

/** What the chart installs with these values, as text. */
export function template(values: Readonly<Record<string, unknown>> = {}, more: readonly string[] = []): Promise<string> {
  const version = ["--kube-version", KUBERNETES_VERSION];
  return helm(["template", "plumbline", CHART, "--namespace", "plumbline-system", ...version, ...settings(values), ...more]);
}

export async function rendered(values: Readonly<Record<string, unknown>> = {}, more: readonly string[] = []): Promise<Rendered[]> {
  const documents = parseAllDocuments(await template(values, more));
  return documents.flatMap((document) => (document.contents === null ? [] : [document.toJS() as Rendered]));
}

interface Container {
  readonly name: string;
  readonly args?: readonly string[];
  readonly readinessProbe?: { readonly exec?: { readonly command: readonly string[] } };
  readonly securityContext?: {
    readonly privileged?: boolean;
    readonly readOnlyRootFilesystem?: boolean;
    readonly capabilities?: { readonly drop?: readonly string[]; readonly add?: readonly string[] };
  };
}

/** Every container of these objects, by the object and its own name: `plumbline-agent/agent`. */
export function containersOf(objects: readonly Rendered[]): Map<string, Container> {
  const containers = new Map<string, Container>();
  for (const { metadata, spec } of objects) {
    const pod = (spec as { template?: { spec?: { initContainers?: Container[]; containers: Container[] } } } | undefined)?.template?.spec;
    for (const container of [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])])
      containers.set(`${metadata.name}/${container.name}`, container);
  }
  return containers;
}
