import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { sentenceAbout } from "../src/cli/shared/exit.ts";
import type { Progress } from "./progress.ts";

/** What a process in the background says to the one that started it, each as a line of JSON on its standard output. */
type Message =
  | { readonly is: "step" | "detail"; readonly text: string }
  | { readonly is: "done"; readonly text?: string | undefined }
  | { readonly is: "up" }
  | { readonly is: "failed"; readonly sentence: string; readonly exitCode: number };

/** What to say instead of being up, when asked to end before that. */
export const STOPPED_EARLY = "Stopped before it was up. Everything was removed.";

/** How a start ended; undefined: without a word, because the process was killed. */
type StartOutcome = Extract<Message, { is: "up" | "failed" }> | undefined;

/** Passes the progress on, until the other process is up or has failed. */
export async function readReport(from: Readable, progress: Progress): Promise<StartOutcome> {
  for await (const line of createInterface({ input: from })) {
    const message = JSON.parse(line) as Message;
    if (message.is === "up" || message.is === "failed") return message;
    if (message.is === "done") progress.done(message.text);
    else progress[message.is](message.text);
  }
  return undefined;
}

/** In the process that was started: standard output is read until `hold` calls `up`, or fails before that. */
export async function reportToStarter(hold: (progress: Progress, up: () => void) => Promise<void>): Promise<void> {
  let isUp = false;
  const progress: Progress = {
    step: (text) => send({ is: "step", text }),
    detail: (text) => send({ is: "detail", text }),
    done: (text) => send({ is: "done", text }),
    failed: () => undefined,
  };
  try {
    await hold(progress, () => {
      isUp = true;
      send({ is: "up" });
    });
  } catch (error) {
    const { sentence, exitCode } = sentenceAbout(error);
    if (!isUp && sentence !== undefined) send({ is: "failed", sentence, exitCode });
    throw error;
  }
}

function send(message: Message): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
