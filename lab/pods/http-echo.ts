/**
 * What runs in a pod of the lab: answers every HTTP request with its own name, once per connection. When told to end it goes on
 * answering until it is killed, since some senders do not know yet.
 * Usage: http-echo.ts NAME PORT...
 */
import { createServer } from "node:http";

const [name = "", ...ports] = process.argv.slice(2);

for (const port of ports) {
  const server = createServer((_request, response) => response.writeHead(200, { connection: "close" }).end(`${name}\n`));
  server.listen(Number(port), "0.0.0.0", () => process.stdout.write(`${port}\n`));
}
process.on("SIGTERM", () => undefined);
