import type { AddressInfo, Server } from "node:net";
import type { Identity } from "../x509.ts";

export function secureContext({ certificate, privateKey }: Identity) {
  return { cert: certificate, key: privateKey, minVersion: "TLSv1.2" } as const;
}

export function listen(server: Server, port: number, host: string | undefined): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, ...(host !== undefined && { host }) }, () => {
      server.off("error", reject);
      resolve(server.address() as AddressInfo);
    });
  });
}
