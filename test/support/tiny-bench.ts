import type { Measure } from "../../bench/measure.ts";
import { plumbline } from "./command-line.ts";

/** Benches that wait for a program's own timers nearly all of the time: they need no processor for themselves. */
export const WAITING: readonly string[] = ["failover-copy"];

/** What a bench measures with tiny counts. */
export async function tinyBench(name: string, env: Record<string, string> = {}): Promise<Measure[]> {
  const { code, stdout, stderr } = await plumbline(["bench", "--tiny", name], env);
  if (code !== 0) throw new Error(`exit code ${code}: ${stdout}${stderr}`);
  const lines = stdout.split("\n").filter((line) => line.startsWith("{"));
  return lines.map((line) => JSON.parse(line) as Measure);
}

/** Of these measures those that are not of this bench, are no figure, or show that something is not correct. */
export function badMeasures(name: string, measures: readonly Measure[]): Measure[] {
  return measures.filter(
    ({ bench, kind, ratio, goal }) => bench !== name || !Number.isFinite(ratio) || (kind === "correctness" && ratio < goal),
  );
}
