import { LinkApplier } from "../../src/hostnet/apply.ts";
import { linksOf, type Built } from "./links.ts";

const [host = "", router = "", count = ""] = process.argv.slice(2);

/** One pass with one step per VNI, each of them planned, carried out and looked at, as in the agent. */
const start = performance.now();
{
  await using pass = await LinkApplier.open({ host, router }, AbortSignal.timeout(300_000));
  for (let n = 0; n < Number(count); n++) {
    const { rejected } = await pass.apply(linksOf(n));
    if (rejected) throw rejected;
  }
}
process.send?.({ ms: performance.now() - start } satisfies Built);
process.disconnect();
