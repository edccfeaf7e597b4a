/** A part of the lab could not be had, did not come up, or did not do as told. The message is for whoever asked for it. */
export class LabError extends Error {
  override readonly name = "LabError";
  readonly code: "NoBinaries" | "NotStarted" | "Unreachable" | "CommandFailed" | "Misuse";

  constructor(code: LabError["code"], message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}
