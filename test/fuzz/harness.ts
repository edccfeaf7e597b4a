import { monitorEventLoopDelay } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect } from "vitest";
import { Random, SEED } from "./random.ts";

const MIB = 1024 * 1024;
/** What may be left of all inputs together: caches, and what the runtime keeps for itself. */
const LEFT_MIB = 64;

/** Sends so many inputs, several at a time. Nothing of them may stay in memory; the longest stall is printed. */
export async function fuzz(
  what: string,
  count: number,
  atOnce: number,
  send: (random: Random, nth: number) => Promise<void> | void,
): Promise<void> {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  const before = await heapMib();
  delay.enable();
  let next = 0;
  const lane = async () => {
    for (let nth = next++; nth < count; nth = next++) {
      const seed = SEED * 1_000_003 + nth;
      // Otherwise in-process inputs never yield to the event loop, and a stall cannot be measured.
      await setImmediate();
      try {
        await send(new Random(seed), nth);
      } catch (error) {
        throw new Error(`input ${nth} of seed ${SEED}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  delay.disable();
  const left = (await heapMib()) - before;
  console.log(`${what}: ${count} inputs, longest stall ${Math.round(delay.max / 1e6)} ms, ${left.toFixed(1)} MiB left`);
  expect(left).toBeLessThan(LEFT_MIB);
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

async function heapMib(): Promise<number> {
  // Sockets are given back a few ticks after they are closed.
  for (let round = 0; round < 3; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    collect();
  }
  return (process.memoryUsage().heapUsed + process.memoryUsage().external) / MIB;
}
