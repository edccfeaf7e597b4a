import { readFile } from "node:fs/promises";
import { type Command, InvalidArgumentError, Option } from "commander";
import { readProbe } from "../../api/connectivity/probe.ts";
import { parseTarget, type Target, withProbe } from "../../connectivity/probe/target.ts";
import { parseCheckInterval } from "../shared/agent-options.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import { oneOf } from "../shared/log-level.ts";

interface HttpOptions {
  status?: number[];
  body?: string;
  host?: string;
  caFile?: string;
  insecure?: boolean;
  followRedirects?: boolean;
  once?: boolean;
  interval: number;
  output?: "json";
}

/** `plumbline p2pnc check tcp-endpoint`, or without the first word. */
export function lineOf(command: Command): string {
  return command.parent ? `${lineOf(command.parent)} ${command.name()}` : command.name();
}

export function configureHttp(command: Command): void {
  command
    .description("Send GET requests to URLs and check the answers, by hand and without a cluster.")
    .argument("<urls...>", "http:// or https:// URL")
    .addOption(new Option("--status <codes>", "status codes to accept (default: 200 to 299)").argParser(parseCodes))
    .option("--body <text>", "text that the body must contain")
    .option("--host <name>", "Host header, and name in the certificate (default: the host of the URL)")
    .option("--ca-file <file>", "certificates in PEM that sign the server's (default: the public authorities)")
    .option("--insecure", "accept every certificate")
    .option("--follow-redirects", "follow redirects to the same host")
    .option("--once", "try each URL once")
    .addOption(new Option("--interval <duration>", "interval of each check").argParser(parseCheckInterval).default(60_000, "1m"))
    .option("-o, --output <format>", "json for scripts", oneOf(["json"]))
    .addHelpText("after", ({ command }) => {
      const line = lineOf(command);
      return `
Exits with 0 only if every answer is as expected, with 1 if not, and with 3 if this machine itself could not try.

Examples:
  ${line} --once http://10.0.134.23:8080/healthz --status 200 --body ok
  ${line} --once https://10.0.134.23:6443/readyz --ca-file ca.crt --host kubernetes.default.svc
`;
    })
    .action(checkUrls);
}

async function checkUrls(urls: string[], { once = false, output, interval, ...options }: HttpOptions): Promise<void> {
  const caBundle = options.caFile === undefined ? undefined : await readFile(options.caFile, "utf8");
  const targets = urls.map((url) => urlTarget(url, { ...options, ...(caBundle !== undefined && { caBundle }) }));
  const { tryByHand } = await import("./try-once.ts");
  await tryByHand(targets, { once, output, intervalMs: interval });
}

type Expected = Pick<HttpOptions, "status" | "body" | "host" | "insecure" | "followRedirects"> & { caBundle?: string };

/** A URL on the command line with its options. */
export function urlTarget(url: string, { status, body, host, insecure, followRedirects, caBundle }: Expected): Target {
  const [, scheme = "", authority = "", path = "/"] = /^(https?):\/\/([^/?#]+)([/?][^#]*)?$/i.exec(url) ?? [];
  if (authority === "") throw misuse(url, "not a URL; use http://HOST:PORT/PATH or https://HOST:PORT/PATH");
  if (authority.includes("@")) throw misuse(url, "a check sends no credentials; leave out what is before @");
  const type = scheme.toUpperCase() === "HTTPS" ? "HTTPS" : "HTTP";
  const hasPort = /:\d*$/.test(authority.replace(/^\[.*\]/, ""));
  const target = parseTarget(hasPort ? authority : `${authority}:${type === "HTTPS" ? 443 : 80}`);
  if ("problem" in target) throw misuse(url, target.problem);
  const tls = caBundle === undefined && insecure === undefined ? undefined : { caBundle, insecure };
  const expect = status === undefined && body === undefined ? undefined : { status, body };
  const probe = readProbe(JSON.stringify({ type, path: path.startsWith("/") ? path : `/${path}`, host, expect, followRedirects, tls }));
  if ("problem" in probe) throw misuse(url, probe.problem);
  return withProbe(target, probe);
}

function misuse(url: string, problem: string): CliError {
  return new CliError(`${url}: ${problem}`, EXIT.misuse);
}

function parseCodes(text: string): number[] {
  const codes = text.split(",").map(Number);
  if (!codes.every((code) => Number.isInteger(code) && code >= 100 && code <= 599))
    throw new InvalidArgumentError("Must be status codes separated by commas, such as 200,204.");
  return codes;
}
