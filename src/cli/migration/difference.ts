/** Something that changes with the migration, or that must be done for it. */
export interface MigrationDifference {
  readonly kind: string;
  readonly name: string;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  /** Empty for the object as a whole. */
  readonly field: string;
  readonly message: string;
  readonly class: DifferenceClass;
}

/** Blocks the migration; must be stopped during it; is handled differently; is unused afterwards; is no difference, but which API it uses. */
export type DifferenceClass = "Blocks" | "Stop" | "Differs" | "Unused" | "Version";

export const CLASSES: Readonly<Record<DifferenceClass, string>> = {
  Blocks: "In the way",
  Stop: "To be stopped, in the order of docs/migrate.md",
  Differs: "Treated otherwise here",
  Unused: "Not needed after the migration",
  Version: "Versions of OpenPERouter's API in this cluster",
};
