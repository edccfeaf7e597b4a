import { expect, test } from "vitest";
import type { KubeObject } from "../../api/kind.ts";
import { connectivityRule, connectivityWarnings } from "./connectivity-rule.ts";

const object = (apiVersion: string, kind: string, namespace: string, spec: object, annotations = {}): KubeObject =>
  ({ apiVersion, kind, metadata: { name: "x", namespace, annotations }, spec }) as KubeObject;
const check = (targetEndpoint: string, namespace = "shop", annotations = {}) =>
  object(
    "controlplane.operator.openshift.io/v1alpha1",
    "PodNetworkConnectivityCheck",
    namespace,
    { sourcePod: "a", targetEndpoint },
    annotations,
  );
const mesh = (target: object, spec: object = {}, namespace = "shop") =>
  object("plumbline.dev/v1alpha1", "ConnectivityMesh", namespace, {
    sources: { pods: { selector: {} } },
    targets: [target],
    sourcesPerTarget: 3,
    ...spec,
  });
const service = (...ports: object[]) => ({ ...object("v1", "Service", "shop", { ports }), metadata: { name: "web", namespace: "shop" } });

const failures = (...objects: KubeObject[]) => connectivityRule(objects).map(({ kind, field, message }) => `${kind} ${field}: ${message}`);
const warned = (...objects: KubeObject[]) =>
  connectivityWarnings(objects).map(({ kind, field, message }) => `${kind} ${field}: ${message}`);

test("valid meshes have no failures", () => {
  const objects = [
    check("10.0.0.1:80"),
    check("[fd00::1]:443"),
    check("web.shop.svc:80"),
    mesh({ service: { name: "web" } }),
    mesh({ host: "a:1" }),
    service({ port: 80 }),
  ];
  expect([...failures(...objects), ...warned(...objects)]).toEqual([]);
});

test("a target that the schema accepts but that cannot be probed is a failure", () => {
  expect(failures(check("fd00::1:80"), check("web:99999"), check("web:"), mesh({ host: "10.0.0:80" }))).toEqual([
    'PodNetworkConnectivityCheck spec.targetEndpoint: Target "fd00::1:80": IPv6 addresses need brackets: [fd00::1]:443',
    'PodNetworkConnectivityCheck spec.targetEndpoint: Target "web:99999": the port "99999" is not between 1 and 65535',
    'PodNetworkConnectivityCheck spec.targetEndpoint: Target "web:": the port after the colon is missing',
    expect.stringContaining('ConnectivityMesh spec.targets[0].host: Target "10.0.0:80": '),
  ]);
});

const probed = (text: string) => check("10.0.0.1:80", "shop", { "plumbline.dev/probe": text });

test("a probe annotation that a source would not read is a failure", () => {
  expect(failures(probed('{"type":"HTTP","path":"/healthz"}'))).toEqual([]);
  expect(failures(probed('{"type":"HTTP","pfad":"/"}'))).toEqual([
    "PodNetworkConnectivityCheck metadata.annotations[plumbline.dev/probe]: unknown field pfad",
  ]);
});

test("a probe of a mesh with a bundle that is no certificate is a failure", () => {
  expect(failures(mesh({ host: "a:1", probe: { type: "HTTPS", tls: { caBundle: "PEM" } } }))).toEqual([
    "ConnectivityMesh spec.targets[0].probe: tls.caBundle: not a certificate in PEM",
  ]);
});

test("a Service in the manifests must have the port, and others are not checked", () => {
  const web = service({ name: "http", port: 80, protocol: "TCP" }, { port: 53, protocol: "UDP" });
  expect(failures(mesh({ service: { name: "web", port: 80 } }), mesh({ endpoints: { service: "web", port: "http" } }), web)).toEqual([]);
  expect(failures(mesh({ service: { name: "other", port: 1 } }), web)).toEqual([]);
  expect(
    failures(
      mesh({ service: { name: "web", port: 53 } }),
      mesh({ endpoints: { service: "web", port: "https", namespace: "shop" } }, {}, "x"),
      web,
    ),
  ).toEqual([
    "ConnectivityMesh spec.targets[0].service.port: Service shop/web has no TCP port 53",
    "ConnectivityMesh spec.targets[0].endpoints.port: Service shop/web has no TCP port https",
  ]);
  expect(failures(mesh({ service: { name: "web" } }), service({ port: 53, protocol: "UDP" }))).toEqual([
    "ConnectivityMesh spec.targets[0].service.port: Service shop/web has no TCP port",
  ]);
});

test("a mesh without sources is rejected", () => {
  expect(failures(mesh({ host: "a:1" }, { sourcesPerTarget: 0 }), mesh({ host: "a:1" }, { sourcesPerTarget: "all" }))).toEqual([
    "ConnectivityMesh spec.sourcesPerTarget: must be at least 1, or all",
  ]);
});

test("targets that need permission are warned about", () => {
  expect(warned(check("169.254.169.254:80"), mesh({ host: "[::1]:80" }))).toEqual([
    "PodNetworkConnectivityCheck spec.targetEndpoint: 169.254.169.254 is a link-local address; allow it with --allow-target 169.254.169.254/32",
    "ConnectivityMesh spec.targets[0].host: ::1 is a loopback address; allow it with --allow-target ::1/128",
  ]);
});

test("a Service of another namespace that does not allow the mesh is warned about", () => {
  const target = { endpoints: { service: "web", namespace: "shop" } };
  const web = service({ port: 80 });
  const allowing = { ...web, metadata: { ...web.metadata, annotations: { "plumbline.dev/allow-mesh-from": "bank" } } };
  expect(warned(mesh(target, {}, "bank"), web)).toEqual([
    "ConnectivityMesh spec.targets[0]: Service shop/web does not allow meshes of namespace bank: annotate it with plumbline.dev/allow-mesh-from: bank",
  ]);
  expect(warned(mesh(target, {}, "bank"), allowing)).toEqual([]);
  expect(warned(mesh(target, {}, "plumbline-system"), mesh(target), web)).toEqual([]);
});

test("nodes as sources outside of Plumbline's namespace are warned about", () => {
  const nodes = { sources: { nodes: {} } };
  const marks = { "plumbline.dev/node": "n1" };
  expect(warned(mesh({ host: "a:1" }, nodes, "plumbline-system"), check("a:1", "plumbline-system", marks))).toEqual([]);
  expect(warned(mesh({ host: "a:1" }, nodes), check("a:1", "shop", marks))).toEqual([
    "PodNetworkConnectivityCheck metadata.annotations: nodes try only checks of Plumbline's own namespace, which is plumbline-system unless it was given another",
    "ConnectivityMesh spec.sources.nodes: nodes try only checks of Plumbline's own namespace, which is plumbline-system unless it was given another",
  ]);
});
