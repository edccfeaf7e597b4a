import { expect, test } from "vitest";
import { patchToward } from "./apply-one.ts";

test("a patch sets all that is wanted and removes what only the manifest of before had", () => {
  const before = { spec: { vni: 100, session: { asn: 1, note: "x" }, old: [1] }, gone: { a: 1 } };
  const wanted = { spec: { vni: 100, session: { asn: 2 }, list: [1, 2] } };
  expect(patchToward(before, wanted)).toEqual({
    gone: null,
    spec: { old: null, vni: 100, session: { note: null, asn: 2 }, list: [1, 2] },
  });
});
