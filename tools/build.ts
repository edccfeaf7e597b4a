import { chmod, readFile } from "node:fs/promises";
import { join } from "node:path";
import { rolldown } from "rolldown";

const ROOT = join(import.meta.dirname, "..");

/** Each program and where it starts. */
const PROGRAMS = { plumbline: "src/main.ts" } as const;

/** `npm run build`: one file per program in dist/, with a source map. */
export async function run(): Promise<number> {
  const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as { version: string };
  for (const [name, entry] of Object.entries(PROGRAMS)) {
    const bundle = await rolldown({
      input: join(ROOT, entry),
      platform: "node",
      // pino's worker transports and prom-client's cluster mode are never used; both resolve their helpers at run time only then.
      transform: { define: { PLUMBLINE_VERSION: JSON.stringify(version) } },
    });
    const file = join(ROOT, "dist", `${name}.js`);
    const { output } = await bundle.write({
      file,
      format: "esm",
      sourcemap: true,
      minify: "dce-only",
      codeSplitting: false,
      banner: "#!/usr/bin/env -S node --max-semi-space-size=1",
    });
    await bundle.close();
    await chmod(file, 0o755);
    const [main] = output;
    console.log(`dist/${name}.js ${Math.round(Buffer.byteLength(main.code) / 1024)} KiB`);
  }
  return 0;
}
