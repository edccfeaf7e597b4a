import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/api/admission/value.ts";
import { differs } from "./differences.ts";
import { core, map, paths, vni } from "./objects.ts";
import { JSON_PATCH, MERGE, type Conforming } from "./servers.ts";
import { bad, options, statusOfError, errorStatus } from "./status.ts";

const GROUP = "openpe.openperouter.github.io";

/** Requests that do not make sense, whatever objects there are. */
export function misuse(server: () => Conforming): void {
  test("an object that does not match its path", async () => {
    const ns = await server().namespace();
    const { json } = await server().send("POST", paths.vnis(ns), vni("red"));
    const put = (metadata: JsonObject) =>
      server().send("PUT", `${paths.vnis(ns)}/red`, { ...json, metadata: { ...(json["metadata"] as object), ...metadata } });
    expect(statusOfError(await put({ name: "blue" }))).toEqual(
      bad("the name of the object (blue) does not match the name on the URL (red)"),
    );
    expect(statusOfError(await put({ name: undefined }))).toEqual(
      bad("the name of the object (red based on URL) was undeterminable: name must be provided"),
    );
    const elsewhere = bad("the namespace of the provided object does not match the namespace sent on the request");
    expect(statusOfError(await put({ namespace: "default" }))).toEqual(elsewhere);
    expect(statusOfError(await server().send("POST", paths.vnis(ns), vni("a", {}, { namespace: "default" })))).toEqual(elsewhere);
    expect(statusOfError(await server().send("POST", paths.vnis(ns), { ...vni("a"), apiVersion: "v1" }))).toEqual(
      bad(`the API version in the data (v1) does not match the expected API version (${GROUP}/v1alpha1)`),
    );
    expect(statusOfError(await server().send("POST", paths.vnis(ns), { ...vni("a"), kind: "Foo" }))).toMatchObject({
      http: 422,
      json: { message: `Foo.${GROUP} "a" is invalid: kind: Invalid value: "Foo": must be L3VNI`, details: { kind: "Foo", name: "a" } },
    });
    expect(statusOfError(await server().send("POST", paths.maps(ns), { ...map("a"), kind: "Secret" }))).toMatchObject({
      http: 400,
      json: { message: expect.stringMatching(/^Secret in version "v1" cannot be handled as a ConfigMap: /) as string },
    });
    expect(statusOfError(await server().send("PATCH", paths.vnis(ns), {}, { "content-type": MERGE }))).toEqual(
      bad("name must be provided"),
    );
  });

  test("bodies that are not objects", async () => {
    const ns = await server().namespace();
    const unrecognized = /^the object provided is unrecognized \(must be of type (L3VNI|ConfigMap)\): /;
    for (const path of [paths.vnis(ns), paths.maps(ns)]) {
      for (const body of ["{bad", "[]", '"x"', ""]) {
        const message = expect.stringMatching(unrecognized) as string;
        expect(statusOfError(await server().send("POST", path, body))).toEqual(errorStatus(400, "BadRequest", message));
      }
    }
    const kindless = { metadata: { name: "a" } };
    const body = JSON.stringify(kindless);
    expect(statusOfError(await server().send("POST", paths.vnis(ns), kindless))).toEqual(
      errorStatus(
        400,
        "BadRequest",
        `the object provided is unrecognized (must be of type L3VNI): Object 'Kind' is missing in '${body}' (${body})`,
      ),
    );
    expect((await server().send("POST", paths.maps(ns), kindless)).status).toBe(201);
    expect(statusOfError(await server().send("DELETE", `${paths.maps(ns)}/a`, "{bad"))).toMatchObject({
      http: 400,
      json: { reason: "BadRequest" },
    });
  });

  test("invalid and inapplicable patches", async () => {
    const ns = await server().namespace();
    const path = `${paths.vnis(ns)}/red`;
    await server().send("POST", paths.vnis(ns), vni("red"));
    expect(statusOfError(await server().patch(path, MERGE, "{bad"))).toEqual(errorStatus(400, "BadRequest", "invalid JSON patch"));
    expect(statusOfError(await server().patch(path, MERGE, "[]"))).toEqual(
      errorStatus(400, "BadRequest", "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
    );
    const invalid = errorStatus(422, "Invalid", "the server rejected our request due to an error in our request", {});
    const test = [{ op: "test", path: "/spec/vni", value: 1 }];
    for (const patch of [
      test,
      [{ op: "remove", path: "/spec/none" }],
      [{ op: "add", path: "/spec/a/b", value: 1 }],
      [{ op: "jump", path: "/spec" }],
    ]) {
      expect(statusOfError(await server().patch(path, JSON_PATCH, patch))).toEqual(invalid);
    }
    expect(statusOfError(await server().patch(path, JSON_PATCH, { op: "add" }))).toMatchObject({ http: 400 });
    expect(statusOfError(await server().patch(path, MERGE, { metadata: { name: "blue" } }))).toMatchObject({ http: 400 });
    const labels = await server().patch(path, MERGE, { metadata: { labels: { a: 1 } } });
    expect([labels.status, labels.json["message"]]).toEqual([
      422,
      expect.stringMatching(
        /^ "" is invalid: patch: Invalid value: .*: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string$/,
      ) as string,
    ]);
  });

  test("unknown media types", async () => {
    const ns = await server().namespace();
    await server().send("POST", paths.vnis(ns), vni("red"));
    const unknown = /^the body of the request was in an unknown format - accepted media types include: application\/json/;
    const unsupported = errorStatus(415, "UnsupportedMediaType", expect.stringMatching(unknown));
    expect(statusOfError(await server().send("POST", paths.vnis(ns), vni("b"), { "content-type": "text/plain" }))).toEqual(unsupported);
    expect(statusOfError(await server().patch(`${paths.vnis(ns)}/red`, "application/json", {}))).toEqual(unsupported);
    expect(statusOfError(await server().patch(`${paths.vnis(ns)}/red`, "application/strategic-merge-patch+json", {}))).toEqual(unsupported);
    const apply = await server().send("PATCH", `${paths.vnis(ns)}/red?fieldManager=x&force=true`, vni("red"), {
      "content-type": "application/apply-patch+yaml",
    });
    expect(apply.status).toBe(differs(server(), "managedFields", { embedded: 415, cluster: 200 }));
    const html = await server().send("GET", paths.vnis(ns), undefined, { accept: "text/html" });
    expect([html.status, html.json["reason"]]).toEqual([406, "NotAcceptable"]);
  });

  test("methods that a path does not support", async () => {
    const ns = await server().namespace();
    await server().send("POST", paths.vnis(ns), vni("red"));
    expect(statusOfError(await server().send("DELETE", `${paths.vnis(ns)}/red/status`))).toEqual(
      errorStatus(405, "MethodNotAllowed", `delete is not supported on resources of kind "l3vnis.${GROUP}"`, {
        group: GROUP,
        kind: "l3vnis",
      }),
    );
    const generic = errorStatus(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {});
    expect(statusOfError(await server().send("PUT", paths.maps(ns), map("a")))).toEqual(generic);
    expect(statusOfError(await server().send("POST", "/api/v1/configmaps", map("a")))).toEqual(generic);
    expect(statusOfError(await server().send("DELETE", paths.namespaces))).toEqual(generic);
  });

  test("unknown options", async () => {
    const ns = await server().namespace();
    expect(statusOfError(await server().send("POST", `${paths.vnis(ns)}?fieldValidation=Foo`, vni("a")))).toEqual(
      options("CreateOptions", "fieldValidation", 'Unsupported value: "Foo": supported values: "", "Ignore", "Strict", "Warn"'),
    );
    expect(statusOfError(await server().send("POST", `${paths.vnis(ns)}?dryRun=foo`, vni("a")))).toEqual(
      options("CreateOptions", "dryRun", 'Unsupported value: ["foo"]: supported values: "All"'),
    );
    expect(statusOfError(await server().send("GET", `${paths.vnis(ns)}?resourceVersionMatch=Exact`))).toEqual(
      options(
        "ListOptions",
        "resourceVersionMatch",
        "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
        "FieldValueForbidden",
      ),
    );
    await server().send("POST", paths.vnis(ns), vni("a"));
    expect(statusOfError(await server().send("DELETE", `${paths.vnis(ns)}/a`, { propagationPolicy: "foo" }))).toEqual(
      options(
        "DeleteOptions",
        "propagationPolicy",
        'Unsupported value: "foo": supported values: "Foreground", "Background", "Orphan", "nil"',
      ),
    );
  });

  test("immutable fields", async () => {
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

  test("a body that is too large", async () => {
    const ns = await server().namespace();
    const answer = await server()
      .send("POST", paths.maps(ns), map("huge", { a: "x".repeat(4 * 1024 * 1024) }))
      .catch(() => undefined);
    // Either answer it or hang up on it: both servers do either, depending on how much was sent when it was refused.
    expect([413, undefined]).toContain(answer?.status);
    expect((await server().send("GET", `${paths.maps(ns)}/huge`)).status).toBe(404);
  });
}
