import { connect, type Socket } from "node:net";
import type { Address } from "../../ip/address.ts";
import type { Task } from "../../util/deadline.ts";

/** Opens and closes a TCP connection. Resolves with the error code, or undefined on success. */
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
    // Nothing is read from the peer.
    socket.pause();
    socket.once("connect", () => {
      const isOwnEnd = socket?.localPort === port && socket.localAddress === host;
      socket?.destroy();
      // If nothing listens on a local port, the kernel may choose that port as the source and connect to itself.
      resolve(isOwnEnd ? "ECONNREFUSED" : undefined);
    });
    // For the lifetime of the socket: a reset may follow the connection.
    socket.on("error", (error) => resolve(errorCode(error)));
  });
  return { result, cancel: () => socket?.destroy() };
};

function errorCode(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "EIO";
}
