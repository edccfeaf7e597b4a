/** ok: as it should be. warn: it works, with less. fail: an agent would not work here. */
export type CheckLevel = "ok" | "warn" | "fail";

export interface CheckFinding {
  /** What was looked at: `kernel vrf`, `port 8081/tcp`. */
  readonly check: string;
  readonly level: CheckLevel;
  readonly message: string;
  readonly remedy?: string;
}

export interface EnabledComponents {
  readonly router: boolean;
}

export const ok = (check: string, message: string): CheckFinding => ({ check, level: "ok", message });
export const warn = (check: string, message: string, fix: string): CheckFinding => ({ check, level: "warn", message, remedy: fix });
export const fail = (check: string, message: string, fix: string): CheckFinding => ({ check, level: "fail", message, remedy: fix });
