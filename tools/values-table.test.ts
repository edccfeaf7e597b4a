import { expect, test } from "vitest";
import { valuesTable } from "./values-table.ts";

const rows = async (text: string) =>
  (await valuesTable(text))
    .split("\n")
    .slice(6)
    .filter((line) => line !== "")
    .map((line) => line.replaceAll(/ +/g, " "));

test("each value is listed by its path, with its default and its comment", async () => {
  const text =
    'page:\n  # Serve it.\n  enabled: true\n  # How much\n  # it may have.\n  resources: { limits: {} }\nname:\n  # Of it.\n  first: ""\n';
  expect(await rows(text)).toEqual([
    "| `page.enabled` | `true` | Serve it. |",
    '| `page.resources` | `{"limits":{}}` | How much it may have. |',
    '| `name.first` | `""` | Of it. |',
  ]);
});

test("a value without a comment is rejected", async () => {
  await expect(valuesTable("page:\n  # Serve it.\n  enabled: true\n  port: 1\n")).rejects.toThrow("page.port has no comment");
});
