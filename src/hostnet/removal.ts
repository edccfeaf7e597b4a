/** What is taken away at once from a machine that leaves. */
export interface Removal {
  /** `Delete link vni100 in network namespace perouter` */
  readonly says: readonly string[];
  readonly run: (signal: AbortSignal) => Promise<unknown>;
}
