/** Writes everything, so many at a time. */
export async function inParallel(writers: number, count: number, write: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const writer = async () => {
    while (next < count) await write(next++);
  };
  await Promise.all(Array.from({ length: writers }, writer));
}
