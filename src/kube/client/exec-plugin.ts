import { dirname, resolve } from "node:path";
import type { Credential } from "./access.ts";
import { KubeError, type KubeErrorCode } from "./error.ts";
import type { KubeconfigSection } from "./kubeconfig-section.ts";

const VERSIONS = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];
const TIMEOUT_MS = 60_000;
const OUTPUT_LIMIT = 1024 * 1024;

interface ExecCredential {
  apiVersion?: unknown;
  kind?: unknown;
  status?: {
    token?: string;
    clientCertificateData?: string;
    clientKeyData?: string;
    expirationTimestamp?: string;
  };
}

/** A kubeconfig's exec command. It runs if there are no credentials, they expire, or the server rejects them. */
export class ExecPlugin {
  readonly #exec: KubeconfigSection;
  readonly #command: string;
  readonly #apiVersion: string;
  readonly #cluster: Record<string, unknown> | undefined;
  #cached: { identity: Credential; expires: number } | undefined;
  #running: Promise<Credential> | undefined;

  constructor(exec: KubeconfigSection, server: string, cluster: KubeconfigSection) {
    this.#exec = exec;
    const command = exec.required("command");
    this.#command = /[/\\]/.test(command) ? resolve(dirname(exec.file), command) : command;
    this.#apiVersion = exec.required("apiVersion");
    if (!VERSIONS.includes(this.#apiVersion)) {
      throw exec.bad("apiVersion", `is ${this.#apiVersion}; supported are ${VERSIONS.join(" and ")}`);
    }
    this.#cluster = exec.flag("provideClusterInfo") ? clusterInfo(server, cluster) : undefined;
  }

  async identity(rejected: Credential | undefined): Promise<Credential> {
    const cached = this.#cached;
    const wasRejected = rejected !== undefined && cached !== undefined && covers(rejected, cached.identity);
    if (cached && Date.now() < cached.expires && !wasRejected) return cached.identity;
    // Concurrent callers share one run.
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
    return this.#running;
  }

  async #run(): Promise<Credential> {
    const where = this.#exec.where("command");
    const output = await this.#spawn(where);
    let credential: ExecCredential | null;
    try {
      credential = JSON.parse(output) as ExecCredential | null;
    } catch (cause) {
      throw new KubeError("BadKubeconfig", `${this.#command}, named by ${where}, does not print JSON; run it by hand to see its output`, {
        cause,
      });
    }
    if (credential?.kind !== "ExecCredential" || credential.apiVersion !== this.#apiVersion) {
      throw new KubeError("BadKubeconfig", `${this.#command}, named by ${where}, does not print an ExecCredential of ${this.#apiVersion}`);
    }
    const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = credential.status ?? {};
    if (!token && !(cert && key)) {
      throw new KubeError(
        "BadKubeconfig",
        `${this.#command}, named by ${where}, prints an ExecCredential with neither status.token nor a certificate with its key`,
      );
    }
    const identity: Credential = { ...(token ? { token } : {}), ...(cert && key ? { cert, key } : {}) };
    const expires = expirationTimestamp === undefined ? Number.POSITIVE_INFINITY : Date.parse(expirationTimestamp);
    this.#cached = { identity, expires: Number.isNaN(expires) ? 0 : expires };
    return identity;
  }

  #spawn(where: string): Promise<string> {
    const mode = this.#exec.text("interactiveMode") ?? "IfAvailable";
    const interactive = mode !== "Never" && process.stdin.isTTY;
    if (mode === "Always" && !interactive) {
      throw new KubeError(
        "Unauthorized",
        `${this.#command}, named by ${where}, needs a terminal, and there is none; log in on a terminal first`,
      );
    }
    const info = {
      apiVersion: this.#apiVersion,
      kind: "ExecCredential",
      spec: { interactive, ...(this.#cluster ? { cluster: this.#cluster } : {}) },
    };
    const env: NodeJS.ProcessEnv = { ...process.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) };
    for (const entry of this.#exec.entries("env")) env[entry.required("name")] = entry.text("value") ?? "";

    const { spawn } = process.getBuiltinModule("node:child_process");
    return new Promise((resolve, reject) => {
      const child = spawn(this.#command, this.#exec.texts("args"), {
        env,
        stdio: [interactive ? "inherit" : "ignore", "pipe", interactive ? "inherit" : "pipe"],
      });
      const failed = (code: KubeErrorCode, how: string, cause?: unknown): void => {
        clearTimeout(timer);
        reject(new KubeError(code, `${this.#command}, named by ${where}, ${how}`, { cause }));
      };
      const timer = setTimeout(() => {
        child.kill("SIGKILL");
        // A child process of the command could keep its output open for ever.
        child.stdout?.destroy();
        child.stderr?.destroy();
        failed("Unauthorized", `did not end within ${TIMEOUT_MS / 1000} s`);
      }, TIMEOUT_MS);
      let output = "";
      let problem = "";
      child.stdout?.setEncoding("utf8").on("data", (text: string) => {
        if (output.length < OUTPUT_LIMIT) output += text;
      });
      child.stderr?.setEncoding("utf8").on("data", (text: string) => {
        problem = (problem + text).slice(-2000);
      });
      child.once("error", (cause: NodeJS.ErrnoException) => {
        const hint = this.#exec.text("installHint")?.trim();
        const what = cause.code === "ENOENT" ? "is not installed" : `cannot be run (${cause.code ?? cause.message})`;
        failed("BadKubeconfig", hint ? `${what}; ${hint}` : what, cause);
      });
      child.once("close", (code, signal) => {
        clearTimeout(timer);
        if (code === 0) return resolve(output);
        const lastLine = problem.trim().split("\n").at(-1);
        const how = code === null ? `was ended by ${signal}` : `ended with exit code ${code}`;
        failed("Unauthorized", lastLine ? `${how}: ${lastLine}` : how);
      });
    });
  }
}

function covers(rejected: Credential, cached: Credential): boolean {
  return (cached.token === undefined || rejected.token === cached.token) && (cached.cert === undefined || rejected.cert === cached.cert);
}

function clusterInfo(server: string, cluster: KubeconfigSection): Record<string, unknown> {
  const ca = cluster.text("certificate-authority-data");
  const serverName = cluster.text("tls-server-name");
  return {
    server,
    ...(ca === undefined ? {} : { "certificate-authority-data": ca }),
    ...(serverName === undefined ? {} : { "tls-server-name": serverName }),
    "insecure-skip-tls-verify": cluster.flag("insecure-skip-tls-verify"),
    config: null,
  };
}
