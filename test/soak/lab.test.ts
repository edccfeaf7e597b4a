import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { soakMoves, MINUTES, type Move, moveText, SEED } from "./scenario.ts";
import { shortest } from "../../lab/fuzz/minimize.ts";
import { SoakLab } from "./soak-lab.ts";

/** For the search for a shorter history, and for a lab that is slow to start. */
const EXTRA_MINUTES = 15 + 2 * MINUTES;
vi.setConfig({ testTimeout: (MINUTES + EXTRA_MINUTES) * 60_000, hookTimeout: EXTRA_MINUTES * 60_000 });

let lab: SoakLab;

beforeAll(async () => {
  lab = await SoakLab.start();
});
afterAll(() => lab?.stop());

/** What of all that must not be came about, and what had happened by then. */
interface Broken {
  readonly history: readonly Move[];
  readonly violations: readonly string[];
}

async function soak(until: number): Promise<Broken | undefined> {
  const history: Move[] = [];
  for (const move of soakMoves()) {
    if (performance.now() > until) break;
    history.push(move);
    const violations = await lab.make(move);
    say(`${moveText(move)}${violations.length > 0 ? `: ${violations.join("; ")}` : ""}`);
    if (violations.length > 0) return { history, violations };
  }
  const violations = await lab.needlessWrites();
  return violations.length > 0 ? { history, violations } : undefined;
}

/** Whether the same comes about again in a lab that is well. */
async function fails(history: readonly Move[]): Promise<boolean> {
  lab.forget();
  for (const move of history) if ((await lab.make(move)).length > 0) return true;
  return (await lab.needlessWrites()).length > 0;
}

async function storyOf({ history, violations }: Broken, until: number): Promise<string> {
  const found = await shortest(history, fails, () => performance.now() < until);
  return [
    `seed ${SEED}, after ${history.length} moves: ${violations.join("; ")}`,
    `the shortest history found: ${found.map(moveText).join("; ")}`,
    `again: PLUMBLINE_SOAK_SEED=${SEED} npm run soak -- --minutes ${MINUTES}`,
  ].join("\n");
}

test(`for ${MINUTES} min of faults and changes (seed ${SEED}) no address is assigned twice, no two nodes announce one, nothing good is lost and no status is wrong`, async () => {
  say(`soak of ${MINUTES} min, seed ${SEED}`);
  const broken = await soak(performance.now() + MINUTES * 60_000);
  expect(broken && (await storyOf(broken, performance.now() + (1 + MINUTES) * 60_000))).toBeUndefined();
});

function say(text: string): void {
  process.stdout.write(`  ${text}\n`);
}
