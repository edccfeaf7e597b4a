import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stringify } from "yaml";
import { Child } from "../child.ts";
import { LabError } from "../error.ts";
import type { KubeBinaries, Part } from "./binary.ts";

/** Of the cluster IPs of Services. No larger: kube-proxy drops what goes to a free one, and the lab's segments must not be among them. */
export const SERVICE_NETWORK = "10.96.0.0/16";

export interface ApiServerOptions {
  binaries: KubeBinaries;
  /** Its certificates, tokens and logs; made if missing. */
  directory: string;
  etcd: string;
  /** Servers with different prefixes on one etcd know nothing of each other. */
  prefix: string;
  /** Where it listens, loopback otherwise. */
  address?: string;
  /** Every request with its metadata, one JSON line each, as soon as it is complete. */
  audit?: boolean;
  flags?: readonly string[];
}

/** Who may speak to a lab's server. Each has a token of its own. */
const IDENTITIES = {
  admin: { user: "plumbline:admin", groups: ["system:masters"] },
  "controller-manager": { user: "system:kube-controller-manager", groups: [] },
  scheduler: { user: "system:kube-scheduler", groups: [] },
  proxy: { user: "system:kube-proxy", groups: [] },
  /** Authenticated, allowed nothing: for tests of refusals. */
  unprivileged: { user: "plumbline:unprivileged", groups: [] },
} as const;
export type ClientName = keyof typeof IDENTITIES;

const LOOPBACK = "127.0.0.1";
/** On a quiet machine it takes four seconds; a busy one is no reason to give up. */
const READY_WITHIN_MS = 180_000;
const START_ATTEMPTS = 3;

/** One real kube-apiserver with RBAC on. It can be paused, killed and started again on the same port. */
export class ApiServer {
  readonly port: number;
  readonly directory: string;
  readonly auditLog: string;
  readonly #options: ApiServerOptions;
  readonly #tokens: Record<ClientName, string>;
  #child: Child;
  #caPem = "";

  private constructor(options: ApiServerOptions, port: number, tokens: Record<ClientName, string>) {
    this.#options = options;
    this.directory = options.directory;
    this.auditLog = join(options.directory, "audit.log");
    this.port = port;
    this.#tokens = tokens;
    this.#child = this.#spawn();
  }

  static async start(options: ApiServerOptions): Promise<ApiServer> {
    const tokens = await writeCredentials(options.directory);
    for (let attempt = 1; ; attempt++) {
      const server = new ApiServer(options, await freePort(), tokens);
      try {
        await server.#ready();
        return server;
      } catch (error) {
        await server.kill();
        // Between our finding the port free and the server's binding it, someone else may have taken it.
        if (attempt === START_ATTEMPTS || !server.#child.logTail(20).includes("address already in use")) throw error;
      }
    }
  }

  get url(): string {
    return `https://${this.#options.address ?? LOOPBACK}:${this.port}`;
  }

  get caPem(): string {
    return this.#caPem;
  }

  get pid(): number {
    return this.#child.pid;
  }

  token(identity: ClientName): string {
    return this.#tokens[identity];
  }

  /** Writes a kubeconfig for this identity and returns its path. */
  async kubeconfig(identity: ClientName): Promise<string> {
    const path = join(this.directory, `${identity}.kubeconfig`);
    const cluster = { server: this.url, "certificate-authority-data": Buffer.from(this.#caPem).toString("base64") };
    const text = stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "lab", cluster }],
      users: [{ name: identity, user: { token: this.token(identity) } }],
      contexts: [{ name: "lab", context: { cluster: "lab", user: identity } }],
      "current-context": "lab",
    });
    // Renamed into place: another program may be reading the one that is there.
    const unfinished = `${path}.${randomBytes(6).toString("hex")}`;
    await writeFile(unfinished, text, { mode: 0o600 });
    await rename(unfinished, path);
    return path;
  }

  /** Writes the CA that signed the served certificate and returns its path. */
  async writeCa(): Promise<string> {
    const path = join(this.directory, "ca.crt");
    await writeFile(path, this.#caPem);
    return path;
  }

  pause(): void {
    this.#child.signal("SIGSTOP");
  }

  resume(): void {
    this.#child.signal("SIGCONT");
  }

  /** SIGKILL: with clients attached it would still be there 20 s after SIGTERM. */
  kill(): Promise<void> {
    return this.#child.kill();
  }

  /** Starts it again on the same port with the same data and certificates. */
  async restart(): Promise<void> {
    await this.kill();
    this.#child = this.#spawn();
    await this.#ready();
  }

  #spawn(): Child {
    const { binaries, directory, etcd, prefix, address = LOOPBACK, audit, flags = [] } = this.#options;
    const args = [
      `--etcd-servers=${etcd}`,
      `--etcd-prefix=${prefix}`,
      `--bind-address=${address}`,
      ...(address === LOOPBACK ? [] : [`--advertise-address=${address}`]),
      `--secure-port=${this.port}`,
      `--cert-dir=${directory}`,
      // It rejects a loopback address as its own, which is not used here.
      "--endpoint-reconciler-type=none",
      "--authorization-mode=Node,RBAC",
      `--token-auth-file=${join(directory, "tokens.csv")}`,
      `--service-account-key-file=${join(directory, "service-account.pem")}`,
      `--service-account-signing-key-file=${join(directory, "service-account.pem")}`,
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-cluster-ip-range=${SERVICE_NETWORK}`,
      ...(audit
        ? [`--audit-policy-file=${join(directory, "audit-policy.yaml")}`, `--audit-log-path=${this.auditLog}`, "--audit-log-mode=blocking"]
        : []),
      ...flags,
    ];
    return startPart(binaries, "kube-apiserver", args, join(directory, "kube-apiserver.log"));
  }

  async #ready(): Promise<void> {
    const deadline = performance.now() + READY_WITHIN_MS;
    const child = this.#child;
    while (performance.now() < deadline) {
      if (!child.running) throw new LabError("NotStarted", `kube-apiserver ended while starting:\n${child.logTail()}`);
      try {
        this.#caPem = await readCa(this.directory);
        if (await answersReady(this.url, this.#caPem, this.token("admin"))) return;
      } catch {
        // Not listening yet.
      }
      await sleep(50);
    }
    throw new LabError("NotStarted", `kube-apiserver was not ready within ${READY_WITHIN_MS / 1000} s:\n${child.logTail()}`);
  }
}

export function startPart(binaries: KubeBinaries, part: Part, args: readonly string[], logFile: string): Child {
  const command = binaries.command(part);
  if (!command) throw new LabError("NoBinaries", `The binaries in KUBEBUILDER_ASSETS bring no ${part}; unset it to use our own build`);
  const [program, ...first] = command;
  return new Child(part, program, [...first, ...args], { logFile });
}

async function writeCredentials(directory: string): Promise<Record<ClientName, string>> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const identities = Object.keys(IDENTITIES) as ClientName[];
  const tokens = Object.fromEntries(identities.map((name) => [name, randomBytes(16).toString("hex")])) as Record<ClientName, string>;
  const rows = identities.map((name) => {
    const { user, groups } = IDENTITIES[name];
    return `${tokens[name]},${user},${name},"${groups.join(",")}"\n`;
  });
  const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "sec1", format: "pem" });
  const policy = { apiVersion: "audit.k8s.io/v1", kind: "Policy", omitStages: ["RequestReceived"], rules: [{ level: "Metadata" }] };
  await Promise.all([
    writeFile(join(directory, "tokens.csv"), rows.join(""), { mode: 0o600 }),
    writeFile(join(directory, "service-account.pem"), key, { mode: 0o600 }),
    writeFile(join(directory, "audit-policy.yaml"), stringify(policy)),
  ]);
  return tokens;
}

/** The server makes its own certificate: the served file is the leaf, then the CA that signed it. */
async function readCa(directory: string): Promise<string> {
  const served = await readFile(join(directory, "apiserver.crt"), "utf8");
  const ca = served.split(/(?=-----BEGIN CERTIFICATE-----)/)[1];
  if (!ca) throw new Error(`no CA in ${directory}/apiserver.crt`);
  return ca;
}

function answersReady(url: string, ca: string, token: string): Promise<boolean> {
  const { request } = process.getBuiltinModule("node:https");
  return new Promise((resolve, reject) => {
    const call = request(`${url}/readyz`, {
      ca,
      agent: false,
      timeout: 5_000,
      headers: { authorization: `Bearer ${token}` },
    });
    call.on("response", (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    call.on("timeout", () => call.destroy(new Error("timeout")));
    call.on("error", reject);
    call.end();
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on("error", reject);
    probe.listen(0, LOOPBACK, () => {
      const address = probe.address();
      probe.close(() => (address && typeof address === "object" ? resolve(address.port) : reject(new Error("no port"))));
    });
  });
}
