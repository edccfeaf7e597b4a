import { join } from "node:path";
import { expect, test } from "vitest";
import { plumbline } from "../support/command-line.ts";

test("the examples have no failures, and refer to nothing but an Underlay that is not among them", async () => {
  const { code, stdout, stderr } = await plumbline(["lint", "-f", join(import.meta.dirname, "../../examples")]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^\d+ objects, 2 warnings\n$/) as string });
  expect(stderr.trimEnd().split("\n")).toEqual(["blue", "red"].map((name) => expect.stringContaining(`L3VNI ${name} needs an Underlay`)));
});
