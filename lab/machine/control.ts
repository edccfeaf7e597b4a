/**
 * Runs inside the lab's machine and starts there what is asked for over TCP: one connection is one process, which ends with it.
 * Usage: control.ts ADDRESS PORT TOKEN-FILE
 */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { constants } from "node:os";
import { encode, type Exit, FRAME, frameReader, type Request } from "./frames.ts";

const [address = "", port = "", tokenFile = ""] = process.argv.slice(2);
const token = readFileSync(tokenFile, "utf8");
const OUTPUT_LEFT_MS = 300;

const server = createServer({ noDelay: true }, (socket) => {
  let child: ChildProcess | undefined;
  socket.on(
    "data",
    frameReader((type, payload) => {
      if (type === FRAME.request && !child) child = start(socket, JSON.parse(payload.toString()) as Request);
      else if (type === FRAME.input) child?.stdin?.write(payload);
      else if (type === FRAME.inputEnd) child?.stdin?.end();
      else if (type === FRAME.signal) signal(child, payload.toString() as NodeJS.Signals);
    }),
  );
  socket.once("close", () => signal(child, "SIGKILL"));
  socket.on("error", () => socket.destroy());
});
server.listen(Number(port), address);

function start(socket: Socket, request: Request): ChildProcess | undefined {
  if (request.token !== token) return void socket.destroy();
  const end = (exit: Exit) => socket.end(encode(FRAME.exit, JSON.stringify(exit)));
  const [program = "", ...args] = request.command;
  // A group of its own, so that what it started ends with it.
  const child = spawn(program, args, {
    stdio: "pipe",
    detached: true,
    env: { ...process.env, ...request.env },
    ...(request.cwd === undefined ? {} : { cwd: request.cwd }),
  });
  child.stdin.on("error", () => undefined);
  for (const [stream, type] of [
    [child.stdout, FRAME.output],
    [child.stderr, FRAME.errors],
  ] as const) {
    stream.on("data", (chunk: Buffer) => {
      if (!socket.write(encode(type, chunk))) stream.pause();
    });
    socket.on("drain", () => stream.resume());
  }
  child.once("error", (error) => end({ code: 127, problem: error.message }));
  child.once("exit", (code, killed) => {
    const exit = () => end({ code: code ?? 128 + constants.signals[killed ?? "SIGKILL"] });
    // A daemon that it left behind may hold its output for ever.
    const enough = setTimeout(exit, OUTPUT_LEFT_MS);
    child.once("close", () => {
      clearTimeout(enough);
      exit();
    });
  });
  return child;
}

function signal(child: ChildProcess | undefined, name: NodeJS.Signals): void {
  if (child?.pid === undefined) return;
  try {
    process.kill(-child.pid, name);
  } catch {
    // Gone already.
  }
}
