import * as fc from "fast-check";
import { expect, test } from "vitest";
import { withoutManagedFields } from "./managed-fields.ts";

const cut = (text: string): string => {
  // In the middle of a larger chunk, as on the wire.
  const bytes = Buffer.from(`{"x":1}\n${text}\n{"y":`);
  return withoutManagedFields(bytes, 8, 8 + Buffer.byteLength(text));
};

test.for([
  [
    '{"type":"ADDED","object":{"metadata":{"name":"a","managedFields":[{"x":"]}"}],"z":1}}}',
    '{"type":"ADDED","object":{"metadata":{"name":"a","z":1}}}',
  ],
  ['{"type":"ADDED","object":{"metadata":{"name":"a","managedFields":[]}}}', '{"type":"ADDED","object":{"metadata":{"name":"a"}}}'],
  ['{"object":{"metadata":{"managedFields":[1]}}}', '{"object":{"metadata":{}}}'],
  ['{"object":{"metadata":{"managedFields":[1],"name":"a"}}}', '{"object":{"metadata":{"name":"a"}}}'],
])("the field is removed with one comma: %s", ([text, expected]) => {
  expect(cut(text ?? "")).toBe(expected);
});

test.for([
  '{"object":{"metadata":{"annotations":{"managedFields":[1]}},"spec":{"managedFields":[1]},"managedFields":[1]},"managedFields":[1]}',
  '{"object":{"spec":{"metadata":{"managedFields":[1]}},"metadata":{"name":"\\"managedFields\\":[1]"}}}',
  '{ "object": { "metadata": { "managedFields": [1] } } }',
  '{"object":{"metadata":"managedFields"}}',
  '{"object":[{"metadata":{"managedFields":[1]}}]}',
  '{"object":{"metadata":{"name',
  "",
  "junk",
])("text that is not that field stays: %s", (text) => {
  expect(cut(text)).toBe(text);
});

test("the remaining text parses to the event without the field", () => {
  const managed = fc.option(fc.array(fc.jsonValue()), { nil: undefined });
  const event = fc.record({
    before: fc.jsonValue(),
    object: fc.record({
      data: fc.jsonValue(),
      metadata: fc.record({ 'a"\\b': fc.jsonValue(), managedFields: managed, z: fc.jsonValue() }),
      spec: fc.jsonValue(),
    }),
    after: fc.jsonValue(),
  });
  fc.assert(
    fc.property(event, (value) => {
      const metadata = { ...value.object.metadata, managedFields: undefined };
      const expected = { ...value, object: { ...value.object, metadata } };
      expect(JSON.parse(cut(JSON.stringify(value)))).toEqual(JSON.parse(JSON.stringify(expected)));
    }),
    { seed: 3, numRuns: 500 },
  );
});
