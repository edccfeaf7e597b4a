/** Finds and merges kubeconfig files as kubectl does, and turns one context into a ClusterAccess. */

import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import type { ClusterAccess, Credential } from "./access.ts";
import { KubeError } from "./error.ts";
import { ExecPlugin } from "./exec-plugin.ts";
import { RotatedFile } from "./rotated-file.ts";
import { KubeconfigSection } from "./kubeconfig-section.ts";

/** The merged files: the first file to name a context, cluster or user defines it. */
interface Kubeconfig {
  files: string[];
  currentContext: string | undefined;
  contexts: Map<string, KubeconfigSection>;
  clusters: Map<string, KubeconfigSection>;
  users: Map<string, KubeconfigSection>;
}

type Piece = (rejected: Credential | undefined) => Promise<Credential>;

export async function accessFromKubeconfig(options: { path?: string; context?: string } = {}): Promise<ClusterAccess> {
  const config = await load(options.path);
  const name = options.context ?? config.currentContext;
  if (name === undefined) {
    throw new KubeError("BadKubeconfig", `current-context is not set in ${config.files.join(" and ")}; set --context`);
  }
  return accessOf(config, name);
}

/**
 * The current context of a kubeconfig that is not a file, such as one in a Secret; `origin` describes it. Its author may be untrusted, so
 * it must be self-contained: no exec, no files, no local sockets, and no error quotes it.
 */
export async function accessFromText(text: string, origin: string): Promise<ClusterAccess> {
  const root = await parse(text, origin, { quoting: false });
  const config = merge([root]);
  if (config.currentContext === undefined) throw root.bad("current-context", "is missing");
  for (const cluster of config.clusters.values()) {
    if (cluster.text("server")?.startsWith("unix:")) throw cluster.bad("server", "is a unix socket; give an https:// address");
    mustBeWhole(cluster, "certificate-authority");
  }
  for (const user of config.users.values()) {
    if (user.has("exec")) throw user.bad("exec", "is not allowed in a kubeconfig that is not a file; use a token or a client certificate");
    if (user.has("tokenFile")) throw user.bad("tokenFile", "is not allowed in a kubeconfig that is not a file; use token");
    mustBeWhole(user, "client-certificate");
    mustBeWhole(user, "client-key");
  }
  return accessOf(config, config.currentContext);
}

function mustBeWhole(section: KubeconfigSection, field: string): void {
  if (section.has(field)) throw section.bad(field, `is not allowed in a kubeconfig that is not a file; use ${field}-data`);
}

function accessOf(config: Kubeconfig, name: string): ClusterAccess {
  const files = config.files.join(" and ");
  const context = config.contexts.get(name);
  if (!context) {
    const known = [...config.contexts.keys()].join(", ") || "none";
    throw new KubeError("BadKubeconfig", `Context ${name} is not in ${files}; the contexts there: ${known}`);
  }
  const cluster = pick(config.clusters, context, "cluster");
  const user = context.text("user") === undefined ? undefined : pick(config.users, context, "user");

  const server = serverOf(cluster);
  const insecure = cluster.flag("insecure-skip-tls-verify");
  const serverName = cluster.text("tls-server-name");
  const namespace = context.text("namespace");
  const pieces = [trust(cluster, insecure), ...(user ? credentials(user, server, cluster) : [])];
  const userName = context.text("user");

  return {
    server,
    describe: `context ${name} of ${context.file}`,
    insecure,
    ...(serverName === undefined ? {} : { serverName }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(userName === undefined ? {} : { user: userName }),
    async identity(rejected?: Credential) {
      const parts = await Promise.all(pieces.map((piece) => piece(rejected)));
      return Object.assign({}, ...parts) as Credential;
    },
  };
}

export function defaultKubeconfig(): string {
  return join(process.env["HOME"] || homedir(), ".kube", "config");
}

async function load(explicit: string | undefined): Promise<Kubeconfig> {
  const fromEnvironment = process.env["KUBECONFIG"]?.split(delimiter).filter((path) => path !== "") ?? [];
  const paths = explicit !== undefined ? [explicit] : fromEnvironment.length > 0 ? fromEnvironment : [defaultKubeconfig()];

  const roots: KubeconfigSection[] = [];
  for (const path of paths) {
    const root = await readSection(resolve(path));
    if (root) roots.push(root);
  }
  if (roots.length === 0) {
    const searched = paths.join(", ");
    const fix = explicit === undefined ? "set --kubeconfig or KUBECONFIG" : "check --kubeconfig";
    throw new KubeError("NoKubeconfig", `No kubeconfig found at ${searched}; ${fix}`);
  }
  return merge(roots);
}

function merge(roots: readonly KubeconfigSection[]): Kubeconfig {
  const config: Kubeconfig = { files: [], currentContext: undefined, contexts: new Map(), clusters: new Map(), users: new Map() };
  for (const root of roots) {
    config.files.push(root.file);
    config.currentContext ??= root.text("current-context") || undefined;
    collect(config.contexts, root, "contexts", "context");
    collect(config.clusters, root, "clusters", "cluster");
    collect(config.users, root, "users", "user");
  }
  return config;
}

async function readSection(file: string): Promise<KubeconfigSection | undefined> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new KubeError("BadKubeconfig", `${file} cannot be read (${code ?? String(error)})`, { cause: error });
  }
  return parse(text, file, { quoting: true });
}

/** `quoting`: whether errors may quote the text. */
async function parse(text: string, file: string, { quoting }: { quoting: boolean }): Promise<KubeconfigSection> {
  // Loaded on demand: a pod reads no kubeconfig.
  const { LineCounter, parseDocument } = await import("yaml");
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false });
  const [error] = document.errors;
  if (error) {
    const position = `${file} line ${lineCounter.linePos(error.pos[0]).line}`;
    if (!quoting) throw new KubeError("BadKubeconfig", `${position} is not YAML`);
    throw new KubeError("BadKubeconfig", `${position} is not YAML: ${error.message}`, { cause: error });
  }
  const content: unknown = document.toJS();
  return new KubeconfigSection(file, "", content ?? {});
}

function collect(into: Map<string, KubeconfigSection>, root: KubeconfigSection, list: string, field: string): void {
  for (const entry of root.entries(list)) {
    const name = entry.required("name");
    if (!into.has(name)) into.set(name, entry.inner(field));
  }
}

function pick(from: Map<string, KubeconfigSection>, context: KubeconfigSection, field: "cluster" | "user"): KubeconfigSection {
  const name = context.required(field);
  const found = from.get(name);
  if (!found) throw context.bad(field, `names ${name}, which no file defines under ${field}s`);
  return found;
}

function serverOf(cluster: KubeconfigSection): string {
  const server = cluster.required("server");
  if (cluster.text("proxy-url")) throw cluster.bad("proxy-url", "is set, but proxies are not supported; connect to the server directly");
  if (server.startsWith("unix:")) return server;
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (!url || !["http:", "https:"].includes(url.protocol)) {
    throw cluster.bad("server", `is ${server}, which is not an https://, http:// or unix: address`);
  }
  return server;
}

function trust(cluster: KubeconfigSection, insecure: boolean): Piece {
  const ca = pem(cluster, "certificate-authority");
  if (ca && insecure) {
    throw cluster.bad("insecure-skip-tls-verify", "is true although a certificate-authority is given; remove one of them");
  }
  return async (rejected) => (ca ? { ca: await ca(rejected !== undefined) } : {});
}

const UNSUPPORTED: Record<string, string> = {
  username: "Kubernetes no longer supports basic authentication; use a token, a client certificate or exec",
  "auth-provider": "Kubernetes no longer supports auth providers; use exec",
  as: "impersonation is not supported",
  "as-groups": "impersonation is not supported",
};

function credentials(user: KubeconfigSection, server: string, cluster: KubeconfigSection): Piece[] {
  for (const [field, why] of Object.entries(UNSUPPORTED)) {
    if (user.has(field)) throw user.bad(field, `is set, but ${why}`);
  }
  const pieces: Piece[] = [];
  const exec = user.optional("exec");
  if (exec) {
    const plugin = new ExecPlugin(exec, server, cluster);
    pieces.push((rejected) => plugin.identity(rejected));
  }
  const cert = pem(user, "client-certificate");
  const key = pem(user, "client-key");
  if (cert && !key) throw user.bad("client-key", "is missing although a client-certificate is given");
  if (cert && key) {
    pieces.push(async (rejected) => ({ cert: await cert(rejected !== undefined), key: await key(rejected !== undefined) }));
  }
  const token = user.text("token");
  const tokenFile = user.text("tokenFile");
  if (tokenFile !== undefined) {
    const file = new RotatedFile(resolve(dirname(user.file), tokenFile), user.where("tokenFile"));
    pieces.push(async (rejected) => ({ token: (await file.read(rejected !== undefined)).trim() }));
  } else if (token !== undefined) {
    pieces.push(() => Promise.resolve({ token }));
  }
  return pieces;
}

/** `field-data` (base64) wins over `field` (a file, relative to the kubeconfig that names it). */
function pem(section: KubeconfigSection, field: string): ((afresh: boolean) => Promise<string>) | undefined {
  const inline = section.base64(`${field}-data`);
  if (inline !== undefined) return () => Promise.resolve(inline);
  const path = section.text(field);
  if (path === undefined || path === "") return undefined;
  const file = new RotatedFile(resolve(dirname(section.file), path), section.where(field));
  return (afresh) => file.read(afresh);
}
