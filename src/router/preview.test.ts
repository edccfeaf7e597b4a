import { expect, test } from "vitest";
import { previewNode } from "./preview.ts";
import { CASES } from "./testing/golden-cases.ts";

test.each(Object.entries(CASES))("the FRR configuration of the router %s is as on file", async (name, observed) => {
  const { frr, failures } = previewNode(observed);
  expect(failures).toEqual([]);
  await expect(frr).toMatchFileSnapshot(`render/testdata/${name}.conf`);
});

test.each(Object.entries(CASES))("the links of the router %s are as on file", async (name, observed) => {
  const links = previewNode(observed).links.map((link) => `${JSON.stringify(link)}\n`);
  await expect(links.join("")).toMatchFileSnapshot(`render/testdata/${name}.links`);
});
