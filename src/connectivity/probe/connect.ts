import { connect, type Socket } from "node:net";
import type { Address } from "../../ip/address.ts";
import type { Task } from "../../util/deadline.ts";

/** Tries to open a TCP connection and closes it again. It comes to nothing where that worked, otherwise to the error code. */
export type Connect = (address: Address, port: number) => Task<string | undefined>;

export const tcpConnect: Connect = (address, port) => {
  const host = address.toString();
  let socket: Socket | undefined;
  const result = new Promise<string | undefined>((resolve) => {
    try {
      socket = connect({ host, port, family: address.family, autoSelectFamily: false });
    } catch (error) {
      resolve(errorCode(error));
      return;
    }
    // Nothing is read from whoever answers.
    socket.pause();
    socket.once("connect", () => {
      const isOwnEnd = socket?.localPort === port && socket.localAddress === host;
      socket?.destroy();
      // Where nobody listens on a port of this machine, the kernel may pick that very port for us and connect us to ourselves.
      resolve(isOwnEnd ? "ECONNREFUSED" : undefined);
    });
    // Stays for as long as the socket: a reset may still come after the connection.
    socket.on("error", (error) => resolve(errorCode(error)));
  });
  return { result, cancel: () => socket?.destroy() };
};

function errorCode(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "EIO";
}
