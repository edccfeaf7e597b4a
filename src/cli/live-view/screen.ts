const ENTER = "\u001b[?1049h\u001b[?25l\u001b[?7l";
const LEAVE = "\u001b[?7h\u001b[?25h\u001b[?1049l";
const HOME = "\u001b[H";
const CLEAR_LINE = "\u001b[K";
const CLEAR_BELOW = "\u001b[J";

/** The terminal's alternate screen. */
export class Screen {
  readonly #stream: NodeJS.WriteStream;
  readonly #leave = (): void => void this.#stream.write(LEAVE);
  #drawn = "";

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
    stream.write(ENTER);
    // Restore the cursor however the process ends.
    process.once("exit", this.#leave);
  }

  get height(): number {
    return this.#stream.rows || 24;
  }

  /** In one write, without clearing, so that nothing flickers. */
  draw(lines: readonly string[]): void {
    const text = lines
      .slice(0, this.height)
      .map((line) => line + CLEAR_LINE)
      .join("\r\n");
    if (text === this.#drawn) return;
    this.#drawn = text;
    this.#stream.write(HOME + text + CLEAR_BELOW);
  }

  /** Draws everything next time, because the terminal was resized. */
  forget(): void {
    this.#drawn = "";
  }

  close(): void {
    process.off("exit", this.#leave);
    this.#leave();
  }
}
