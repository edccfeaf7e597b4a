import { expect, test } from "vitest";
import { failureLine } from "./failure-line.ts";

test("a failure of a foreign manifest is one line without control characters", () => {
  const failure = {
    kind: "IPAddressPool",
    namespace: "metallb-system",
    name: "a\u001b[31m\nb",
    field: "spec.\u0007",
    message: "one \ntwo\u009b",
  };
  expect(failureLine(failure)).toBe("IPAddressPool metallb-system/a^[[31m; b: spec.?: one; two?");
});

test("a failure of a file or of an object without a namespace names only existing parts", () => {
  expect(failureLine({ kind: "", namespace: "", name: "", field: "", message: "not YAML" })).toBe("not YAML");
  expect(failureLine({ kind: "Node", namespace: "", name: "n1", field: "", message: "gone" })).toBe("Node n1: gone");
});
