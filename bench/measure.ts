/** One result of a bench: ours against a peer measured in the same run. */
export interface Measure {
  /** A figure has to meet its goal at full size. A correctness measure has to be zero at any size. */
  kind: "figure" | "correctness";
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

/** Full counts give the figures of docs/benchmarks.md; tiny ones only show that the bench works. */
export type Size = "full" | "tiny";

type Say = (line: string) => void;

export interface Bench {
  run(size: Size, say: Say): Promise<Measure[]>;
}

export function defineBench<Counts>(bench: Record<Size, Counts> & { run(counts: Counts, say: Say): Promise<Measure[]> }): Bench {
  return { run: (size, say) => bench.run(bench[size], say) };
}

/** The ratio when ours is zero: a number that JSON can carry. */
export const ALL = Number.MAX_SAFE_INTEGER;

/** Runs ours and the peer's in turn, so that a machine that slows down slows both. */
export async function interleaved<Report>(
  runs: number,
  contestants: { ours: (run: number) => Promise<Report>; peer: (run: number) => Promise<Report> },
): Promise<{ ours: Report[]; peer: Report[] }> {
  const ours: Report[] = [];
  const peer: Report[] = [];
  for (let run = 0; run < runs; run++) {
    ours.push(await contestants.ours(run));
    peer.push(await contestants.peer(run));
  }
  return { ours, peer };
}

type About = Pick<Measure, "bench" | "what" | "unit">;

/** Compares medians. Smaller is better; where a larger figure is better, give the goal for its inverse. */
export function compare(about: About & Pick<Measure, "goal">, ours: readonly number[], peer: readonly number[]): Measure {
  return measure("figure", about, ours, median(ours), peer);
}

/** Ours has to be zero in every run: the worst one counts. */
export function mustBeZero(about: About, ours: readonly number[], peer: readonly number[]): Measure {
  return measure("correctness", { ...about, goal: ALL }, ours, Math.max(...ours), peer);
}

function measure(
  kind: Measure["kind"],
  { bench, what, goal, unit }: About & Pick<Measure, "goal">,
  ours: readonly number[],
  own: number,
  peer: readonly number[],
): Measure {
  const other = median(peer);
  return {
    kind,
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
