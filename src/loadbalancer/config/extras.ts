import type { LastGoodConfig, LastGoodEntry } from "./load.ts";
import type { ConfigProblem } from "./field-error.ts";

const KEY = "ConfigMap/bgpextras";

interface Extras {
  readonly text: string;
  readonly complaints: readonly ConfigProblem[];
  readonly remember: readonly (readonly [string, LastGoodEntry])[];
}

/** Lines for FRR as they are. What FRR thinks of them is its own business; only what is no text is not shown to it. */
export function readExtras(text: string, lastGood: LastGoodConfig): Extras {
  const bad = text.split("\n").findIndex((line) => /[^\P{Cc}\t\r]/u.test(line));
  if (bad < 0) return { text, complaints: [], remember: text === "" ? [] : [[KEY, { uid: "", generation: 0, spec: text }]] };
  const kept = lastGood.get(KEY);
  return {
    text: typeof kept?.spec === "string" ? kept.spec : "",
    complaints: [{ rule: "E1", field: "data.extras", message: `extras has a control character in line ${bad + 1}` }],
    remember: kept ? [[KEY, kept]] : [],
  };
}
