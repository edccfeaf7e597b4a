/** A part of an uninstall. */
export interface Removal {
  /** `Delete link vni100 in network namespace perouter` */
  readonly says: readonly string[];
  readonly run: (signal: AbortSignal) => Promise<unknown>;
}
