import { expect, test } from "vitest";
import { checked, checkedLines, completeBytes } from "./checksummed-lines.ts";

const records = (content: Buffer) => [...checkedLines(content)].map(({ record }) => record);
const file = Buffer.concat([checked('{"a":1}'), checked(Buffer.from('{"b":"ä"}'))]);

test("lines survive a round trip", () => {
  expect(file.toString()).toBe('561bacaf {"a":1}\na6a79415 {"b":"ä"}\n');
  expect(records(file)).toEqual([{ a: 1 }, { b: "ä" }]);
});

test("a truncated last line is ignored", () => {
  for (let end = file.length - 1; end > checked('{"a":1}').length; end--) {
    expect(records(file.subarray(0, end))).toEqual([{ a: 1 }]);
    expect(completeBytes(file.subarray(0, end))).toBe(checked('{"a":1}').length);
  }
  expect(completeBytes(file)).toBe(file.length);
  expect(completeBytes(Buffer.alloc(0))).toBe(0);
});

test("a line with any changed byte is rejected", () => {
  const first = checked('{"a":1}').length;
  for (let at = 0; at < first - 1; at++) {
    const damaged = Buffer.from(file);
    damaged[at] = 0x78;
    expect(records(damaged)).toEqual([undefined, { b: "ä" }]);
  }
});

test("a line of another format is rejected", () => {
  expect(records(Buffer.from("\n1\nhello world, hello\n"))).toEqual([undefined, undefined, undefined]);
  expect(records(checked("no json"))).toEqual([undefined]);
});
