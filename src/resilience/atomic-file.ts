import { access, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/** Atomic, also across a power cut. */
export async function replaceFile(path: string, text: string, mode = 0o600): Promise<void> {
  const temporary = `${path}.new`;
  try {
    await using file = await open(temporary, "w", mode);
    await file.chmod(mode);
    await file.writeFile(text);
    await file.sync();
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
  await using directory = await open(dirname(path));
  await directory.sync();
}

export async function isThere(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
