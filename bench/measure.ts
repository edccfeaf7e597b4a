/** One figure of a benchmark: ours against a peer measured in the same run. */
export interface Measure {
  bench: string;
  /** What is compared, in a few words. */
  what: string;
  /** How many times better than the peer we are. */
  ratio: number;
  /** The least ratio that is good enough. */
  goal: number;
  unit: string;
  ours: number;
  peer: number;
  runs: number;
  /** (largest − smallest) / median of our runs. */
  spread: number;
}

export interface Bench {
  name: string;
  run(say: (line: string) => void): Promise<Measure[]>;
}

/** The ratio when ours is nothing at all, which JSON can carry. As a goal: only nothing at all is good enough. */
export const ALL = Number.MAX_SAFE_INTEGER;

const RUNS = 5;

/** Runs ours and the peer's in turn, so that a machine that slows down slows both. */
export async function interleaved<Report>(
  contestants: { ours: (run: number) => Promise<Report>; peer: (run: number) => Promise<Report> },
  runs = RUNS,
): Promise<{ ours: Report[]; peer: Report[] }> {
  const ours: Report[] = [];
  const peer: Report[] = [];
  for (let run = 0; run < runs; run++) {
    ours.push(await contestants.ours(run));
    peer.push(await contestants.peer(run));
  }
  return { ours, peer };
}

/**
 * Compares medians; where only nothing at all is good enough, our worst run counts. Smaller is better; where a larger figure is better, give the
 * goal for its inverse.
 */
export function compare(
  about: Pick<Measure, "bench" | "what" | "goal" | "unit">,
  ours: readonly number[],
  peer: readonly number[],
): Measure {
  const { bench, what, goal, unit } = about;
  const [own, other] = [goal === ALL ? Math.max(...ours) : median(ours), median(peer)];
  return {
    bench,
    what,
    ratio: own === 0 ? ALL : round(other / own),
    goal,
    unit,
    ours: round(own),
    peer: round(other),
    runs: ours.length,
    spread: own === 0 ? 0 : round((Math.max(...ours) - Math.min(...ours)) / own),
  };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low = 0, high = 0] = [sorted[sorted.length % 2 === 0 ? middle - 1 : middle], sorted[middle]];
  return (low + high) / 2;
}

const round = (value: number) => Number(value.toPrecision(4));
