/** The session as a poller sees it for the first time, or when it is in another state than before. */
export interface ObservedSession {
  established: boolean;
  /** Wall clock. */
  at: number;
}

export interface Used {
  cpuMs: number;
}

/** Asks on every full second, so that two pollers have the same chance to be soon. Answers any message with the CPU time used so far. */
export function pollEverySecond(established: () => Promise<boolean>, cpuMs: () => number): void {
  let before: boolean | undefined;
  const poll = async () => {
    const now = await established();
    if (now !== before) process.send?.({ established: now, at: Date.now() } satisfies ObservedSession);
    before = now;
    next();
  };
  const next = () => setTimeout(() => void poll(), 1_000 - (Date.now() % 1_000));
  process.on("message", () => process.send?.({ cpuMs: cpuMs() } satisfies Used));
  next();
}
