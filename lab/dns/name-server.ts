/**
 * Runs in the lab's machine: a small stand-in for a cluster's name server. What it knows comes as JSON lines on standard input, an object of
 * addresses by name, each line in place of the one before; what is in LIES-FILE it says instead. It tells what it is to whoever connects over TCP.
 * Usage: name-server.ts ADDRESS LIES-FILE
 */
import { createSocket } from "node:dgram";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { answerTo } from "./dns.ts";

type Names = Readonly<Record<string, string>>;

const PORT = 53;
const [address = "", liesFile = ""] = process.argv.slice(2);
let names: Names = {};

function lies(): Names {
  try {
    return JSON.parse(readFileSync(liesFile, "utf8")) as Names;
  } catch {
    return {};
  }
}

const socket = createSocket("udp4");
socket.on("message", (query, from) => {
  const answer = answerTo(query, { ...names, ...lies() });
  if (answer) socket.send(answer, from.port, from.address);
});
socket.on("error", (error) => process.stderr.write(`${error.message}\n`));
socket.bind(PORT, address);

const overTcp = createServer((connection) => {
  connection.on("error", () => undefined);
  connection.end("a stand-in for a name server, which answers over UDP\n");
});
overTcp.listen(PORT, address);

createInterface({ input: process.stdin }).on("line", (line) => (names = JSON.parse(line) as Names));
