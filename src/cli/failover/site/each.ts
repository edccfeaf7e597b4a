/** Works on all of them, so many at a time. The first error is thrown once none is under way any more. */
export async function each<T, R>(items: readonly T[], most: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const rest = items.entries();
  const worker = async () => {
    for (const [at, item] of rest) results[at] = await work(item);
  };
  const workers = Array.from({ length: Math.min(most, items.length) }, worker);
  await Promise.allSettled(workers);
  await Promise.all(workers);
  return results;
}
