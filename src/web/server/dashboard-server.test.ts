import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { createLog } from "../../kube/log.ts";
import { DashboardServer } from "./dashboard-server.ts";
import { CONFIG_NAMESPACES } from "../testing/fixtures.ts";
import { loopbackViewer } from "../access/viewer.ts";

test("a connection that cannot be accepted does not end the process", async () => {
  const assets = await mkdtemp(join(tmpdir(), "page-"));
  onTestFinished(() => rm(assets, { recursive: true }));
  await writeFile(join(assets, "index.html"), "<!doctype html>");
  const servers: Server[] = [];
  const http = {
    createServer: (...[limits, answer]: Parameters<typeof createServer>) => servers[servers.push(createServer(limits, answer)) - 1],
  };
  vi.spyOn(process, "getBuiltinModule").mockReturnValueOnce(http);
  const log = createLog({ level: "silent" });
  const error = vi.spyOn(log, "error");
  const options = {
    caches: [],
    namespaces: CONFIG_NAMESPACES,
    authenticator: loopbackViewer,
    assets: () => Promise.resolve(assets),
    version: "0.0.0",
    log,
  };
  const page = new DashboardServer({ ...options, host: "127.0.0.1", port: 0 });
  const end = new AbortController();
  const running = page.run(end.signal);
  await page.address;
  await vi.waitFor(() => expect(servers[0]?.emit("error", new Error("accept EMFILE"))).toBe(true), 30_000);
  expect(error).toHaveBeenCalledOnce();
  end.abort();
  await running;
});
