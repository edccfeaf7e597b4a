import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/api/admission/value.ts";
import { lease, map, nodeStatus, paths, vni } from "./objects.ts";
import { MERGE, type Conforming } from "./servers.ts";
import { name, statusOfError, errorStatus } from "./status.ts";

const GROUP = "openpe.openperouter.github.io";

const qualified =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const unchecked =
  "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

export function errorTests(server: () => Conforming): void {
  test("a missing object", async () => {
    const ns = await server().namespace();
    expect(statusOfError(await server().send("GET", `${paths.vnis(ns)}/none`))).toEqual(
      errorStatus(404, "NotFound", `l3vnis.${GROUP} "none" not found`, { name: "none", group: GROUP, kind: "l3vnis" }),
    );
    expect(statusOfError(await server().send("DELETE", `${paths.maps(ns)}/none`))).toEqual(
      errorStatus(404, "NotFound", 'configmaps "none" not found', { name: "none", kind: "configmaps" }),
    );
    expect(statusOfError(await server().patch(`${paths.vnis(ns)}/none`, MERGE, {}))).toMatchObject({ http: 404 });
    expect(statusOfError(await server().send("POST", paths.maps("nowhere"), map("a")))).toEqual(
      errorStatus(404, "NotFound", 'namespaces "nowhere" not found', { name: "nowhere", kind: "namespaces" }),
    );
    expect(statusOfError(await server().send("GET", "/api/v1/nonsense"))).toEqual(
      errorStatus(404, "NotFound", "the server could not find the requested resource", {}),
    );
    expect(statusOfError(await server().send("GET", `${paths.vnis(ns)}/none/scale`))).toMatchObject({ http: 404 });
    expect((await server().send("GET", "/nonsense")).text).toBe("404 page not found\n");
  });

  test("an existing object", async () => {
    const ns = await server().namespace();
    await server().send("POST", paths.vnis(ns), vni("red"));
    expect(statusOfError(await server().send("POST", paths.vnis(ns), vni("red")))).toEqual(
      errorStatus(409, "AlreadyExists", `l3vnis.${GROUP} "red" already exists`, { name: "red", group: GROUP, kind: "l3vnis" }),
    );
  });

  test("an outdated resourceVersion", async () => {
    const ns = await server().namespace();
    const { json } = await server().send("POST", paths.vnis(ns), vni("red"));
    await server().patch(`${paths.vnis(ns)}/red`, MERGE, { spec: { vni: 7 } });
    const message = `Operation cannot be fulfilled on l3vnis.${GROUP} "red": the object has been modified; please apply your changes to the latest version and try again`;
    const stale = errorStatus(409, "Conflict", message, { name: "red", group: GROUP, kind: "l3vnis" });
    expect(statusOfError(await server().send("PUT", `${paths.vnis(ns)}/red`, json))).toEqual(stale);
    const { resourceVersion } = json["metadata"] as { resourceVersion: string };
    expect(statusOfError(await server().patch(`${paths.vnis(ns)}/red`, MERGE, { metadata: { resourceVersion } }))).toEqual(stale);
    expect(statusOfError(await server().patch(`${paths.vnis(ns)}/red/status`, MERGE, { metadata: { resourceVersion } }))).toEqual(stale);
    const other = { ...json, metadata: { ...(json["metadata"] as object), uid: "other" } };
    expect(statusOfError(await server().send("PUT", `${paths.vnis(ns)}/red`, other))).toMatchObject({
      http: 409,
      json: { reason: "Conflict", message: expect.stringContaining("Precondition failed: UID in precondition: other") as string },
    });
  });

  test("a replacement without its resourceVersion, if the kind requires it", async () => {
    const ns = await server().namespace();
    await server().send("POST", paths.vnis(ns), vni("red"));
    const field = "metadata.resourceVersion";
    const why = "Invalid value: 0: must be specified for an update";
    expect(statusOfError(await server().send("PUT", `${paths.vnis(ns)}/red`, vni("red")))).toEqual(
      errorStatus(422, "Invalid", `l3vnis.${GROUP} "red" is invalid: ${field}: ${why}`, {
        name: "red",
        group: GROUP,
        kind: "l3vnis",
        causes: name(["FieldValueInvalid", why, field]),
      }),
    );
    await server().send("POST", paths.leases(ns), lease("l"));
    expect((await server().send("PUT", `${paths.leases(ns)}/l`, lease("l"))).status).toBe(422);
  });

  test("all errors of a custom object at once", async () => {
    const ns = await server().namespace();
    const body = vni("Red_", { vni: 0, vrf: "0x", hostsession: { asn: 1 } }, { labels: { "a b": "ok" }, finalizers: ["a b"] });
    const answer = await server().send("POST", paths.vnis(ns), body);
    const subdomain =
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    expect(answer.json["details"]).toEqual({
      name: "Red_",
      group: GROUP,
      kind: "L3VNI",
      causes: expect.arrayContaining(
        name(
          ["FieldValueInvalid", `Invalid value: "Red_": ${subdomain}`, "metadata.name"],
          ["FieldValueInvalid", `Invalid value: "a b": ${qualified}`, "metadata.labels"],
          ["FieldValueInvalid", `Invalid value: "a b": ${qualified}`, "metadata.finalizers"],
          ["FieldValueInvalid", "Invalid value: 0: spec.vni in body should be greater than or equal to 1", "spec.vni"],
          ["FieldValueInvalid", "Invalid value: \"0x\": spec.vrf in body should match '^[a-zA-Z][a-zA-Z0-9_-]*$'", "spec.vrf"],
          ["FieldValueRequired", "Required value", "spec.hostsession.localcidr"],
          ["FieldValueInvalid", unchecked, "<nil>"],
        ),
      ) as unknown,
    });
    expect((answer.json["details"] as { causes: unknown[] }).causes).toHaveLength(7);
    expect([answer.status, answer.json["reason"]]).toEqual([422, "Invalid"]);
  });

  test("a status that violates its schema", async () => {
    const ns = await server().namespace();
    await server().send("POST", paths.statuses(ns), nodeStatus("n1"));
    const answer = await server().patch(`${paths.statuses(ns)}/n1/status`, MERGE, {
      status: { conditions: [{ type: "Ready", status: "Yes" }] },
    });
    expect(answer.json).toMatchObject({ code: 422, reason: "Invalid", details: { name: "n1", kind: "RouterNodeConfigurationStatus" } });
    const { causes } = answer.json["details"] as { causes: { field: string; reason: string }[] };
    expect(causes.map(({ field, reason }) => `${reason} ${field}`).sort()).toEqual([
      "FieldValueNotSupported status.conditions[0].status",
      "FieldValueRequired status.conditions[0].lastTransitionTime",
      "FieldValueRequired status.conditions[0].message",
      "FieldValueRequired status.conditions[0].reason",
    ]);
  });

  test.each<[string, JsonObject, string]>([
    ["no name at all", { name: undefined }, "metadata.name: Required value: name or generateName is required"],
    ["a bad label value", { labels: { a: "b c" } }, 'metadata.labels: Invalid value: "b c": a valid label must be an empty string'],
    ["a bad annotation", { annotations: { "a b": "" } }, 'metadata.annotations: Invalid value: "a b": name part must consist'],
    [
      "an owner without a uid",
      { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n" }] },
      "metadata.ownerReferences[0].uid: Required value: must not be empty",
    ],
    [
      "two controllers",
      { ownerReferences: ["a", "b"].map((uid) => ({ apiVersion: "v1", kind: "Node", name: uid, uid, controller: true })) },
      "Only one reference can have Controller set to true",
    ],
    ["a name that is too long", { name: "a".repeat(254) }, "must be no more than 253 characters"],
    [
      "contradicting finalizers",
      { finalizers: ["orphan", "foregroundDeletion"] },
      "finalizer orphan and foregroundDeletion cannot be both set",
    ],
  ])("metadata with %s", async (_what, metadata, message) => {
    const ns = await server().namespace();
    const custom = await server().send("POST", paths.vnis(ns), vni("a", {}, metadata));
    const builtin = await server().send("POST", paths.maps(ns), map("a", {}, metadata));
    expect([custom.status, builtin.status]).toEqual([422, 422]);
    expect(custom.json["message"]).toContain(message);
    expect(builtin.json["message"]).toContain(message);
  });

  test.each<[string, JsonObject, string]>([
    [
      "labels that are not strings",
      { labels: { a: 1 } },
      "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
    ],
    ["a name that is not a string", { name: 5 }, "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"],
    [
      "finalizers that are not a list",
      { finalizers: {} },
      "json: cannot unmarshal object into Go struct field ObjectMeta.finalizers of type []string",
    ],
  ])("metadata with %s", async (_what, metadata, why) => {
    const ns = await server().namespace();
    const custom = await server().send("POST", paths.vnis(ns), vni("a", {}, metadata));
    expect(statusOfError(custom)).toEqual(
      errorStatus(400, "BadRequest", `L3VNI in version "v1alpha1" cannot be handled as a L3VNI: ${why}`),
    );
    const builtin = await server().send("POST", paths.maps(ns), map("a", {}, metadata));
    const within = why.replace("ObjectMeta.", "ObjectMeta.metadata.");
    expect(statusOfError(builtin)).toEqual(
      errorStatus(400, "BadRequest", `ConfigMap in version "v1" cannot be handled as a ConfigMap: ${within}`),
    );
  });

  test.each<[string, JsonObject]>([
    ["uid", { uid: "x" }],
    ["deletionTimestamp", { deletionTimestamp: "2001-01-01T00:00:00Z" }],
  ])("a patch of metadata.%s, which the server manages", async (field, metadata) => {
    const ns = await server().namespace();
    await server().send("POST", paths.vnis(ns), vni("red"));
    const value = JSON.stringify(Object.values(metadata)[0]);
    const why = `Invalid value: ${value}: field is immutable`;
    const causes = name(["FieldValueInvalid", why, `metadata.${field}`], ["FieldValueInvalid", why, `metadata.${field}`]);
    expect(statusOfError(await server().patch(`${paths.vnis(ns)}/red`, MERGE, { metadata }))).toEqual(
      errorStatus(422, "Invalid", `L3VNI.${GROUP} "red" is invalid: metadata.${field}: ${why}`, {
        name: "red",
        group: GROUP,
        kind: "L3VNI",
        causes,
      }),
    );
  });
}
