/** Changes within this time are written together. If the agent is killed meanwhile, the next one configures FRR and writes the file in its first pass. */
const GATHER_MS = 200;

/** Writes the start configuration in the background: of several requests only the last is written. */
export class BootFile {
  readonly #write: (text: string) => Promise<void>;
  #text: (() => string) | undefined;
  #writing: Promise<void> | undefined;
  #failure: { readonly cause: unknown } | undefined;
  #isUrgent = false;
  #wake: (() => void) | undefined;

  constructor(write: (text: string) => Promise<void>) {
    this.#write = write;
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  renew(text: () => string): void {
    this.#text = text;
    this.#writing ??= this.#run();
  }

  /** Writes at once what is pending; throws the write error. */
  async flush(): Promise<void> {
    this.#isUrgent = true;
    this.#wake?.();
    await this.#writing;
    this.#isUrgent = false;
    if (this.#failure) throw this.#failure.cause;
  }

  async #run(): Promise<void> {
    while (this.#text) {
      await this.#gather();
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

  async #gather(): Promise<void> {
    if (this.#isUrgent) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, GATHER_MS);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }
}
