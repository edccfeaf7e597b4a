import { expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { nameView, yamlView } from "./view.ts";

const hostile = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "a\u001b[2J" },
  data: { plain: "\u009b31m", lines: "one\n\u007f\u0085\n", "\u009bkey": "\u001b]0;owned\u0007" },
};

test("YAML output escapes every control character, and means the same", () => {
  const view = yamlView((value) => stringify(value));
  for (const text of [view.whole([hostile]), view.change("ADDED", hostile).replace("---\n", "")]) {
    expect(text).not.toMatch(/[^\P{Cc}\n]/u);
    expect(parse(text)).toEqual(hostile);
  }
});

test("names are printed without control characters", () => {
  expect(nameView().whole([hostile])).toBe("configmap/a^[[2J\n");
});
