import { open } from "node:fs/promises";

/** A file that its owner alone reads; one that is there keeps its mode when it is only written. */
export async function writeOwnersFile(path: string, content: Buffer): Promise<void> {
  await using file = await open(path, "w", 0o600);
  if ((await file.stat()).isFile()) await file.chmod(0o600);
  await file.writeFile(content);
}
