import { expect, test } from "vitest";
import type { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { config } from "../testing/announcement-fixtures.ts";
import type { ClaimingObject } from "../config/claims.ts";
import type { Loaded } from "../config/load.ts";
import { released } from "./claims-recorder.ts";

type State = "Applied" | "Failed" | "KeptPrevious";
const claimant = {
  kind: "IPAddressPool",
  object: { metadata: { name: "main", generation: 2 }, spec: { addresses: [] } },
} as unknown as ClaimingObject;
const here = (state: State, generation = 2): Loaded => ({
  config: config(),
  failures: [],
  warnings: [],
  unread: [],
  resources: [{ kind: "IPAddressPool", name: "main", generation, state }],
  lastGood: new Map(),
});
const there = (state: State, observedGeneration: number): ConfigurationState => ({
  metadata: { name: "speaker-n1" },
  status: { resources: [{ kind: "IPAddressPool", name: "main", observedGeneration, state }] },
});
const silent: ConfigurationState = { metadata: { name: "speaker-n2" } };

test.each<[boolean, string, Loaded, ConfigurationState[]]>([
  [true, "when everyone runs on what it asks for now", here("Applied"), [there("Applied", 2), silent]],
  [true, "when it never ran anywhere before", here("Applied"), [there("Failed", 1)]],
  [false, "while a node keeps its previous form", here("Applied"), [there("Applied", 2), there("KeptPrevious", 2)]],
  [false, "while a node has not come to the edit", here("Applied"), [there("Applied", 1)]],
  [false, "while another has what it asks for now", here("Failed"), [there("Failed", 2)]],
  [false, "while it is not known what became of the edit", here("Applied", 1), []],
])("released is %s %s", (expected, _when, loaded, states) => {
  expect(released(loaded, states)(claimant)).toBe(expected);
});
