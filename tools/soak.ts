import { run as runTests } from "./test.ts";

/** The lab under random faults and changes, and everything that listens under random inputs. */
const SOAK = ["test/soak", "test/fuzz"];

/** `npm run soak -- --minutes N`: the soak for so long. With files: these suites, with counts in the thousands; each scales by PLUMBLINE_SOAK_MINUTES. */
export async function run(args: readonly string[]): Promise<number> {
  const at = args.indexOf("--minutes");
  const minutes = at < 0 ? 10 : Number(args[at + 1]);
  if (!Number.isFinite(minutes) || minutes <= 0) {
    console.error("usage: npm run soak -- [--minutes N] [files...]");
    return 2;
  }
  process.env["PLUMBLINE_SOAK_MINUTES"] = String(minutes);
  const files = args.filter((_, index) => at < 0 || (index !== at && index !== at + 1));
  return runTests(files.length > 0 ? files : SOAK);
}
