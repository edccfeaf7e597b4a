import { expect, test } from "vitest";
import type { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { configurationStatus } from "./configuration-status.ts";

type Result = "Valid" | "Invalid" | "Unknown" | undefined;
const state = (name: string, result: Result, ...messages: string[]): ConfigurationState => ({
  metadata: { name, namespace: "metallb-system" },
  status: {
    ...(result && { result }),
    lastError: messages.map((message) => (name === "controller" ? `failed to parse configuration: ${message}` : message)).join("\n"),
    failedResources: messages.map((message) => ({
      kind: "IPAddressPool",
      name: "p",
      reason: "ValidationFailed",
      message,
      class: "Permanent",
    })),
  },
});
const statusOf = (...states: ConfigurationState[]) => configurationStatus(states).status;

test("is valid if every component reports Valid", () => {
  expect(statusOf(state("controller", "Valid"), state("speaker-n1", "Valid"))).toEqual({
    validConfig: true,
    lastError: "",
    components: { valid: 2, invalid: 0, unknown: 0 },
    conditions: [{ type: "Valid", status: "True", reason: "ConfigurationValid", message: "Valid for every component" }],
  });
});

test("an error of several components is listed once, complete and without their prefixes", () => {
  const two = 'secret type mismatch on "a"/"b", type "kubernetes.io/basic-auth" is expected \nfailed to parse peer p password secret';
  const status = statusOf(
    state("speaker-n2", "Invalid", "overlap", two),
    state("controller", "Invalid", "overlap"),
    state("speaker-n1", "Valid"),
  );
  expect(status).toMatchObject({
    validConfig: false,
    lastError: `overlap\n${two}`,
    error: `overlap\n${two}`,
    components: { valid: 1, invalid: 2, unknown: 0 },
    invalidComponents: ["controller", "speaker-n2"],
    conditions: [{ status: "False", reason: "ConfigurationInvalid", message: "Invalid for controller, speaker-n2" }],
  });
});

test("a component that does not report makes the condition Unknown, and validConfig follows the others", () => {
  const silent = [state("speaker-n1", "Unknown", "old"), state("speaker-n2", undefined)];
  expect(statusOf(state("controller", "Invalid", "overlap"), ...silent)).toMatchObject({
    validConfig: false,
    conditions: [{ status: "False" }],
  });
  const status = statusOf(state("controller", "Valid"), ...silent);
  expect(status).not.toHaveProperty("error");
  expect(status).toMatchObject({
    validConfig: true,
    lastError: "",
    components: { valid: 1, invalid: 0, unknown: 2 },
    unknownComponents: ["speaker-n1", "speaker-n2"],
    conditions: [{ status: "Unknown", reason: "ComponentsSilent" }],
  });
});

test("validConfig is unset while no component has reported", () => {
  expect(statusOf()).not.toHaveProperty("validConfig");
  expect(statusOf(state("controller", "Unknown"))).not.toHaveProperty("validConfig");
});

test("the message names the first of many components", () => {
  const states = Array.from({ length: 25 }, (_, nth) => state(`speaker-n${String(nth).padStart(2, "0")}`, "Invalid", "x"));
  expect(statusOf(...states)).toMatchObject({ conditions: [{ message: expect.stringMatching(/speaker-n09 and 15 more$/) as string }] });
});
