/** A part of the lab could not be had or did not come up. The message is for whoever asked for it. */
export class LabError extends Error {
  override readonly name = "LabError";
  readonly code: "NoBinaries" | "NotStarted";

  constructor(code: LabError["code"], message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}
