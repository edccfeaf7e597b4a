import { join } from "node:path";
import { expect, test } from "vitest";
import { plumbline } from "../support/command-line.ts";

test("what we show as an example is without fault", async () => {
  const { code, stdout } = await plumbline(["lint", "-f", join(import.meta.dirname, "../../examples")]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^\d+ objects, nothing wrong\n$/) as string });
});
