import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { stringify } from "yaml";
import type { KubeObject } from "../../../src/api/kind.ts";
import { packTar } from "../../../src/cli/support-bundle/tar.ts";

/** What source-controller writes to a source's status. */
export interface Artifact {
  readonly url: string;
  readonly path: string;
  readonly digest: string;
  readonly revision: string;
  readonly lastUpdateTime: string;
}

/** A file server on loopback for archives of Git repositories and charts. */
export class ArtifactServer {
  readonly #archives = new Map<string, Buffer>();
  readonly #server = createServer(({ url = "" }, response) => {
    const archive = this.#archives.get(url);
    response.writeHead(archive ? 200 : 404).end(archive);
  });

  async start(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject).listen(0, "127.0.0.1", resolve);
    });
  }

  /** The same content has the same digest, and with that the same revision. */
  add(folder: string, archive: Buffer): Artifact {
    const digest = createHash("sha256").update(archive).digest("hex");
    const path = `${folder}/${digest}.tar.gz`;
    this.#archives.set(`/${path}`, archive);
    const { port } = this.#server.address() as AddressInfo;
    return {
      url: `http://127.0.0.1:${port}/${path}`,
      path,
      digest: `sha256:${digest}`,
      revision: `main@sha1:${digest.slice(0, 40)}`,
      lastUpdateTime: new Date().toISOString(),
    };
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** A Git repository with these objects in one file. */
export function repositoryArchive(objects: readonly KubeObject[]): Buffer {
  return archive({ "objects.yaml": manifest(objects) });
}

/** A chart with these objects in one template, whatever its values are. */
export function chartArchive(objects: readonly KubeObject[], name: string): Buffer {
  return archive({
    [`${name}/Chart.yaml`]: stringify({ apiVersion: "v2", name, version: "1.0.0" }),
    [`${name}/templates/objects.yaml`]: manifest(objects),
  });
}

function manifest(objects: readonly KubeObject[]): string {
  return objects.map((object) => stringify(object)).join("---\n");
}

function archive(files: Readonly<Record<string, string>>): Buffer {
  const packed = Object.entries(files).map(([path, content]) => ({ path, content: Buffer.from(content) }));
  return gzipSync(packTar(packed, new Date(0)));
}
