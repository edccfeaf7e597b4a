/**
 * Runs on the client: opens a connection to each of its targets again and again, asks who answers, and tells how it went, a JSON line
 * for each attempt. Targets come as JSON lines on standard input, each line in place of the one before.
 * Usage: connect.ts EVERY-MS
 */
import { connect } from "node:net";
import { createInterface } from "node:readline";

export interface ConnectTarget {
  readonly name: string;
  readonly address: string;
  readonly port: number;
}

export interface ConnectAttempt {
  readonly name: string;
  /** When it began, in milliseconds of the epoch. */
  readonly at: number;
  readonly ms: number;
  /** The node that answered; undefined if none did. */
  readonly by?: string;
  readonly why?: string;
}

/** A first packet that is lost is sent again after a second; that is late, not lost. */
const ANSWER_WITHIN_MS = 2_500;
let targets: readonly ConnectTarget[] = [];

function attempt({ name, address, port }: ConnectTarget): void {
  const at = Date.now();
  const began = performance.now();
  let text = "";
  let over = false;
  const tell = (outcome: Pick<ConnectAttempt, "by" | "why">) => {
    if (over) return;
    over = true;
    socket.destroy();
    process.stdout.write(
      `${JSON.stringify({ name, at, ms: Math.round(performance.now() - began), ...outcome } satisfies ConnectAttempt)}\n`,
    );
  };
  const socket = connect({ host: address, port, noDelay: true });
  socket.setTimeout(ANSWER_WITHIN_MS, () => tell({ why: "no answer" }));
  socket.on("connect", () => socket.write("GET / HTTP/1.0\r\n\r\n"));
  socket.on("data", (chunk) => (text += chunk.toString()));
  socket.on("error", (error: NodeJS.ErrnoException) => tell({ why: error.code ?? error.message }));
  socket.on("close", () => {
    const [head = "", body = ""] = text.split("\r\n\r\n");
    tell(/^HTTP\/1\.\d 200 /.test(head) ? { by: body.trim() } : { why: "closed without an answer" });
  });
}

createInterface({ input: process.stdin }).on("line", (line) => (targets = JSON.parse(line) as ConnectTarget[]));
setInterval(
  () => {
    for (const target of targets) attempt(target);
  },
  Number(process.argv[2] ?? 1_000),
);
