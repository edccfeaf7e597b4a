/**
 * Runs on a node where nothing translates service addresses to pods: listens on the services' ports in the pods' place, and says so. What it
 * stands in for comes as JSON lines on standard input, each line in place of the one before.
 * Usage: backend-emulator.ts NODE
 */
import { createServer, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";

export interface EmulatedService {
  readonly service: string;
  readonly address: string;
  readonly port: number;
}

const node = process.argv[2] ?? "";
const servers = new Map<number, Server>();
let services: readonly EmulatedService[] = [];

/** One listener for all services of a port: the address that the client asked for tells them apart. */
function serve(socket: Socket, port: number): void {
  const found = services.find((one) => one.address === socket.localAddress && one.port === port);
  socket.on("error", () => undefined);
  if (!found) return void socket.resetAndDestroy();
  const body = `a stand-in for ${found.service} on ${node}\n`;
  socket.once("data", () => socket.end(`HTTP/1.0 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`));
}

createInterface({ input: process.stdin }).on("line", (line) => {
  services = JSON.parse(line) as EmulatedService[];
  const wanted = new Set(services.map(({ port }) => port));
  for (const [port, server] of servers) {
    if (wanted.has(port)) continue;
    server.close();
    servers.delete(port);
  }
  for (const port of wanted) {
    if (servers.has(port)) continue;
    const server = createServer((socket) => serve(socket, port));
    server.on("error", (error) => process.stderr.write(`${error.message}\n`));
    server.listen(port, "0.0.0.0");
    servers.set(port, server);
  }
});
