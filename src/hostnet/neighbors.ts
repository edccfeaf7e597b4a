import { Batch } from "./batch.ts";

interface PrintedNeighbor {
  readonly dst: string;
  readonly dev: string;
}

/**
 * Lets the kernel ask the neighbors that it has not heard of for a while, on links of this name, whether they are still there. Who answers stays known; who does not is
 * forgotten, and with it the route that announces it. Returns how many were probed.
 */
export async function probeStale(namespace: string, onLink: (name: string) => boolean, signal: AbortSignal): Promise<number> {
  await using batch = new Batch(namespace, signal);
  const { replies } = await batch.run([], [["neigh", "show", "nud", "stale"]]);
  const stale = (replies.flat() as PrintedNeighbor[]).filter(({ dev, dst }) => onLink(dev) && !dst.startsWith("fe80:"));
  let probed = 0;
  for (const { dst, dev } of stale) {
    // One that has gone meanwhile is not probed.
    const { failed } = await batch.run([["neigh", "change", dst, "dev", dev, "nud", "probe"]], []);
    if (!failed) probed += 1;
  }
  return probed;
}
