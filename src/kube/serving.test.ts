import { once } from "node:events";
import { createServer, get, type Server } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { createLog } from "./log.ts";
import { limitConnections, listen } from "./serving.ts";

const log = createLog({ level: "silent" });

async function serve(server: Server, maxConnections: number): Promise<AddressInfo> {
  limitConnections(server, { name: "test", log, maxConnections });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return listen(server, { port: 0, host: "127.0.0.1" });
}

test("a connection that cannot be accepted does not end the process, and a port in use is an error", async () => {
  const server = createServer();
  const error = vi.spyOn(log, "error");
  onTestFinished(() => error.mockRestore());
  const { port } = await serve(server, 10);
  expect(server.emit("error", new Error("accept EMFILE"))).toBe(true);
  expect(error).toHaveBeenCalledOnce();
  await expect(listen(createServer(), { port, host: "127.0.0.1" })).rejects.toThrow("EADDRINUSE");
});

test("above the limit, connections without a request are closed first, then idle ones; running requests stay", async () => {
  const arrived = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    if (request.url === "/slow") {
      arrived.resolve();
      void answer.promise.then(() => response.end("done"));
    } else response.end("ok");
  });
  const { port } = await serve(server, 3);
  const slow = new Promise<string>((resolve, reject) => {
    get({ port, host: "127.0.0.1", path: "/slow", agent: false }, (response) => response.setEncoding("utf8").on("data", resolve)).on(
      "error",
      reject,
    );
  });
  await arrived.promise;
  const open = async (text = "") => {
    const socket = connect(port, "127.0.0.1").on("error", () => undefined);
    await once(socket, "connect");
    if (text !== "") {
      socket.write(text);
      await once(socket, "data");
    } else socket.resume();
    return socket;
  };
  const idle = await open("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const silent = await open();
  const gone = once(silent, "close");
  const second = await open();
  await gone;
  expect([idle.destroyed, second.destroyed]).toEqual([false, false]);
  await open("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  if (!second.destroyed) await once(second, "close");
  expect(idle.destroyed).toBe(false);
  await open();
  if (!idle.destroyed) await once(idle, "close");
  answer.resolve();
  expect(await slow).toBe("done");
});
