const ENTER = "\u001b[?1049h\u001b[?25l\u001b[?7l";
const LEAVE = "\u001b[?7h\u001b[?25h\u001b[?1049l";
const HOME = "\u001b[H";
const CLEAR_LINE = "\u001b[K";
const CLEAR_BELOW = "\u001b[J";

/** A terminal's second screen, which gives back the first one untouched. */
export class Screen {
  readonly #stream: NodeJS.WriteStream;
  readonly #leave = (): void => void this.#stream.write(LEAVE);
  #drawn = "";

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
    stream.write(ENTER);
    // However the process ends, a terminal without a cursor is not what it leaves.
    process.once("exit", this.#leave);
  }

  get height(): number {
    return this.#stream.rows || 24;
  }

  /** In one write, over what was there, so that nothing flickers. */
  draw(lines: readonly string[]): void {
    const text = lines
      .slice(0, this.height)
      .map((line) => line + CLEAR_LINE)
      .join("\r\n");
    if (text === this.#drawn) return;
    this.#drawn = text;
    this.#stream.write(HOME + text + CLEAR_BELOW);
  }

  /** Draws everything again next time: the terminal has another size. */
  forget(): void {
    this.#drawn = "";
  }

  close(): void {
    process.off("exit", this.#leave);
    this.#leave();
  }
}
