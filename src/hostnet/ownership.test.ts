import { expect, test } from "vitest";
import { aliasBefore, createdAlias, linkOwnership, movedAlias } from "./ownership.ts";

const longest = `L2VNI/${"n".repeat(253)}`;

test("the alias for the longest name of a resource fits into the kernel limit", () => {
  const alias = createdAlias(longest);
  expect(alias.length).toBeLessThan(256);
  expect(linkOwnership({ alias })).toBe("created");
});

test("an interface moved for a resource with the longest name is recognized as moved, with its original alias", () => {
  const alias = movedAlias(longest, { alias: "uplink to tor" });
  expect(alias.length).toBeLessThan(256);
  expect(linkOwnership({ alias })).toBe("moved");
  expect(aliasBefore({ alias })).toBe("uplink to tor");
});
