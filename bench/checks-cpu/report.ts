export interface Spent {
  /** User and system time of the process. */
  cpuMs: number;
  /** How many connects succeeded. */
  reached: number;
}
