/** Says what a slow thing is doing: one line rewritten every second on a terminal, a line now and then elsewhere. */
export interface Progress {
  /** A new step begins. */
  step(text: string): void;
  /** The step goes on; shown on a terminal at once, elsewhere at most every ten seconds. */
  detail(text: string): void;
  /** The last step is over. */
  done(text?: string): void;
  /** The last step did not succeed; what went wrong is printed elsewhere. */
  failed(): void;
}

const LINE_EVERY_MS = 10_000;
const TICK_MS = 1_000;

export function progressOn(stream: NodeJS.WriteStream): Progress {
  const start = performance.now();
  let current = "";
  let lastDetail: string | undefined;
  let lastLine = 0;
  let ticker: NodeJS.Timeout | undefined;

  const elapsed = () => {
    const seconds = Math.round((performance.now() - start) / 1000);
    return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, "0")}s`;
  };
  const rewrite = (mark: string, detail: string | undefined, end = "") => {
    const room = Math.max(20, (stream.columns ?? 80) - 1);
    const tail = `${detail === undefined ? "" : `: ${shortened(detail, room >> 1)}`} (${elapsed()})`;
    stream.write(`\r\x1b[2K${shortened(`${mark} ${current}`, room - tail.length)}${tail}${end}`);
  };
  const show = () => {
    if (stream.isTTY) return rewrite("…", lastDetail);
    lastLine = performance.now();
    stream.write(`${current}${lastDetail === undefined ? "" : `: ${lastDetail}`} (${elapsed()})\n`);
  };
  const finish = (mark: string) => {
    clearInterval(ticker);
    if (stream.isTTY && current) rewrite(mark, undefined, "\n");
    current = "";
    lastDetail = undefined;
  };

  return {
    step(text) {
      finish("✓");
      current = text;
      show();
      if (stream.isTTY) ticker = setInterval(show, TICK_MS).unref();
    },
    detail(text) {
      lastDetail = text;
      if (stream.isTTY || performance.now() - lastLine > LINE_EVERY_MS) show();
    },
    done(text) {
      if (text) {
        current = text;
        lastDetail = undefined;
        if (!stream.isTTY) show();
      }
      finish("✓");
    },
    failed: () => finish("✗"),
  };
}

function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, Math.max(0, length - 1))}…`;
}

export const silent: Progress = { step() {}, detail() {}, done() {}, failed() {} };
