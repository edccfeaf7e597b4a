import { connect, type Socket } from "node:net";
import type { Address } from "../../ip/address.ts";
import type { Task } from "./in-time.ts";

/** Tries to open a TCP connection and closes it again. It comes to nothing where that worked, otherwise to the error code. */
export type Connect = (address: Address, port: number) => Task<string | undefined>;

export const tcpConnect: Connect = (address, port) => {
  let socket: Socket | undefined;
  const result = new Promise<string | undefined>((resolve) => {
    try {
      socket = connect({ host: address.toString(), port, family: address.family, autoSelectFamily: false });
    } catch (error) {
      resolve(codeOf(error));
      return;
    }
    socket.once("connect", () => {
      socket?.destroy();
      resolve(undefined);
    });
    // Stays for as long as the socket: a reset may still come after the connection.
    socket.on("error", (error) => resolve(codeOf(error)));
  });
  return { result, cancel: () => socket?.destroy() };
};

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "EIO";
}
