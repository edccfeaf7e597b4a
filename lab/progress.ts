/** Says what a slow thing is doing: one line rewritten on a terminal, a line now and then elsewhere. */
export interface Progress {
  /** A new step begins. */
  step(text: string): void;
  /** The step goes on; shown on a terminal at once, elsewhere at most every ten seconds. */
  detail(text: string): void;
  /** The last step is over. */
  done(text?: string): void;
}

const LINE_EVERY_MS = 10_000;

export function progressOn(stream: NodeJS.WriteStream): Progress {
  const start = performance.now();
  let current = "";
  let lastLine = 0;

  const elapsed = () => {
    const seconds = Math.round((performance.now() - start) / 1000);
    return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, "0")}s`;
  };
  const rewrite = (text: string, end: string) => {
    const room = Math.max(20, (stream.columns ?? 80) - 1);
    stream.write(`\r\x1b[2K${text.slice(0, room)}${end}`);
  };
  const show = (text: string) => {
    if (stream.isTTY) return rewrite(`… ${text} (${elapsed()})`, "");
    lastLine = performance.now();
    stream.write(`${text} (${elapsed()})\n`);
  };
  const finish = (text: string) => {
    if (stream.isTTY) rewrite(`✓ ${text} (${elapsed()})`, "\n");
  };

  return {
    step(text) {
      if (current) finish(current);
      current = text;
      show(text);
    },
    detail(text) {
      if (stream.isTTY || performance.now() - lastLine > LINE_EVERY_MS) show(`${current}: ${text}`);
    },
    done(text) {
      if (text) {
        if (!stream.isTTY) show(text);
        current = text;
      }
      if (current) finish(current);
      current = "";
    },
  };
}

export const silent: Progress = { step() {}, detail() {}, done() {} };
