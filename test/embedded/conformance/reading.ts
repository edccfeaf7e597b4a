import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/api/admission/value.ts";
import { differs } from "./differences.ts";
import { core, map, paths, vni } from "./objects.ts";
import { MERGE, type Answer, type Conforming } from "./servers.ts";

interface List extends JsonObject {
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
  items: { kind?: string; metadata: { name: string; namespace: string } }[];
}
const listOf = ({ json }: Answer) => json as List;
const names = (answer: Answer) => listOf(answer).items.map(({ metadata }) => metadata.name);

export function reading(server: () => Conforming): void {
  const select = (path: string, selector: string) => server().send("GET", `${path}?fieldSelector=${encodeURIComponent(selector)}`);

  async function filled(): Promise<string> {
    const ns = await server().namespace();
    for (const [name, labels] of Object.entries({
      a: { app: "a", tier: "web", size: "3" },
      "a-b": { app: "b", tier: "web", size: "20" },
      b: { app: "b" },
      c: {},
    })) {
      await server().send("POST", paths.vnis(ns), vni(name, {}, { labels }));
    }
    return ns;
  }

  test("a list is sorted and has its resourceVersion", async () => {
    const ns = await filled();
    const answer = await server().send("GET", paths.vnis(ns));
    expect(answer.json).toMatchObject({ kind: "L3VNIList", apiVersion: "openpe.openperouter.github.io/v1alpha1" });
    expect(names(answer)).toEqual(["a", "a-b", "b", "c"]);
    expect([listOf(answer).metadata.resourceVersion, listOf(answer).metadata.continue || undefined]).toEqual([
      expect.stringMatching(/^\d+$/) as string,
      undefined,
    ]);
    expect(listOf(answer).items[0]?.kind).toBe("L3VNI");
    const everywhere = listOf(await server().send("GET", "/apis/openpe.openperouter.github.io/v1alpha1/l3vnis"));
    expect(everywhere.items.filter(({ metadata }) => metadata.namespace === ns)).toHaveLength(4);
    expect(names(await server().send("GET", paths.vnis("nowhere")))).toEqual([]);
    await server().send("POST", paths.leases(ns), { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "l" } });
    const kind = differs<unknown>(server(), "listItems", { embedded: "Lease", cluster: undefined });
    expect(listOf(await server().send("GET", paths.leases(ns))).items[0]?.kind).toEqual(kind);
  });

  test.each([
    ["app=b", ["a-b", "b"]],
    ["app==b,tier", ["a-b"]],
    ["app!=b", ["a", "c"]],
    ["app in (a, b),!tier", ["b"]],
    ["app notin (b)", ["a", "c"]],
    ["!app", ["c"]],
    ["tier", ["a", "a-b"]],
    ["size>5", ["a-b"]],
    ["size<5", ["a"]],
    ["app in ()", []],
    ["app=", []],
    ["", ["a", "a-b", "b", "c"]],
  ])("the label selector %j selects %j", async (selector, expected) => {
    const ns = await filled();
    expect(names(await server().send("GET", `${paths.vnis(ns)}?labelSelector=${encodeURIComponent(selector)}`))).toEqual(expected);
  });

  test.each([
    ["a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ["app in", "unable to parse requirement: found '' expected: '('"],
    ["app in (a", "unable to parse requirement: found '', expected: ',' or ')'"],
    ["=a", "found '=', expected: !, identifier, or 'end of string'"],
    ["app=a b", "found 'b', expected: ',' or 'end of string'"],
    ["app=a,,b=c", "found ',', expected: identifier after ','"],
    [",app=a", "found ',', expected: !, identifier, or 'end of string'"],
  ])("the label selector %j is rejected", async (selector, message) => {
    const answer = await server().send("GET", `${paths.maps("default")}?labelSelector=${encodeURIComponent(selector)}`);
    expect([answer.status, answer.json["reason"], answer.json["message"]]).toEqual([400, "BadRequest", message]);
  });

  test("field selectors support name, namespace and the object of an Event", async () => {
    const ns = await filled();
    expect(names(await select(paths.vnis(ns), "metadata.name=a"))).toEqual(["a"]);
    expect(names(await select(paths.vnis(ns), `metadata.name!=a,metadata.namespace=${ns}`))).toEqual(["a-b", "b", "c"]);
    expect((await select(paths.vnis(ns), "spec.vni=1")).json["message"]).toBe("field label not supported: spec.vni");
    expect((await select(paths.maps(ns), "spec.x=1")).json["message"]).toBe(
      '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
    );
    expect((await select(paths.maps(ns), "metadata.name")).json["message"]).toBe(
      "invalid selector: 'metadata.name'; can't understand 'metadata.name'",
    );
    for (const name of ["n1", "n2"]) {
      const involvedObject = { kind: "Node", name, uid: name, namespace: ns };
      await server().send("POST", paths.events(ns), core("Event", name, { involvedObject, reason: "R", message: "M", type: "Normal" }));
    }
    expect(names(await select(paths.events(ns), "involvedObject.kind=Node,involvedObject.name=n2,type=Normal"))).toEqual(["n2"]);
  });

  test("a paged list shows one resourceVersion, whatever happens between the pages", async () => {
    const ns = await filled();
    const first = await server().send("GET", `${paths.vnis(ns)}?limit=2`);
    expect([names(first), listOf(first).metadata.remainingItemCount]).toEqual([["a", "a-b"], 2]);
    await server().send("DELETE", `${paths.vnis(ns)}/b`);
    await server().send("POST", paths.vnis(ns), vni("bb"));
    await server().patch(`${paths.vnis(ns)}/c`, MERGE, { spec: { vni: 7 } });
    const token = encodeURIComponent(listOf(first).metadata.continue ?? "");
    const second = await server().send("GET", `${paths.vnis(ns)}?limit=2&continue=${token}`);
    expect(names(second)).toEqual(["b", "c"]);
    expect((listOf(second).items[1] as unknown as { spec: { vni: number } }).spec.vni).toBe(100);
    expect([listOf(second).metadata.resourceVersion, listOf(second).metadata.continue || undefined]).toEqual([
      listOf(first).metadata.resourceVersion,
      undefined,
    ]);
    const selected = await server().send("GET", `${paths.vnis(ns)}?limit=1&labelSelector=tier`);
    expect([names(selected), listOf(selected).metadata.remainingItemCount]).toEqual([["a"], undefined]);

    const mixed = await server().send("GET", `${paths.vnis(ns)}?limit=2&resourceVersion=5&continue=${token}`);
    expect(mixed.json["message"]).toBe("specifying resource version is not allowed when using continue");
    const broken = await server().send("GET", `${paths.vnis(ns)}?limit=2&continue=abc`);
    expect([broken.status, broken.json["message"]]).toEqual([400, expect.stringMatching(/continue/) as string]);
    const number = await server().send("GET", `${paths.vnis(ns)}?limit=abc`);
    expect([number.status, number.json["message"]]).toEqual([400, 'strconv.ParseInt: parsing "abc": invalid syntax']);
  });

  test("an invalid or future resourceVersion is rejected", async () => {
    const bad = await server().send("GET", `${paths.maps("default")}?resourceVersion=abc`);
    expect([bad.status, bad.json["message"]]).toEqual([
      400,
      'invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    ]);
    const ahead = await server().send("GET", `${paths.maps("default")}?resourceVersion=999999999999`);
    expect(ahead.json).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: expect.stringMatching(/^Timeout: Too large resource version: 999999999999, current: \d+$/) as string,
      reason: "Timeout",
      details: { causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }], retryAfterSeconds: 1 },
      code: 504,
    });
    expect(ahead.headers["retry-after"]).toBe("1");
  });

  test("PartialObjectMetadata is served", async () => {
    const ns = await server().namespace();
    await server().send("POST", paths.maps(ns), map("m"));
    const one = await server().send("GET", `${paths.maps(ns)}/m`, undefined, {
      accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    });
    expect(one.json).toEqual({
      kind: "PartialObjectMetadata",
      apiVersion: "meta.k8s.io/v1",
      metadata: expect.objectContaining({ name: "m" }) as unknown,
    });
    const all = await server().send("GET", `${paths.maps(ns)}?fieldSelector=metadata.name%3Dm`, undefined, {
      accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    });
    expect(all.json).toMatchObject({
      kind: "PartialObjectMetadataList",
      items: [{ kind: "PartialObjectMetadata", metadata: { name: "m" } }],
    });
  });

  test("HEAD returns the headers of GET", async () => {
    const ns = await filled();
    const there = await server().send("HEAD", `${paths.vnis(ns)}/a`);
    expect([there.status, there.text]).toEqual([200, ""]);
    expect((await server().send("HEAD", `${paths.vnis(ns)}/none`)).status).toBe(404);
  });
}
