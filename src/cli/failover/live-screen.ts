import type { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import { print } from "../../kube/printable.ts";
import { wrapLine } from "../print/wrap.ts";
import { Screen } from "../live-view/screen.ts";

const TICK_MS = 1_000;

export interface ProgressView<T> {
  show(value: T): void;
  /** A sentence below the lines, until the next call. */
  tell(line: string): void;
  close(): void;
}

interface ScreenOptions<T> {
  readonly lines: (value: T, height: number) => readonly string[];
  readonly last: (value: T) => readonly string[];
  readonly hint: string;
}

export function screenView<T>({ lines, last, hint }: ScreenOptions<T>): ProgressView<T> {
  const screen = new Screen(process.stdout);
  let message = "";
  let current: readonly [T] | readonly [] = [];
  const draw = () => {
    const below = ["", ...(message === "" ? [] : [message]), hint].flatMap((line) => wrapLine(line, process.stdout.columns || 80));
    screen.draw([...current.flatMap((value) => lines(value, screen.height - below.length)), ...below]);
  };
  const tick = setInterval(draw, TICK_MS);
  return {
    show(value) {
      current = [value];
      draw();
    },
    tell(line) {
      message = line;
      draw();
    },
    close() {
      clearInterval(tick);
      screen.close();
      print([...current.flatMap(last), ""].join("\n"));
    },
  };
}

/** For `-o json`, which prints the result alone. */
export const noView: ProgressView<unknown> = { show: () => undefined, tell: () => undefined, close: () => undefined };

export function tellConnection(cache: Cache<FailoverPolicy>, tell: (line: string) => void): void {
  let lost = false;
  cache.onConnection((state) => {
    if (state === "lost") tell("The API server does not answer; trying again");
    else if (lost) tell("The API server answers again");
    lost = state === "lost";
  });
}

/** A line of a log: `12:45:45 ScaleDown done after 0s`. */
export function tellLine(line: string): void {
  print(`${new Date().toLocaleTimeString("en-GB")} ${line}\n`);
}
