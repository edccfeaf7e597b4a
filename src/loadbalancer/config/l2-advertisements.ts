import type { L2Advertisement } from "../../api/metallb/l2-advertisement.ts";
import { selectorProblems } from "../../api/core/selector-problems.ts";
import { interfaceNameProblem } from "../../hostnet/interface-name.ts";
import { quote } from "../../ip/error.ts";
import type { L2Ad } from "./config.ts";
import { type ConfigProblem, configProblemIf, type ParseResult, parseResult, type ResourceVersion } from "./field-error.ts";
import { type PoolSelection, selectionProblems } from "./selections.ts";

export function readL2Ad({ name, generation, spec }: ResourceVersion<L2Advertisement["spec"]>, pools: PoolSelection): ParseResult<L2Ad> {
  const { interfaces = [], preferredNodeSelectors = [] } = spec;
  const problems: ConfigProblem[] = [
    ...selectionProblems(name, spec, "L1"),
    ...interfaces.flatMap((device, nth) => {
      const problem = interfaceNameProblem(device);
      const message = () => `invalid interface ${quote(device)} in ${name}: it ${problem}`;
      return configProblemIf(problem !== undefined, "L1", `spec.interfaces[${nth}]`, message);
    }),
    ...preferredNodeSelectors.flatMap(({ weight, preference }, nth): ConfigProblem[] => {
      const field = `spec.preferredNodeSelectors[${nth}]`;
      const wrong = !Number.isInteger(weight) || weight < 1 || weight > 100;
      return [
        ...configProblemIf(wrong, "L1", `${field}.weight`, () => `invalid weight ${weight} in ${name}: must be in 1-100 range`),
        ...selectorProblems(preference).map(({ path, message }): ConfigProblem => ({
          rule: "L1",
          field: `${field}.preference.${path}`,
          message: `${message}\nfailed to parse preferred node selectors for ${name}`,
        })),
      ];
    }),
  ];
  return parseResult(problems, () => ({
    name,
    generation,
    pools: pools.select(spec),
    nodeSelectors: spec.nodeSelectors ?? [],
    serviceSelectors: spec.serviceSelectors ?? [],
    ...(interfaces.length > 0 && { interfaces: [...new Set(interfaces)].sort() }),
    preferences: preferredNodeSelectors.map(({ weight, preference }) => ({ weight, selector: preference })),
  }));
}
