import { createServer } from "node:net";

// Accepts and closes every connection, in its own process so that its CPU time is not counted.

const server = createServer({ pauseOnConnect: true }, (socket) => {
  socket.on("error", () => undefined);
  socket.destroy();
});
server.listen({ host: "0.0.0.0", port: 0, backlog: 1024 }, () => process.send?.(server.address()));
