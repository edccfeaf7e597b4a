import { expect, test } from "vitest";
import { differs } from "./differences.ts";
import { condition, core, lease, map, nodeStatus, paths, vni } from "./objects.ts";
import { MERGE, type Conforming } from "./servers.ts";

const uid = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/) as string;
const revision = expect.stringMatching(/^[1-9]\d*$/) as string;
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) as string;
const stamped = (name: string, namespace?: string) => ({
  name,
  ...(namespace !== undefined && { namespace }),
  uid,
  resourceVersion: revision,
  creationTimestamp: time,
});

export function writing(server: () => Conforming): void {
  test("a custom object is created with its defaults, read back, and deleted", async () => {
    const ns = await server().namespace();
    const created = await server().send("POST", paths.vnis(ns), vni("red"));
    expect(created.status).toBe(201);
    expect(created.json).toEqual({
      ...vni("red", { vxlanport: 4789 }),
      metadata: { ...stamped("red", ns), generation: 1 },
    });
    const read = await server().send("GET", `${paths.vnis(ns)}/red`);
    expect([read.status, read.json]).toEqual([200, created.json]);
    const deleted = await server().send("DELETE", `${paths.vnis(ns)}/red`);
    const details = { name: "red", group: "openpe.openperouter.github.io", kind: "l3vnis", uid };
    expect([deleted.status, deleted.json]).toEqual([200, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details }]);
    expect((await server().send("GET", `${paths.vnis(ns)}/red`)).status).toBe(404);
  });

  test("server-managed fields of the client are ignored", async () => {
    const ns = await server().namespace();
    const given = { uid: "mine", generation: 7, creationTimestamp: "2001-01-01T00:00:00Z", deletionTimestamp: "2001-01-01T00:00:00Z" };
    const { json } = await server().send("POST", paths.vnis(ns), { ...vni("red", {}, given), status: { claims: [] } });
    expect(json["metadata"]).toEqual({ ...stamped("red", ns), generation: 1 });
    expect(json["status"]).toBeUndefined();
  });

  test.each([
    ["ConfigMap", paths.maps, map("x"), { data: { a: "b" } }],
    [
      "Lease",
      paths.leases,
      lease("x", { renewTime: "2026-01-01T00:00:00.000000Z" }),
      { spec: { holderIdentity: "me", renewTime: "2026-01-01T00:00:00.000000Z" } },
    ],
    ["Secret", paths.secrets, core("Secret", "x", { stringData: { a: "b" } }), { type: "Opaque", data: { a: "Yg==" } }],
  ])("a %s is created, replaced without a resourceVersion or with one, and deleted", async (kind, path, body, content) => {
    const ns = await server().namespace();
    const created = await server().send("POST", path(ns), body);
    expect([created.status, created.json]).toEqual([201, { apiVersion: body["apiVersion"], kind, metadata: stamped("x", ns), ...content }]);
    const labeled = { ...created.json, metadata: { ...(created.json["metadata"] as object), labels: { a: "b" } } };
    const replaced = await server().send("PUT", `${path(ns)}/x`, labeled);
    expect([replaced.status, replaced.json]).toEqual([200, { ...labeled, metadata: { ...labeled.metadata, resourceVersion: revision } }]);
    expect((await server().send("DELETE", `${path(ns)}/x`)).json).toMatchObject({ kind: "Status", status: "Success" });
  });

  test("an Event and a Node keep all fields", async () => {
    const ns = await server().namespace();
    const about = { kind: "Node", name: "n1", uid: "u", apiVersion: "v1" };
    const event = core("Event", "e", { involvedObject: { ...about, namespace: ns }, reason: "R", message: "M", type: "Warning", count: 1 });
    const created = await server().send("POST", paths.events(ns), event);
    expect(created.status).toBe(201);
    expect(created.json).toMatchObject(event);

    const addresses = [{ type: "InternalIP", address: "192.0.2.1" }];
    const node = await server().send(
      "POST",
      paths.nodes,
      core("Node", `n-${ns}`, { spec: { podCIDR: "10.0.0.0/24" }, status: { addresses } }),
    );
    expect(node.json).toMatchObject({ metadata: stamped(`n-${ns}`), spec: { podCIDR: "10.0.0.0/24" }, status: { addresses } });
    const taints = differs<unknown>(server(), "nodeTaint", {
      embedded: undefined,
      cluster: [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }],
    });
    expect((node.json["spec"] as { taints?: unknown }).taints).toEqual(taints);
  });

  test("a Service has its defaults", async () => {
    const ns = await server().namespace();
    const { status, json } = await server().send(
      "POST",
      paths.services(ns),
      core("Service", "web", { spec: { type: "LoadBalancer", ports: [{ port: 80 }] } }),
    );
    expect(status).toBe(201);
    expect(json).toMatchObject({
      spec: {
        type: "LoadBalancer",
        sessionAffinity: "None",
        externalTrafficPolicy: "Cluster",
        internalTrafficPolicy: "Cluster",
        allocateLoadBalancerNodePorts: true,
        ipFamilies: ["IPv4"],
        ipFamilyPolicy: "SingleStack",
        ports: [{ port: 80, targetPort: 80, protocol: "TCP" }],
      },
      status: { loadBalancer: {} },
    });
    const { clusterIP } = json["spec"] as { clusterIP?: string };
    const address = expect.stringMatching(/^10\./) as string;
    expect(clusterIP).toEqual(differs<unknown>(server(), "addresses", { embedded: undefined, cluster: address }));
  });

  test("a name can be generated", async () => {
    const ns = await server().namespace();
    const { json } = await server().send("POST", paths.maps(ns), core("ConfigMap", "", {}, { name: undefined, generateName: "gen-" }));
    expect(json["metadata"]).toEqual({
      ...stamped(expect.stringMatching(/^gen-[a-z0-9]{5}$/) as string, ns),
      generateName: "gen-",
    });
  });

  test("generation counts changes of the spec; resourceVersion changes with every change and with nothing else", async () => {
    const ns = await server().namespace();
    const path = `${paths.vnis(ns)}/red`;
    const meta = async (patch: object) =>
      (await server().patch(path, MERGE, patch)).json["metadata"] as { generation: number; resourceVersion: string };
    await server().send("POST", paths.vnis(ns), vni("red"));
    const first = await meta({});
    const same = await meta({ spec: { vni: 100 } });
    expect(same).toEqual(first);
    const labeled = await meta({ metadata: { labels: { a: "b" } } });
    expect([labeled.generation, labeled.resourceVersion !== first.resourceVersion]).toEqual([1, true]);
    const changed = await meta({ spec: { vni: 200 } });
    expect([changed.generation, Number(changed.resourceVersion) > Number(labeled.resourceVersion)]).toEqual([2, true]);
    const status = await server().patch(`${path}/status`, MERGE, {
      status: { claims: [{ claim: "vni/200", since: "2026-01-01T00:00:00Z" }] },
    });
    expect(status.json["metadata"]).toMatchObject({ generation: 2 });
  });

  test("spec and status are written separately; a status write of a custom kind changes nothing else", async () => {
    const ns = await server().namespace();
    const path = `${paths.statuses(ns)}/n1`;
    await server().send("POST", paths.statuses(ns), { ...nodeStatus("n1"), status: { conditions: [condition("Ready", "True")] } });
    const before = await server().send("GET", path);
    expect(before.json["status"]).toBeUndefined();
    const written = await server().send("PUT", `${path}/status`, {
      ...before.json,
      metadata: { ...(before.json["metadata"] as object), labels: { a: "b" } },
      status: { conditions: [condition("Ready", "True", "fine")] },
    });
    expect(written.status).toBe(200);
    expect(written.json).toMatchObject({ status: { conditions: [condition("Ready", "True", "fine")] } });
    expect((written.json["metadata"] as { labels?: unknown }).labels).toBeUndefined();
    const main = await server().patch(path, MERGE, { metadata: { labels: { a: "b" } }, status: { conditions: [] } });
    expect(main.json).toMatchObject({ metadata: { labels: { a: "b" } }, status: { conditions: [condition("Ready", "True", "fine")] } });
  });

  test("a status write of a core kind changes annotations too", async () => {
    const ns = await server().namespace();
    await server().send("POST", paths.services(ns), core("Service", "web", { spec: { type: "LoadBalancer", ports: [{ port: 80 }] } }));
    const patch = {
      metadata: { annotations: { a: "b" } },
      status: { loadBalancer: { ingress: [{ ip: "192.0.2.7" }] } },
      spec: { sessionAffinity: "ClientIP" },
    };
    const { json } = await server().patch(`${paths.services(ns)}/web/status`, MERGE, patch);
    expect(json).toMatchObject({
      metadata: { annotations: { a: "b" } },
      spec: { sessionAffinity: "None" },
      status: { loadBalancer: { ingress: [{ ip: "192.0.2.7", ipMode: "VIP" }] } },
    });
  });

  test("a port of an EndpointSlice has a default name and protocol", async () => {
    const ns = await server().namespace();
    const slice = {
      metadata: { name: "web-1" },
      addressType: "IPv4",
      endpoints: [],
      ports: [{ port: 80 }, { name: "dns", protocol: "UDP" }],
    };
    const { json } = await server().send("POST", `/apis/discovery.k8s.io/v1/namespaces/${ns}/endpointslices`, slice);
    expect(json["ports"]).toEqual([
      { name: "", port: 80, protocol: "TCP" },
      { name: "dns", protocol: "UDP" },
    ]);
  });

  test("unknown fields of a custom kind are dropped with a warning, or rejected", async () => {
    const ns = await server().namespace();
    const body = vni("red", { vnii: 1 }, { labls: {} });
    const { status, headers, json } = await server().send("POST", paths.vnis(ns), body);
    expect([status, headers["warning"], json["spec"]]).toEqual([
      201,
      '299 - "unknown field \\"metadata.labls\\"", 299 - "unknown field \\"spec.vnii\\""',
      { vrf: "red", vni: 100, vxlanport: 4789 },
    ]);
    const ignored = await server().send("POST", `${paths.vnis(ns)}?fieldValidation=Ignore`, vni("blue", { vnii: 1 }));
    expect([ignored.status, ignored.headers["warning"]]).toEqual([201, undefined]);
    const strict = await server().send("POST", `${paths.vnis(ns)}?fieldValidation=Strict`, body);
    expect([strict.status, strict.json["message"]]).toEqual([
      400,
      'L3VNI in version "v1alpha1" cannot be handled as a L3VNI: strict decoding error: unknown field "metadata.labls", unknown field "spec.vnii"',
    ]);
    const core = await server().send("POST", paths.maps(ns), { ...map("m"), foo: 1 });
    const warning = differs<unknown>(server(), "coreFields", { embedded: undefined, cluster: '299 - "unknown field \\"foo\\""' });
    expect(core.headers["warning"]).toEqual(warning);
  });

  test("a dry run is validated and not stored", async () => {
    const ns = await server().namespace();
    const made = await server().send("POST", `${paths.vnis(ns)}?dryRun=All`, vni("red"));
    expect([made.status, (made.json["metadata"] as { resourceVersion?: string }).resourceVersion]).toEqual([201, undefined]);
    expect((await server().send("POST", `${paths.vnis(ns)}?dryRun=All`, vni("red", { vni: 0 }))).status).toBe(422);
    expect((await server().send("GET", `${paths.vnis(ns)}/red`)).status).toBe(404);
    await server().send("POST", paths.vnis(ns), vni("red"));
    await server().send("PATCH", `${paths.vnis(ns)}/red?dryRun=All`, { spec: { vni: 7 } }, { "content-type": MERGE });
    expect((await server().send("DELETE", `${paths.vnis(ns)}/red?dryRun=All`)).status).toBe(200);
    expect((await server().send("GET", `${paths.vnis(ns)}/red`)).json["spec"]).toMatchObject({ vni: 100 });
  });

  test("a PUT creates a missing Lease, and no object of a custom kind", async () => {
    const ns = await server().namespace();
    expect((await server().send("PUT", `${paths.leases(ns)}/l`, lease("l"))).status).toBe(201);
    expect((await server().send("PUT", `${paths.vnis(ns)}/v`, vni("v"))).status).toBe(404);
  });

  test("YAML is accepted and returned", async () => {
    const ns = await server().namespace();
    const body = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: b}\n`;
    expect((await server().send("POST", paths.maps(ns), body, { "content-type": "application/yaml" })).status).toBe(201);
    const { text, headers } = await server().send("GET", `${paths.maps(ns)}/m`, undefined, { accept: "application/yaml" });
    expect([headers["content-type"], text.includes("data:\n  a: b\n")]).toEqual(["application/yaml", true]);
  });
}
