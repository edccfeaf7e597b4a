import { connect, type Socket } from "node:net";
import type { Address } from "../../ip/address.ts";
import type { Task } from "../../util/deadline.ts";

/** Opens a TCP connection. Resolves with it, or with the error code. */
export type Open = (address: Address, port: number) => Task<Socket | string>;

export const openTcp: Open = (address, port) => {
  const host = address.toString();
  let socket: Socket | undefined;
  const result = new Promise<Socket | string>((resolve) => {
    let opening: Socket;
    try {
      opening = connect({ host, port, family: address.family, autoSelectFamily: false });
    } catch (error) {
      resolve(errorCode(error));
      return;
    }
    socket = opening;
    opening.once("connect", () => {
      const isOwnEnd = opening.localPort === port && opening.localAddress === host;
      // If nothing listens on a local port, the kernel may choose that port as the source and connect to itself.
      if (isOwnEnd) opening.destroy();
      resolve(isOwnEnd ? "ECONNREFUSED" : opening);
    });
    // For the lifetime of the socket: a reset may follow the connection.
    opening.on("error", (error) => resolve(errorCode(error)));
  });
  return { result, cancel: () => socket?.destroy() };
};

/** Opens and closes a TCP connection. Resolves with the error code, or undefined on success. */
export type Connect = (address: Address, port: number) => Task<string | undefined>;

/** Nothing is read from the peer. */
export const tcpConnect: Connect = (address, port) => {
  const opening = openTcp(address, port);
  const result = opening.result.then((opened) => (typeof opened === "string" ? opened : void opened.destroy()));
  return { result, cancel: () => opening.cancel() };
};

export function errorCode(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "EIO";
}
