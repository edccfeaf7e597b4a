import { describe, expect, test } from "vitest";
import { load, type ConfigParts, profile, failureTexts } from "../testing/config-fixtures.ts";

const failuresOf = (parts: ConfigParts) => failureTexts(load(parts));

describe("a BFD profile", () => {
  test.each([
    ["detectMultiplier", 256, "2-255", "detect multiplier"],
    ["receiveInterval", 9, "10-60000", "receive interval"],
    ["transmitInterval", 60_001, "10-60000", "transmit interval"],
    ["echoInterval", 1.5, "10-60000", "echo interval"],
    ["minimumTtl", 0, "1-254", "minimum ttl"],
  ])("with %s %s is rejected", (field, value, range, title) => {
    expect(failuresOf({ bfdProfiles: [profile("fast", { [field]: value })] })).toEqual([
      `B1 BFDProfile/fast spec.${field}: parsing bfd profile fast: invalid value ${value}, must be in ${range} range\ninvalid ${title} value`,
    ]);
  });

  test("with all fields set is in effect", () => {
    const spec = { detectMultiplier: 2, receiveInterval: 10, transmitInterval: 60_000, echoInterval: 50, minimumTtl: 254 };
    const { config } = load({ bfdProfiles: [profile("fast", { ...spec, echoMode: true, passiveMode: true })] });
    expect(config.bfdProfiles.get("fast")).toEqual({ name: "fast", generation: 1, ...spec, echoMode: true, passiveMode: true });
  });

  test("requires a unique name that fits into FRR", () => {
    const long = "p".repeat(64);
    expect(failuresOf({ bfdProfiles: [profile(""), profile(long), profile("a"), profile("a", {}, { hour: 1 })] })).toEqual([
      "B2 BFDProfile/ metadata.name: missing bfd profile name",
      "B2 BFDProfile/a metadata.name: found duplicate bfd profile name a",
      `B2 BFDProfile/${long} metadata.name: bfd profile name ${long} has more than 63 characters, the maximum of FRR`,
    ]);
  });
});
