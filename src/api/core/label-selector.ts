/** Both parts must match; an empty selector matches everything. */
export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

type Labels = Readonly<Record<string, string>>;

/** An empty or missing selector matches everything. */
export function selects({ matchLabels = {}, matchExpressions = [] }: LabelSelector = {}, labels: Labels): boolean {
  const valueOf = (key: string) => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  return (
    Object.entries(matchLabels).every(([key, value]) => valueOf(key) === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = valueOf(key);
      if (operator === "Exists") return value !== undefined;
      if (operator === "DoesNotExist") return value === undefined;
      return (value !== undefined && values.includes(value)) === (operator === "In");
    })
  );
}
