/** A part of the lab is not available, did not start, or failed. The message is for the user. */
export class LabError extends Error {
  override readonly name = "LabError";
  readonly code: "NoBinaries" | "NotBooted" | "NotStarted" | "Unreachable" | "CommandFailed" | "Misuse";

  constructor(code: LabError["code"], message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}
