import { isIP } from "node:net";
import { InvalidArgumentError, Option } from "commander";

export interface PageAddress {
  readonly host?: string;
  readonly port: number;
  /** A port that a person chose is used or fails; the next ones are not tried. */
  readonly chosen: boolean;
}

const LOCAL_PORT = 8480;

/** On this machine only: everyone who can reach the address sees everything. */
export function localPageOption(): Option {
  return new Option("--page-address <address>", "address of the page, loopback only; off for no page")
    .argParser(localAddress)
    .default({ host: "127.0.0.1", port: LOCAL_PORT, chosen: false }, `127.0.0.1:${LOCAL_PORT}, or the next free port`);
}

function localAddress(text: string): PageAddress | undefined {
  if (text === "off") return undefined;
  const { host, port } = parse(text);
  if (host === undefined || !isLoopback(host))
    throw new InvalidArgumentError("Must be a loopback address, because the page has no login here: 127.0.0.1:8480 or [::1]:8480.");
  return { host, port, chosen: true };
}

/** In a cluster: over TLS, with login. */
export function clusterPageOption(): Option {
  return new Option("--page-address <address>", "address of the page (TLS, login by token); off for no page")
    .argParser((text) => (text === "off" ? undefined : { ...parse(text), chosen: true }))
    .default({ port: 8443, chosen: true }, ":8443");
}

function parse(text: string): { host?: string; port: number } {
  const [, host = "", port = ""] = /^(.*):(\d{1,5})$/.exec(text) ?? [];
  if (port === "" || Number(port) > 65_535) throw new InvalidArgumentError("Must be host:port, :port for all addresses, or off.");
  return { ...(host === "" ? {} : { host: host.replace(/^\[(.*)\]$/, "$1") }), port: Number(port) };
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}
