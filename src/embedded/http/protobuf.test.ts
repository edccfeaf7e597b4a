import { expect, test } from "vitest";
import { decodeProtobuf } from "./protobuf.ts";

function varint(value: number): Buffer {
  return value < 128 ? Buffer.of(value) : Buffer.concat([Buffer.of((value % 128) | 128), varint(Math.floor(value / 128))]);
}
function field(number: number, ...content: (Buffer | string)[]): Buffer {
  const bytes = Buffer.concat(content.map((part) => Buffer.from(part)));
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}
function configMapOf(data: readonly (readonly [key: string, value: string])[]): Buffer {
  const entries = data.map(([key, value]) => field(2, field(1, key), field(2, value)));
  const raw = [field(1, field(1, "p")), ...entries];
  return Buffer.concat([Buffer.from("k8s\0"), field(1, field(1, "v1"), field(2, "ConfigMap")), field(2, ...raw)]);
}

test("a ConfigMap with as many keys as a request can hold is read, each key once", () => {
  const data = Array.from({ length: 150_000 }, (_, at) => [`k${at}`, String(at)] as const);
  const decoded = decodeProtobuf(configMapOf(data));
  expect(decoded).toMatchObject({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "p" } });
  expect(Object.keys(decoded?.["data"] as object)).toHaveLength(150_000);
  expect(decoded).toHaveProperty(["data", "k149999"], "149999");
});

test("the last value of a repeated key counts, and any name can be a key", () => {
  const decoded = decodeProtobuf(
    configMapOf([
      ["a", "1"],
      ["__proto__", "x"],
      ["a", "2"],
    ]),
  );
  expect(Object.entries(decoded?.["data"] as object)).toEqual([
    ["a", "2"],
    ["__proto__", "x"],
  ]);
});
