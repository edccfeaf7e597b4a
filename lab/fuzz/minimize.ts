/**
 * The shortest history that still fails, as far as there is time to look for it: what happened last is tried first, then each of the others is left
 * out once. What is given back has failed, unless nothing did when it was tried again: then it is the whole history.
 */
export async function shortest<T>(
  history: readonly T[],
  fails: (history: readonly T[]) => Promise<boolean>,
  isTime: () => boolean,
): Promise<readonly T[]> {
  let found = history;
  for (let length = 1; length < history.length && isTime(); length *= 2) {
    const last = history.slice(-length);
    if (!(await fails(last))) continue;
    found = last;
    break;
  }
  for (let at = 0; at < found.length && found.length > 1 && isTime();) {
    const without = found.toSpliced(at, 1);
    if (await fails(without)) found = without;
    else at++;
  }
  return found;
}
