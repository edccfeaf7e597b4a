import { expect, test } from "vitest";
import type { ManagedKind } from "../../src/api/failover/policy-fields.ts";
import type { KubeObject } from "../../src/api/kind.ts";
import { copyApplication } from "./copy.ts";

function original(kind: ManagedKind, name: string, spec: object, metadata: object = {}, namespace = "shop") {
  const resource = { kind, namespace, name, field: "" };
  return { resource, object: { kind, metadata: { name, namespace, ...metadata }, spec } as KubeObject };
}

const template = (app: string, ...claims: string[]) => ({
  metadata: { labels: { app } },
  spec: {
    terminationGracePeriodSeconds: 7,
    nodeSelector: { disk: "nvme" },
    containers: [{ name: app, image: `registry.example/${app}`, resources: { requests: { memory: "64Gi" } } }],
    volumes: [
      { name: "config", configMap: { name: "x" } },
      ...claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
    ],
  },
});
const selector = { matchLabels: { app: "web" } };

test("pods keep their labels, claims and grace period, and dependencies on the cluster are not copied", () => {
  const { objects, claims } = copyApplication([
    original("Deployment", "web", { replicas: 3, selector, template: template("web", "files") }),
  ]);
  expect(objects).toMatchObject([
    {
      apiVersion: "apps/v1",
      metadata: { name: "web", namespace: "shop" },
      spec: {
        replicas: 3,
        selector,
        template: {
          metadata: { labels: { app: "web" } },
          spec: { terminationGracePeriodSeconds: 7, volumes: [{ name: "files", persistentVolumeClaim: { claimName: "files" } }] },
        },
      },
    },
  ]);
  expect(JSON.stringify(objects)).not.toMatch(/nvme|registry|64Gi|configMap/);
  expect(claims).toEqual([{ namespace: "shop", name: "files" }]);
});

test("a StatefulSet creates its claims itself, and volumes exist for them", () => {
  const db = { replicas: 2, selector, serviceName: "db", template: template("db"), volumeClaimTemplates: [{ metadata: { name: "data" } }] };
  const volume = { dataSource: { kind: "PersistentVolumeClaim", name: "data-db-0" } };
  const { claims, volumes, replications } = copyApplication([
    original("VolumeReplication", "v", volume),
    original("StatefulSet", "db", db),
  ]);
  expect(claims).toEqual([]);
  expect(volumes.map(({ name }) => name)).toEqual(["data-db-0", "data-db-1"]);
  expect(replications).toMatchObject([{ metadata: { name: "v" }, spec: volume }]);
});

const annotations = (prior: object) => ({
  annotations: { "plumbline.dev/failover-prior": JSON.stringify({ policy: "shop/shop", ...prior }) },
});

test("a secondary site is copied with its state as the primary", () => {
  const { objects } = copyApplication([
    original("Deployment", "web", { replicas: 0, selector, template: template("web") }, annotations({ replicas: 4 })),
    original("CronJob", "report", { schedule: "0 3 * * *", suspend: true }, annotations({ suspend: null })),
    original("CronJob", "off", { schedule: "0 3 * * *", suspend: true }),
  ]);
  expect(objects).toMatchObject([{ spec: { replicas: 4 } }, { spec: { suspend: false } }, { spec: { suspend: true } }]);
});

test("an object of Flux is declared by its managed Flux object, and copied otherwise", () => {
  const labels = { "kustomize.toolkit.fluxcd.io/name": "site", "kustomize.toolkit.fluxcd.io/namespace": "flux-system" };
  const web = original("Deployment", "web", { selector, template: template("web") }, { labels });
  const site = original("Kustomization", "site", { interval: "1m" }, {}, "flux-system");
  const both = copyApplication([web, site]);
  expect(both.objects).toEqual([]);
  expect(both.flux).toMatchObject([{ object: { kind: "Kustomization" }, declares: [{ kind: "Deployment", metadata: { name: "web" } }] }]);
  expect(both.namespaces).toEqual(["shop", "flux-system"]);
  expect(copyApplication([web]).objects).toHaveLength(1);
});

test("a volume has no owner in the copy, so that its Kustomization does not block it", () => {
  const labels = { "kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system" };
  const dataSource = { kind: "PersistentVolumeClaim", name: "data" };
  const { replications } = copyApplication([original("VolumeReplication", "data", { dataSource }, { labels })]);
  expect(replications.map(({ metadata }) => metadata.labels ?? {})).toEqual([{}]);
});
