import { print } from "../../kube/printable.ts";
import { wrapLine } from "../print/wrap.ts";
import { Screen } from "../live-view/screen.ts";

const TICK_MS = 1_000;

interface LiveScreenOptions {
  /** What is shown now, on so many lines. */
  readonly lines: (height: number) => readonly string[];
  /** What stays on the first screen. */
  readonly last: () => readonly string[];
  /** What Ctrl-C does. */
  readonly hint: string;
}

export interface LiveScreen {
  readonly draw: () => void;
  /** A sentence below the lines, until the next one. */
  readonly tell: (line: string) => void;
  readonly close: () => void;
}

/** Lines that follow along on the terminal's second screen, drawn again every second; what they showed last stays on the first. */
export function liveScreen({ lines, last, hint }: LiveScreenOptions): LiveScreen {
  const screen = new Screen(process.stdout);
  let message = "";
  const draw = () => {
    const below = ["", ...(message === "" ? [] : [message]), hint].flatMap((line) => wrapLine(line, process.stdout.columns || 80));
    screen.draw([...lines(screen.height - below.length), ...below]);
  };
  const tick = setInterval(draw, TICK_MS);
  return {
    draw,
    tell(line) {
      message = line;
      draw();
    },
    close() {
      clearInterval(tick);
      screen.close();
      print([...last(), ""].join("\n"));
    },
  };
}

/** A line of a log: `12:45:45 ScaleDown done after 0s`. */
export function tellLine(line: string): void {
  print(`${new Date().toLocaleTimeString("en-GB")} ${line}\n`);
}
