import type { LastGoodConfig, LastGoodEntry } from "./load.ts";
import type { ConfigProblem } from "./field-error.ts";

const KEY = "ConfigMap/bgpextras";

interface Extras {
  readonly text: string;
  readonly problems: readonly ConfigProblem[];
  readonly remember: readonly (readonly [string, LastGoodEntry])[];
}

/** Lines for FRR. Only control characters are rejected here; FRR validates the rest. */
export function readExtras(text: string, lastGood: LastGoodConfig): Extras {
  const bad = text.split("\n").findIndex((line) => /[^\P{Cc}\t\r]/u.test(line));
  if (bad < 0) return { text, problems: [], remember: text === "" ? [] : [[KEY, { uid: "", generation: 0, spec: text }]] };
  const kept = lastGood.get(KEY);
  return {
    text: typeof kept?.spec === "string" ? kept.spec : "",
    problems: [{ rule: "E1", field: "data.extras", message: `extras has a control character in line ${bad + 1}` }],
    remember: kept ? [[KEY, kept]] : [],
  };
}
