import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { KubeObject } from "../../api/kind.ts";
import { manifestText } from "./yaml-value.ts";
import { readManifests } from "./manifests.ts";

const objectWith = (spec: unknown) => ({ apiVersion: "v1", kind: "Thing", metadata: { name: "a" }, spec }) as KubeObject;

test("is YAML as people write it", () => {
  expect(manifestText(objectWith({ vni: 100, text: "one\ntwo\n", list: ["a", { b: true }] }))).toBe(`apiVersion: v1
kind: Thing
metadata:
  name: a
spec:
  vni: 100
  text: |
    one
    two
  list:
    - a
    - b: true
`);
});

test.each([
  "yes",
  "y",
  "n",
  "on",
  "0644",
  "0o17",
  "1_000",
  "64512:10",
  "1:30",
  "null",
  "~",
  "1e3",
  "0x1f",
  ".5",
  "<<",
  "=",
  "- a",
  "a: b",
  "#a",
  "",
])("keeps the text %j a text", (text) => {
  const [passage] = readManifests(Buffer.from(manifestText(objectWith({ [text]: text }))), { json: false });
  expect(passage?.manifests[0]?.object).toEqual(objectWith({ [text]: text }));
});

test("survives a round trip for any object", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (spec) => {
      const [passage] = readManifests(Buffer.from(manifestText(objectWith(spec))), { json: false });
      expect(passage?.manifests[0]?.object).toEqual(JSON.parse(JSON.stringify(objectWith(spec))));
    }),
    { seed: 4, numRuns: 200 },
  );
});
