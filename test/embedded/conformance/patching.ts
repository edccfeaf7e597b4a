import { expect, test } from "vitest";
import { condition, core, deployment, map, paths, vni } from "./objects.ts";
import { JSON_PATCH, MERGE, STRATEGIC, type Conforming } from "./servers.ts";

const conditions = (json: object) => (json as { status: { conditions: { type: string; status: string }[] } }).status.conditions;

const finalizers = (json: object) => (json as { metadata: { finalizers?: string[] } }).metadata.finalizers;

export function patching(server: () => Conforming): void {
  test("a merge patch sets, removes and leaves alone; a list is one value", async () => {
    const ns = await server().namespace();
    const path = `${paths.vnis(ns)}/red`;
    await server().send("POST", paths.vnis(ns), vni("red", { exportRTs: ["1:1"], importRTs: ["2:2"] }, { labels: { a: "b", c: "d" } }));
    const patch = { metadata: { labels: { a: null, e: "f" } }, spec: { exportRTs: ["3:3"], importRTs: null, vxlanport: null } };
    const { status, json } = await server().patch(path, MERGE, patch);
    expect([status, json["spec"], (json["metadata"] as { labels: unknown }).labels]).toEqual([
      200,
      { vrf: "red", vni: 100, vxlanport: 4789, exportRTs: ["3:3"] },
      { c: "d", e: "f" },
    ]);
    expect((await server().patch(path, MERGE, { spec: null })).status).toBe(422);
  });

  test("a JSON patch is applied completely or not at all", async () => {
    const ns = await server().namespace();
    const path = `${paths.vnis(ns)}/red`;
    await server().send("POST", paths.vnis(ns), vni("red"));
    const { json } = await server().patch(path, JSON_PATCH, [
      { op: "test", path: "/spec/vni", value: 100 },
      { op: "replace", path: "/spec/vni", value: 101 },
      { op: "add", path: "/spec/exportRTs", value: ["1:1"] },
      { op: "add", path: "/spec/exportRTs/-", value: "1:3" },
      { op: "add", path: "/spec/exportRTs/1", value: "1:2" },
      { op: "copy", from: "/spec/exportRTs", path: "/spec/importRTs" },
      { op: "remove", path: "/spec/importRTs/0" },
      { op: "add", path: "/metadata/annotations", value: { "example.com/a": "b" } },
      { op: "move", from: "/metadata/annotations/example.com~1a", path: "/metadata/annotations/c" },
    ]);
    expect(json).toMatchObject({
      metadata: { annotations: { c: "b" } },
      spec: { vni: 101, exportRTs: ["1:1", "1:2", "1:3"], importRTs: ["1:2", "1:3"] },
    });
    await server().patch(path, JSON_PATCH, [
      { op: "replace", path: "/spec/vni", value: 102 },
      { op: "test", path: "/spec/vrf", value: "blue" },
    ]);
    expect((await server().send("GET", path)).json["spec"]).toMatchObject({ vni: 101 });
  });

  test("a strategic merge patch merges containers and their ports by name", async () => {
    const ns = await server().namespace();
    const path = `${paths.deployments(ns)}/web`;
    const containers = [
      { name: "a", image: "a:1", env: [{ name: "X", value: "1" }] },
      { name: "b", image: "b:1", ports: [{ containerPort: 80, name: "http" }] },
    ];
    await server().send("POST", paths.deployments(ns), deployment("web", containers));
    const patch = {
      spec: {
        template: {
          spec: {
            containers: [
              { name: "b", image: "b:2", ports: [{ containerPort: 443, name: "https" }] },
              { name: "c", image: "c:1" },
              {
                name: "a",
                env: [
                  { name: "X", $patch: "delete" },
                  { name: "Y", value: "2" },
                ],
              },
            ],
          },
        },
      },
    };
    const { status, json } = await server().patch(path, STRATEGIC, patch);
    expect(status).toBe(200);
    const patched = (json as unknown as { spec: { template: { spec: { containers: { name: string }[] } } } }).spec.template.spec.containers;
    const named = Object.fromEntries(patched.map((container) => [container.name, container]));
    expect(Object.keys(named).sort()).toEqual(["a", "b", "c"]);
    expect(named["a"]).toMatchObject({ image: "a:1", env: [{ name: "Y", value: "2" }] });
    const { ports } = named["b"] as unknown as { ports: { containerPort: number }[] };
    expect(named["b"]).toMatchObject({ image: "b:2" });
    expect(new Set(ports.map(({ containerPort }) => containerPort))).toEqual(new Set([80, 443]));
    const removed = await server().patch(path, STRATEGIC, {
      spec: { template: { spec: { containers: [{ name: "c", $patch: "delete" }] } } },
    });
    expect(
      (removed.json as unknown as { spec: { template: { spec: { containers: unknown[] } } } }).spec.template.spec.containers,
    ).toHaveLength(2);
  });

  test("a strategic merge patch merges conditions by type, and replaces with the directive", async () => {
    const ns = await server().namespace();
    const name = `n-${ns}`;
    await server().send(
      "POST",
      paths.nodes,
      core("Node", name, { status: { conditions: [condition("Ready", "True"), condition("Other", "True")] } }),
    );
    const path = `${paths.nodes}/${name}/status`;
    const merged = await server().patch(path, STRATEGIC, { status: { conditions: [{ type: "Ready", status: "False" }] } });
    expect(
      conditions(merged.json)
        .map(({ type, status }) => `${type}=${status}`)
        .sort(),
    ).toEqual(["Other=True", "Ready=False"]);
    const replaced = await server().patch(path, STRATEGIC, {
      status: { conditions: [{ $patch: "replace" }, { type: "New", status: "True" }] },
    });
    expect(conditions(replaced.json).map(({ type }) => type)).toEqual(["New"]);
  });

  test("a strategic merge patch adds to finalizers and takes from them by name", async () => {
    const ns = await server().namespace();
    const path = `${paths.maps(ns)}/m`;
    await server().send("POST", paths.maps(ns), map("m", { other: "that" }, { finalizers: ["a.io/x"] }));
    const added = await server().patch(path, STRATEGIC, { metadata: { finalizers: ["b.io/y", "a.io/x"] } });
    expect(finalizers(added.json)?.sort()).toEqual(["a.io/x", "b.io/y"]);
    const taken = await server().patch(path, STRATEGIC, { metadata: { "$deleteFromPrimitiveList/finalizers": ["a.io/x"] } });
    expect(finalizers(taken.json)).toEqual(["b.io/y"]);
    const replaced = await server().patch(path, STRATEGIC, { data: { $patch: "replace", only: "this" } });
    expect(replaced.json["data"]).toEqual({ only: "this" });
  });
}
