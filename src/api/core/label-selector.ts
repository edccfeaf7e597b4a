/** A selector over labels, as core kinds and our own carry it. Both parts must hold; an empty one selects everything. */
export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}
