import { type LabelSelector, selects } from "../../api/core/label-selector.ts";
import { quote } from "../../ip/error.ts";
import type { RuleId } from "./rules.ts";
import { type ConfigProblem, repeated } from "./field-error.ts";
import { selectorConfigProblems, selectorText } from "./selectors.ts";

/** Common to both kinds of advertisement. */
interface Selections {
  ipAddressPools?: string[];
  ipAddressPoolSelectors?: LabelSelector[];
  nodeSelectors?: LabelSelector[];
  serviceSelectors?: LabelSelector[];
}

export function selectionProblems(name: string, spec: Selections, rule: RuleId): ConfigProblem[] {
  const rules = { duplicate: rule, malformed: rule };
  const parsing = (what: string) => ({ ...rules, context: () => `failed to parse ${what} selector for ${name}` });
  return [
    ...duplicates(spec.ipAddressPools, "spec.ipAddressPools", "ipAddressPools", rule),
    ...selectorConfigProblems(spec.ipAddressPoolSelectors, {
      ...rules,
      field: "spec.ipAddressPoolSelectors",
      context: (selector) => `invalid label selector ${quote(selector)}`,
    }),
    ...selectorConfigProblems(spec.nodeSelectors, { ...parsing("node"), field: "spec.nodeSelectors" }),
    ...selectorConfigProblems(spec.serviceSelectors, { ...parsing("service"), field: "spec.serviceSelectors" }),
  ];
}

export function duplicates(texts: readonly string[] | undefined, field: string, what: string, rule: RuleId): ConfigProblem[] {
  return repeated(texts ?? []).map(({ text, nth }) => ({
    rule,
    field: `${field}[${nth}]`,
    message: `duplicate definition of ${what} ${quote(text)}`,
  }));
}

interface LabeledPool {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Cached: many advertisements select the same pools. */
export class PoolSelection {
  readonly #pools: ReadonlyMap<string, LabeledPool>;
  readonly #all: ReadonlySet<string>;
  readonly #byLabel = new Map<string, readonly string[]>();

  constructor(pools: ReadonlyMap<string, LabeledPool>) {
    this.#pools = pools;
    this.#all = new Set(pools.keys());
  }

  /** By name or by label; without either, all. */
  select({ ipAddressPools: names = [], ipAddressPoolSelectors: selectors = [] }: Selections): ReadonlySet<string> {
    if (names.length === 0 && selectors.length === 0) return this.#all;
    return new Set([...names.filter((name) => this.#pools.has(name)), ...selectors.flatMap((one) => this.#labeled(one))].sort());
  }

  #labeled(selector: LabelSelector): readonly string[] {
    const text = selectorText(selector);
    const known = this.#byLabel.get(text);
    if (known) return known;
    const found = [...this.#pools.values()].filter(({ labels }) => selects(selector, labels)).map(({ name }) => name);
    this.#byLabel.set(text, found);
    return found;
  }
}
