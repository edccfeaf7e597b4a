import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

export interface Asset {
  readonly type: string;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly gzipped: Uint8Array<ArrayBuffer>;
  /** Whether its name contains a hash of its content. */
  readonly lasts: boolean;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
};

/** The built files by path: `/`, `/assets/index-abc.js`. They are kept in memory: no path of a request reaches the disk. */
export async function readAssets(directory: string): Promise<ReadonlyMap<string, Asset>> {
  const assets = new Map<string, Asset>();
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const type = TYPES[extname(entry.name)];
    if (!entry.isFile() || type === undefined) continue;
    const file = join(entry.parentPath, entry.name);
    const path = `/${relative(directory, file)}`;
    const body = new Uint8Array(await readFile(file));
    const gzipped = new Uint8Array(await promisify(gzip)(body));
    assets.set(path === "/index.html" ? "/" : path, { type, body, gzipped, lasts: path.startsWith("/assets/") });
  }
  return assets;
}
