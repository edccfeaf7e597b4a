import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/api/admission/value.ts";
import { differs } from "./differences.ts";
import { core, lease, map, nodeStatus, paths, vni } from "./objects.ts";
import { JSON_PATCH, MERGE, type Answer, type Conforming } from "./servers.ts";

const GROUP = "openpe.openperouter.github.io";

/** The Status of a refusal, in full. */
const failure = (code: number, reason: string, message: unknown, details?: JsonObject) => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  message,
  reason,
  ...(details && { details }),
  code,
});
const refusal = ({ status, json }: Answer) => ({ http: status, json });
const refused = (code: number, reason: string, message: unknown, details?: JsonObject) => ({
  http: code,
  json: failure(code, reason, message, details),
});

const bad = (message: string) => refused(400, "BadRequest", message);

const name = (...causes: [reason: string, message: string, field: string][]) =>
  causes.map(([reason, message, field]) => ({ reason, message, field }));
const options = (kind: string, field: string, message: string, reason = "FieldValueNotSupported") =>
  refused(422, "Invalid", `${kind}.meta.k8s.io "" is invalid: ${field}: ${message}`, {
    group: "meta.k8s.io",
    kind,
    causes: name([reason, message, field]),
  });

const qualified =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const unchecked =
  "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

export function refusals(server: () => Conforming): void {
  test("what is not there", async () => {
    const ns = await server().namespace();
    expect(refusal(await server().send("GET", `${paths.vnis(ns)}/none`))).toEqual(
      refused(404, "NotFound", `l3vnis.${GROUP} "none" not found`, { name: "none", group: GROUP, kind: "l3vnis" }),
    );
    expect(refusal(await server().send("DELETE", `${paths.maps(ns)}/none`))).toEqual(
      refused(404, "NotFound", 'configmaps "none" not found', { name: "none", kind: "configmaps" }),
    );
    expect(refusal(await server().patch(`${paths.vnis(ns)}/none`, MERGE, {}))).toMatchObject({ http: 404 });
    expect(refusal(await server().send("POST", paths.maps("nowhere"), map("a")))).toEqual(
      refused(404, "NotFound", 'namespaces "nowhere" not found', { name: "nowhere", kind: "namespaces" }),
    );
    expect(refusal(await server().send("GET", "/api/v1/nonsense"))).toEqual(
      refused(404, "NotFound", "the server could not find the requested resource", {}),
    );
    expect(refusal(await server().send("GET", `${paths.vnis(ns)}/none/scale`))).toMatchObject({ http: 404 });
    expect((await server().send("GET", "/nonsense")).text).toBe("404 page not found\n");
  });

  test("what is there already", async () => {
    const ns = await server().namespace();
    await server().send("POST", paths.vnis(ns), vni("red"));
    expect(refusal(await server().send("POST", paths.vnis(ns), vni("red")))).toEqual(
      refused(409, "AlreadyExists", `l3vnis.${GROUP} "red" already exists`, { name: "red", group: GROUP, kind: "l3vnis" }),
    );
  });

  test("what has moved on", async () => {
    const ns = await server().namespace();
    const { json } = await server().send("POST", paths.vnis(ns), vni("red"));
    await server().patch(`${paths.vnis(ns)}/red`, MERGE, { spec: { vni: 7 } });
    const message = `Operation cannot be fulfilled on l3vnis.${GROUP} "red": the object has been modified; please apply your changes to the latest version and try again`;
    const stale = refused(409, "Conflict", message, { name: "red", group: GROUP, kind: "l3vnis" });
    expect(refusal(await server().send("PUT", `${paths.vnis(ns)}/red`, json))).toEqual(stale);
    const { resourceVersion } = json["metadata"] as { resourceVersion: string };
    expect(refusal(await server().patch(`${paths.vnis(ns)}/red`, MERGE, { metadata: { resourceVersion } }))).toEqual(stale);
    expect(refusal(await server().patch(`${paths.vnis(ns)}/red/status`, MERGE, { metadata: { resourceVersion } }))).toEqual(stale);
    const other = { ...json, metadata: { ...(json["metadata"] as object), uid: "other" } };
    expect(refusal(await server().send("PUT", `${paths.vnis(ns)}/red`, other))).toMatchObject({
      http: 409,
      json: { reason: "Conflict", message: expect.stringContaining("Precondition failed: UID in precondition: other") as string },
    });
  });

  test("a replacement without its resourceVersion, where the kind insists on one", async () => {
    const ns = await server().namespace();
    await server().send("POST", paths.vnis(ns), vni("red"));
    const field = "metadata.resourceVersion";
    const why = "Invalid value: 0: must be specified for an update";
    expect(refusal(await server().send("PUT", `${paths.vnis(ns)}/red`, vni("red")))).toEqual(
      refused(422, "Invalid", `l3vnis.${GROUP} "red" is invalid: ${field}: ${why}`, {
        name: "red",
        group: GROUP,
        kind: "l3vnis",
        causes: name(["FieldValueInvalid", why, field]),
      }),
    );
    await server().send("POST", paths.leases(ns), lease("l"));
    expect((await server().send("PUT", `${paths.leases(ns)}/l`, lease("l"))).status).toBe(422);
  });

  test("everything that is wrong with a custom object, at once", async () => {
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
          ["FieldValueRequired", "Required value", "spec.hostsession.hostasn"],
          ["FieldValueRequired", "Required value", "spec.hostsession.localcidr"],
          ["FieldValueInvalid", unchecked, "<nil>"],
        ),
      ) as unknown,
    });
    expect((answer.json["details"] as { causes: unknown[] }).causes).toHaveLength(8);
    expect([answer.status, answer.json["reason"]]).toEqual([422, "Invalid"]);
  });

  test("a status that does not fit its schema", async () => {
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
      "labels that are no texts",
      { labels: { a: 1 } },
      "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
    ],
    ["a name that is no text", { name: 5 }, "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"],
    [
      "finalizers that are no list",
      { finalizers: {} },
      "json: cannot unmarshal object into Go struct field ObjectMeta.finalizers of type []string",
    ],
  ])("metadata with %s", async (_what, metadata, why) => {
    const ns = await server().namespace();
    const custom = await server().send("POST", paths.vnis(ns), vni("a", {}, metadata));
    expect(refusal(custom)).toEqual(refused(400, "BadRequest", `L3VNI in version "v1alpha1" cannot be handled as a L3VNI: ${why}`));
    const builtin = await server().send("POST", paths.maps(ns), map("a", {}, metadata));
    const within = why.replace("ObjectMeta.", "ObjectMeta.metadata.");
    expect(refusal(builtin)).toEqual(refused(400, "BadRequest", `ConfigMap in version "v1" cannot be handled as a ConfigMap: ${within}`));
  });

  test.each<[string, JsonObject]>([
    ["uid", { uid: "x" }],
    ["deletionTimestamp", { deletionTimestamp: "2001-01-01T00:00:00Z" }],
  ])("a patch of metadata.%s, which is the server's", async (field, metadata) => {
    const ns = await server().namespace();
    await server().send("POST", paths.vnis(ns), vni("red"));
    const value = JSON.stringify(Object.values(metadata)[0]);
    const why = `Invalid value: ${value}: field is immutable`;
    const causes = name(["FieldValueInvalid", why, `metadata.${field}`], ["FieldValueInvalid", why, `metadata.${field}`]);
    expect(refusal(await server().patch(`${paths.vnis(ns)}/red`, MERGE, { metadata }))).toEqual(
      refused(422, "Invalid", `L3VNI.${GROUP} "red" is invalid: metadata.${field}: ${why}`, {
        name: "red",
        group: GROUP,
        kind: "L3VNI",
        causes,
      }),
    );
  });

  test("what does not fit its path", async () => {
    const ns = await server().namespace();
    const { json } = await server().send("POST", paths.vnis(ns), vni("red"));
    const put = (metadata: JsonObject) =>
      server().send("PUT", `${paths.vnis(ns)}/red`, { ...json, metadata: { ...(json["metadata"] as object), ...metadata } });
    expect(refusal(await put({ name: "blue" }))).toEqual(bad("the name of the object (blue) does not match the name on the URL (red)"));
    expect(refusal(await put({ name: undefined }))).toEqual(
      bad("the name of the object (red based on URL) was undeterminable: name must be provided"),
    );
    const elsewhere = bad("the namespace of the provided object does not match the namespace sent on the request");
    expect(refusal(await put({ namespace: "default" }))).toEqual(elsewhere);
    expect(refusal(await server().send("POST", paths.vnis(ns), vni("a", {}, { namespace: "default" })))).toEqual(elsewhere);
    expect(refusal(await server().send("POST", paths.vnis(ns), { ...vni("a"), apiVersion: "v1" }))).toEqual(
      bad(`the API version in the data (v1) does not match the expected API version (${GROUP}/v1alpha1)`),
    );
    expect(refusal(await server().send("POST", paths.vnis(ns), { ...vni("a"), kind: "Foo" }))).toMatchObject({
      http: 422,
      json: { message: `Foo.${GROUP} "a" is invalid: kind: Invalid value: "Foo": must be L3VNI`, details: { kind: "Foo", name: "a" } },
    });
    expect(refusal(await server().send("POST", paths.maps(ns), { ...map("a"), kind: "Secret" }))).toMatchObject({
      http: 400,
      json: { message: expect.stringMatching(/^Secret in version "v1" cannot be handled as a ConfigMap: /) as string },
    });
    expect(refusal(await server().send("PATCH", paths.vnis(ns), {}, { "content-type": MERGE }))).toEqual(bad("name must be provided"));
  });

  test("bodies that are no objects", async () => {
    const ns = await server().namespace();
    const unrecognized = /^the object provided is unrecognized \(must be of type (L3VNI|ConfigMap)\): /;
    for (const path of [paths.vnis(ns), paths.maps(ns)]) {
      for (const body of ["{bad", "[]", '"x"', ""]) {
        const message = expect.stringMatching(unrecognized) as string;
        expect(refusal(await server().send("POST", path, body))).toEqual(refused(400, "BadRequest", message));
      }
    }
    const kindless = { metadata: { name: "a" } };
    const shown = JSON.stringify(kindless);
    expect(refusal(await server().send("POST", paths.vnis(ns), kindless))).toEqual(
      refused(
        400,
        "BadRequest",
        `the object provided is unrecognized (must be of type L3VNI): Object 'Kind' is missing in '${shown}' (${shown})`,
      ),
    );
    expect((await server().send("POST", paths.maps(ns), kindless)).status).toBe(201);
    expect(refusal(await server().send("DELETE", `${paths.maps(ns)}/a`, "{bad"))).toMatchObject({
      http: 400,
      json: { reason: "BadRequest" },
    });
  });

  test("patches that cannot be read or carried out", async () => {
    const ns = await server().namespace();
    const path = `${paths.vnis(ns)}/red`;
    await server().send("POST", paths.vnis(ns), vni("red"));
    expect(refusal(await server().patch(path, MERGE, "{bad"))).toEqual(refused(400, "BadRequest", "invalid JSON patch"));
    expect(refusal(await server().patch(path, MERGE, "[]"))).toEqual(
      refused(400, "BadRequest", "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
    );
    const invalid = refused(422, "Invalid", "the server rejected our request due to an error in our request", {});
    const test = [{ op: "test", path: "/spec/vni", value: 1 }];
    for (const patch of [
      test,
      [{ op: "remove", path: "/spec/none" }],
      [{ op: "add", path: "/spec/a/b", value: 1 }],
      [{ op: "jump", path: "/spec" }],
    ]) {
      expect(refusal(await server().patch(path, JSON_PATCH, patch))).toEqual(invalid);
    }
    expect(refusal(await server().patch(path, JSON_PATCH, { op: "add" }))).toMatchObject({ http: 400 });
    expect(refusal(await server().patch(path, MERGE, { metadata: { name: "blue" } }))).toMatchObject({ http: 400 });
    const labels = await server().patch(path, MERGE, { metadata: { labels: { a: 1 } } });
    expect([labels.status, labels.json["message"]]).toEqual([
      422,
      expect.stringMatching(
        /^ "" is invalid: patch: Invalid value: .*: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string$/,
      ) as string,
    ]);
  });

  test("media types that are not known", async () => {
    const ns = await server().namespace();
    await server().send("POST", paths.vnis(ns), vni("red"));
    const unknown = /^the body of the request was in an unknown format - accepted media types include: application\/json/;
    const unsupported = refused(415, "UnsupportedMediaType", expect.stringMatching(unknown));
    expect(refusal(await server().send("POST", paths.vnis(ns), vni("b"), { "content-type": "text/plain" }))).toEqual(unsupported);
    expect(refusal(await server().patch(`${paths.vnis(ns)}/red`, "application/json", {}))).toEqual(unsupported);
    expect(refusal(await server().patch(`${paths.vnis(ns)}/red`, "application/strategic-merge-patch+json", {}))).toEqual(unsupported);
    const apply = await server().send("PATCH", `${paths.vnis(ns)}/red?fieldManager=x&force=true`, vni("red"), {
      "content-type": "application/apply-patch+yaml",
    });
    expect(apply.status).toBe(differs(server(), "managedFields", { embedded: 415, cluster: 200 }));
    const html = await server().send("GET", paths.vnis(ns), undefined, { accept: "text/html" });
    expect([html.status, html.json["reason"]]).toEqual([406, "NotAcceptable"]);
  });

  test("methods that a path does not have", async () => {
    const ns = await server().namespace();
    await server().send("POST", paths.vnis(ns), vni("red"));
    expect(refusal(await server().send("DELETE", `${paths.vnis(ns)}/red/status`))).toEqual(
      refused(405, "MethodNotAllowed", `delete is not supported on resources of kind "l3vnis.${GROUP}"`, { group: GROUP, kind: "l3vnis" }),
    );
    const generic = refused(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {});
    expect(refusal(await server().send("PUT", paths.maps(ns), map("a")))).toEqual(generic);
    expect(refusal(await server().send("POST", "/api/v1/configmaps", map("a")))).toEqual(generic);
    expect(refusal(await server().send("DELETE", paths.namespaces))).toEqual(generic);
  });

  test("options that are not known", async () => {
    const ns = await server().namespace();
    expect(refusal(await server().send("POST", `${paths.vnis(ns)}?fieldValidation=Foo`, vni("a")))).toEqual(
      options("CreateOptions", "fieldValidation", 'Unsupported value: "Foo": supported values: "", "Ignore", "Strict", "Warn"'),
    );
    expect(refusal(await server().send("POST", `${paths.vnis(ns)}?dryRun=foo`, vni("a")))).toEqual(
      options("CreateOptions", "dryRun", 'Unsupported value: ["foo"]: supported values: "All"'),
    );
    expect(refusal(await server().send("GET", `${paths.vnis(ns)}?resourceVersionMatch=Exact`))).toEqual(
      options(
        "ListOptions",
        "resourceVersionMatch",
        "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
        "FieldValueForbidden",
      ),
    );
    await server().send("POST", paths.vnis(ns), vni("a"));
    expect(refusal(await server().send("DELETE", `${paths.vnis(ns)}/a`, { propagationPolicy: "foo" }))).toEqual(
      options(
        "DeleteOptions",
        "propagationPolicy",
        'Unsupported value: "foo": supported values: "Foreground", "Background", "Orphan", "nil"',
      ),
    );
  });

  test("what is immutable", async () => {
    const ns = await server().namespace();
    await server().send("POST", paths.maps(ns), { ...map("m"), immutable: true });
    expect((await server().patch(`${paths.maps(ns)}/m`, MERGE, { data: { a: "c" } })).json["message"]).toBe(
      'ConfigMap "m" is invalid: data: Forbidden: field is immutable when `immutable` is set',
    );
    await server().send("POST", paths.secrets(ns), core("Secret", "s", {}));
    expect((await server().patch(`${paths.secrets(ns)}/s`, MERGE, { type: "other" })).json["message"]).toBe(
      'Secret "s" is invalid: type: Invalid value: "other": field is immutable',
    );
  });

  test("a body beyond all measure", async () => {
    const ns = await server().namespace();
    const answer = await server()
      .send("POST", paths.maps(ns), map("huge", { a: "x".repeat(4 * 1024 * 1024) }))
      .catch(() => undefined);
    // Either answer it or hang up on it: both servers do either, depending on how much was sent when it was refused.
    expect([413, undefined]).toContain(answer?.status);
    expect((await server().send("GET", `${paths.maps(ns)}/huge`)).status).toBe(404);
  });
}
