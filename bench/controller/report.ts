export interface Report {
  /** From the moment that there is a pool until the last Service is seen with its address. */
  ms: number;
  cpuMs: number;
}
