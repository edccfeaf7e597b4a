import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/api/admission/value.ts";
import { CUSTOM_KINDS } from "../../../src/api/crds/kinds.ts";
import { DIFFERENCES } from "./differences.ts";
import { condition, core, lease, map, nodeStatus, paths, pool, vni } from "./objects.ts";
import { MERGE, type Conforming } from "./servers.ts";

const TABLE = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json" };
const AGGREGATED = { accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json" };

interface Table extends JsonObject {
  columnDefinitions: { name: string; type: string; format: string; priority: number; description: string }[] | null;
  rows: { cells: unknown[]; object: JsonObject | null }[];
}

interface Resource {
  name: string;
  singularName: string;
  namespaced: boolean;
  kind: string;
  verbs: string[];
  shortNames?: string[];
  categories?: string[];
}

const columns = (table: Table) => table.columnDefinitions?.map(({ name, type, format, priority }) => [name, type, format, priority]);
const age = expect.stringMatching(/^\d+s$/) as string;

export function describing(server: () => Conforming): void {
  const table = async (path: string): Promise<Table> => (await server().send("GET", path, undefined, TABLE)).json as Table;

  test("lists the kinds in both discovery formats", async () => {
    const groups = (await server().send("GET", "/apis")).json["groups"] as { name: string; preferredVersion: { groupVersion: string } }[];
    const served = Object.fromEntries(groups.map(({ name, preferredVersion }) => [name, preferredVersion.groupVersion]));
    expect(served).toMatchObject({
      "openpe.openperouter.github.io": "openpe.openperouter.github.io/v1alpha1",
      "metallb.io": "metallb.io/v1beta2",
      "coordination.k8s.io": "coordination.k8s.io/v1",
      apps: "apps/v1",
      batch: "batch/v1",
    });
    expect((await server().send("GET", "/api")).json).toMatchObject({ kind: "APIVersions", versions: ["v1"] });
    const { json } = await server().send("GET", "/apis/openpe.openperouter.github.io/v1alpha1");
    const resources = json["resources"] as Resource[];
    const find = (name: string) => resources.find((resource) => resource.name === name);
    expect({ ...find("routernodeconfigurationstatuses"), verbs: find("routernodeconfigurationstatuses")?.verbs.sort() }).toMatchObject({
      singularName: "routernodeconfigurationstatus",
      namespaced: true,
      kind: "RouterNodeConfigurationStatus",
      verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
      shortNames: ["rncs"],
      categories: ["plumbline", "openperouter"],
    });
    expect(find("l3vnis/status")).toMatchObject({ kind: "L3VNI", verbs: ["get", "patch", "update"] });
    const core = (await server().send("GET", "/api/v1")).json["resources"] as Resource[];
    expect(core.find(({ name }) => name === "configmaps")).toMatchObject({ kind: "ConfigMap", shortNames: ["cm"], namespaced: true });
    expect(core.find(({ name }) => name === "nodes")).toMatchObject({ kind: "Node", shortNames: ["no"], namespaced: false });

    const aggregated = await server().send("GET", "/apis", undefined, AGGREGATED);
    expect(aggregated.headers["content-type"]).toBe("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    interface Version {
      version: string;
      freshness: string;
      resources: JsonObject[];
    }
    const items = aggregated.json["items"] as { metadata: { name: string }; versions: Version[] }[];
    const [version] = items.find(({ metadata }) => metadata.name === "openpe.openperouter.github.io")?.versions ?? [];
    expect([version?.version, version?.freshness]).toEqual(["v1alpha1", "Current"]);
    expect(version?.resources.find(({ resource }) => resource === "l3vnis")).toMatchObject({
      responseKind: { group: "openpe.openperouter.github.io", version: "v1alpha1", kind: "L3VNI" },
      scope: "Namespaced",
      singularResource: "l3vni",
      subresources: [{ subresource: "status", verbs: ["get", "patch", "update"] }],
    });
    const legacy = (await server().send("GET", "/api", undefined, AGGREGATED)).json["items"] as { versions: Version[] }[];
    expect(legacy[0]?.versions[0]?.resources.map(({ resource }) => resource)).toContain("configmaps");
  });

  test("version and health are served", async () => {
    expect((await server().send("GET", "/version")).json).toMatchObject({ major: "1", minor: "37" });
    for (const path of ["/healthz", "/livez", "/readyz"]) {
      const { status, text } = await server().send("GET", path);
      expect([path, status, text]).toEqual([path, 200, "ok"]);
    }
  });

  test("OpenAPI has every field of the custom kinds", async () => {
    const index = (await server().send("GET", "/openapi/v3")).json["paths"] as Record<string, { serverRelativeURL: string }>;
    for (const { group, version, kind, schema } of CUSTOM_KINDS) {
      const { json } = await server().send("GET", index[`apis/${group}/${version}`]?.serverRelativeURL ?? "");
      const { schemas } = json["components"] as { schemas: Record<string, { properties?: Record<string, JsonObject> }> };
      const own = Object.entries(schemas).find(([name]) => name.endsWith(`.${kind}`))?.[1].properties ?? {};
      expect(Object.keys(own).sort()).toEqual(["apiVersion", "kind", "metadata", ...Object.keys(schema.properties)].sort());
      const fields = (name: string) => Object.keys(own[name]?.["properties"] ?? {}).sort();
      for (const [name, part] of Object.entries(schema.properties)) {
        expect(fields(name)).toEqual(Object.keys("properties" in part ? part.properties : {}).sort());
      }
    }
  });

  test("a table of a custom kind has its columns and its cells", async () => {
    const ns = await server().namespace();
    await server().send(
      "POST",
      paths.vnis(ns),
      vni("red", { hostsession: { asn: 64514, hostasn: 64515, localcidr: { ipv4: "192.169.10.0/24" } } }),
    );
    await server().send("POST", paths.vnis(ns), vni("blue"));
    const vnis = await table(paths.vnis(ns));
    expect(vnis).toMatchObject({ kind: "Table", apiVersion: "meta.k8s.io/v1" });
    expect(columns(vnis)).toEqual([
      ["Name", "string", "name", 0],
      ["VRF", "string", "", 0],
      ["VNI", "integer", "", 0],
      ["ASN", "integer", "", 1],
      ["Host ASN", "integer", "", 1],
      ["Age", "date", "", 0],
    ]);
    expect(vnis.rows.map(({ cells }) => cells)).toEqual([
      ["blue", "red", 100, null, null, age],
      ["red", "red", 100, 64514, 64515, age],
    ]);
    expect(vnis.rows[0]?.object).toMatchObject({ kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: { name: "blue" } });

    await server().send("POST", paths.statuses(ns), nodeStatus("n1"));
    const conditions = [condition("Ready", "False", "VNI 100 is held by L3VNI red"), condition("Degraded", "True")];
    await server().patch(`${paths.statuses(ns)}/n1/status`, MERGE, { status: { conditions } });
    expect((await table(`${paths.statuses(ns)}/n1`)).rows[0]?.cells).toEqual([
      "n1",
      "False",
      "True",
      null,
      null,
      null,
      "VNI 100 is held by L3VNI red",
      age,
    ]);

    await server().send("POST", paths.pools(ns), pool("p", { addresses: ["192.0.2.0/24", "192.0.3.1-192.0.3.9"] }));
    await server().patch(`${paths.pools(ns)}/p/status`, MERGE, { status: { assignedIPV4: 3 } });
    expect((await table(paths.pools(ns))).rows[0]?.cells).toEqual([
      "p",
      true,
      false,
      '["192.0.2.0/24","192.0.3.1-192.0.3.9"]',
      3,
      null,
      null,
      null,
      null,
      null,
      age,
    ]);
  });

  test("a table of a core kind has kubectl's columns", async () => {
    const ns = await server().namespace();
    await server().send("POST", paths.maps(ns), map("m", { a: "1", b: "2" }));
    const maps = await table(`${paths.maps(ns)}?fieldSelector=metadata.name%3Dm`);
    expect([columns(maps), maps.rows[0]?.cells]).toEqual([
      [
        ["Name", "string", "name", 0],
        ["Data", "string", "", 0],
        ["Age", "string", "", 0],
      ],
      ["m", 2, age],
    ]);
    await server().send("POST", paths.leases(ns), lease("l"));
    expect((await table(paths.leases(ns))).rows[0]?.cells).toEqual(["l", "me", age]);
    await server().send("POST", paths.secrets(ns), core("Secret", "s", { stringData: { a: "b" } }));
    expect((await table(`${paths.secrets(ns)}/s`)).rows[0]?.cells).toEqual(["s", "Opaque", 1, age]);
    const involvedObject = { kind: "Node", name: "n1", namespace: ns };
    await server().send(
      "POST",
      paths.events(ns),
      core("Event", "e", { involvedObject, reason: "R", message: " M ", type: "Warning", count: 3, source: { component: "c" } }),
    );
    const events = await table(paths.events(ns));
    expect(columns(events)?.map(([name, , , priority]) => `${String(name)}${priority === 1 ? "*" : ""}`)).toEqual([
      "Last Seen",
      "Type",
      "Reason",
      "Object",
      "Subobject*",
      "Source*",
      "Message",
      "First Seen*",
      "Count*",
      "Name*",
    ]);
    expect(events.rows[0]?.cells).toEqual(["<unknown>", "Warning", "R", "node/n1", "", "c", "M", "<unknown>", 3, "e"]);
    const node = `n-${ns}`;
    const labels = { "node-role.kubernetes.io/edge": "" };
    const status = { conditions: [condition("Ready", "True")], addresses: [{ type: "InternalIP", address: "192.0.2.1" }] };
    await server().send("POST", paths.nodes, core("Node", node, { spec: { unschedulable: true }, status }, { labels }));
    expect((await table(`${paths.nodes}/${node}`)).rows[0]?.cells).toEqual([
      node,
      "Ready,SchedulingDisabled",
      "edge",
      age,
      "",
      "192.0.2.1",
      "<none>",
      "<unknown>",
      "<unknown>",
      "<unknown>",
    ]);
    const ports = [
      { name: "a", port: 80 },
      { name: "b", port: 53, protocol: "UDP" },
    ];
    await server().send("POST", paths.services(ns), core("Service", "web", { spec: { clusterIP: "None", ports, selector: { a: "b" } } }));
    expect((await table(`${paths.services(ns)}/web`)).rows[0]?.cells).toEqual([
      "web",
      "ClusterIP",
      "None",
      "<none>",
      "80/TCP,53/UDP",
      age,
      "a=b",
    ]);
  });

  test("a table may include no objects or complete ones, and every watch event is a table", async () => {
    const ns = await server().namespace();
    const created = await server().send("POST", paths.vnis(ns), vni("red"));
    expect((await table(`${paths.vnis(ns)}/red?includeObject=None`)).rows[0]?.object).toBeNull();
    expect((await table(`${paths.vnis(ns)}/red?includeObject=Object`)).rows[0]?.object).toMatchObject({
      kind: "L3VNI",
      spec: { vni: 100 },
    });
    const rejected = await server().send("GET", `${paths.vnis(ns)}?includeObject=Foo`, undefined, TABLE);
    expect([rejected.status, rejected.json["message"]]).toEqual([
      400,
      "Unable to convert to Table as requested: includeObject: Invalid value: \"Foo\": must be 'Metadata', 'Object', 'None', or empty",
    ]);
    const { resourceVersion } = created.json["metadata"] as { resourceVersion: string };
    const watch = await server().watch(`${paths.vnis(ns)}?watch=true&resourceVersion=${resourceVersion}`, TABLE);
    await server().patch(`${paths.vnis(ns)}/red`, MERGE, { spec: { vni: 7 } });
    await server().patch(`${paths.vnis(ns)}/red`, MERGE, { spec: { vni: 8 } });
    const events = [(await watch.next())?.object as unknown as Table, (await watch.next())?.object as unknown as Table];
    watch.close();
    expect(events.map(({ rows }) => rows[0]?.cells[2])).toEqual([7, 8]);
    expect(events.map(({ columnDefinitions }) => columnDefinitions === null)).toEqual([false, true]);
  });

  test("intended differences are documented", () => {
    const text = readFileSync(join(import.meta.dirname, "../../../docs/embedded.md"), "utf8").replaceAll(/\s+/g, " ");
    expect(Object.values(DIFFERENCES).filter((difference) => !text.includes(difference))).toEqual([]);
  });
}
