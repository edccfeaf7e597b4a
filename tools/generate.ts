import { join } from "node:path";
import { generate } from "./generated.ts";

/** `./plumbline generate`: writes the generated files. */
export async function run(): Promise<number> {
  const written = await generate(join(import.meta.dirname, ".."));
  console.log(written.length > 0 ? `Written: ${written.join(", ")}` : "All generated files are fresh.");
  return 0;
}
