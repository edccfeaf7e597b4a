/** Something that must not happen to the data, with what there was to see of it. */
export interface Damage {
  /**
   * SplitBrain: promoted while the other side was primary. TailLost: promoted before what was written last had arrived. DemotedInUse: demoted while
   * a pod had the volume or a node held it.
   */
  readonly kind: "SplitBrain" | "TailLost" | "DemotedInUse";
  readonly site: string;
  readonly volume: string;
  readonly detail: string;
}

interface Volume {
  /** The sites where it is primary. Two are a split brain. */
  readonly primaries: Set<string>;
  /** Whose writes were cut off from the other's and have to be thrown away before it can follow again. */
  diverged: string | undefined;
  /** Where it was last primary, and when it was demoted there. */
  demoted: { readonly site: string; readonly at: number } | undefined;
}

/**
 * The storage of two sites, which mirrors each volume between them. It stands for what a storage system and its driver know, takes the time it is
 * told to, and never refuses a promotion: csi-addons forces one that is refused, without a word. It holds no data.
 */
export class ReplicatedStorage {
  /** What went wrong so far, for tests to find empty. */
  readonly damage: Damage[] = [];
  readonly #volumes = new Map<string, Volume>();
  readonly #syncMs: number;

  /** How long the last writes take to the other side once the primary is demoted. */
  constructor({ syncMs = 50 }: { syncMs?: number } = {}) {
    this.#syncMs = syncMs;
  }

  promote(site: string, volume: string): void {
    const state = this.#volume(volume);
    const others = [...state.primaries].filter((primary) => primary !== site);
    if (others.length > 0) {
      this.damage.push({ kind: "SplitBrain", site, volume, detail: `${others.join(", ")} was primary` });
      state.diverged = others[0];
    } else if (!this.#arrived(state) && state.demoted?.site !== site) {
      this.damage.push({ kind: "TailLost", site, volume, detail: "the last writes had not arrived" });
    }
    state.primaries.add(site);
  }

  demote(site: string, volume: string): void {
    const state = this.#volume(volume);
    if (state.primaries.delete(site)) state.demoted = { site, at: performance.now() };
  }

  /** Throws away what was written here after the sides parted. */
  resync(site: string, volume: string): void {
    const state = this.#volume(volume);
    if (state.diverged === site) state.diverged = undefined;
  }

  /** Whether both sides are demoted and hold the same: only then may either be promoted without loss. */
  healthy(site: string, volume: string): boolean {
    const state = this.#volume(volume);
    return state.primaries.size === 0 && state.diverged !== site && this.#arrived(state);
  }

  /** Where a volume can be written now. */
  primaries(volume: string): string[] {
    return [...this.#volume(volume).primaries];
  }

  #arrived({ demoted }: Volume): boolean {
    return demoted === undefined || performance.now() - demoted.at >= this.#syncMs;
  }

  #volume(name: string): Volume {
    let volume = this.#volumes.get(name);
    if (!volume) {
      volume = { primaries: new Set(), diverged: undefined, demoted: undefined };
      this.#volumes.set(name, volume);
    }
    return volume;
  }
}
