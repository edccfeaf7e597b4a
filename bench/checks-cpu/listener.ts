import { createServer } from "node:net";

// Takes every connection and lets it go, in a process of its own: what it uses is nobody's.

const server = createServer({ pauseOnConnect: true }, (socket) => {
  socket.on("error", () => undefined);
  socket.destroy();
});
server.listen({ host: "0.0.0.0", port: 0, backlog: 1024 }, () => process.send?.(server.address()));
