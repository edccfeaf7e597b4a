/** Replaces what the daemons are given when they start. In its own time: of what is asked for while it writes, only the last is written. */
export class BootFile {
  readonly #write: (text: string) => Promise<void>;
  #text: (() => string) | undefined;
  #writing: Promise<void> | undefined;
  #failure: { readonly cause: unknown } | undefined;

  constructor(write: (text: string) => Promise<void>) {
    this.#write = write;
  }

  /** Whether the file is not as it was to be. */
  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  renew(text: () => string): void {
    this.#text = text;
    this.#writing ??= this.#run();
  }

  /** Returns when all that was asked for is written; throws why it could not be. */
  async settled(): Promise<void> {
    await this.#writing;
    this.assertWritten();
  }

  assertWritten(): void {
    if (this.#failure) throw this.#failure.cause;
  }

  async #run(): Promise<void> {
    // Whoever asked has more urgent things to do.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#text) {
      const text = this.#text;
      this.#text = undefined;
      this.#failure = undefined;
      try {
        await this.#write(text());
      } catch (cause) {
        this.#failure = { cause };
      }
    }
    this.#writing = undefined;
  }
}
