/** ok: as it should be. warn: it works, with less. fail: an agent would not work here. */
export type Level = "ok" | "warn" | "fail";

/** What was found out about one thing that an agent needs. */
export interface Finding {
  /** What was looked at: `kernel vrf`, `port 8081/tcp`. */
  readonly check: string;
  readonly level: Level;
  /** What is so, and what that means. */
  readonly message: string;
  /** What to do about it. */
  readonly remedy?: string;
}

/** Which parts an agent on this node would have. */
export interface Parts {
  readonly router: boolean;
}

export const ok = (check: string, message: string): Finding => ({ check, level: "ok", message });
export const warn = (check: string, message: string, remedy: string): Finding => ({ check, level: "warn", message, remedy });
export const fail = (check: string, message: string, remedy: string): Finding => ({ check, level: "fail", message, remedy });
