/** Something that is not the same after moving over, or that has to be done for it. */
export interface MigrationDifference {
  readonly kind: string;
  readonly name: string;
  /** Empty for what lives in no namespace. */
  readonly namespace: string;
  /** Empty where it is the object as a whole. */
  readonly field: string;
  readonly message: string;
  readonly class: DifferenceClass;
}

/** In the way; to be stopped on the way; treated otherwise here; of no use afterwards. */
export type DifferenceClass = "Blocks" | "Stop" | "Differs" | "Unused";

export const CLASSES: Readonly<Record<DifferenceClass, string>> = {
  Blocks: "In the way",
  Stop: "To be stopped, in the order of docs/migrate.md",
  Differs: "Treated otherwise here",
  Unused: "Of no use afterwards",
};
