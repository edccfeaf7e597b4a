import { afterEach, beforeEach, vi } from "vitest";
import type { ConditionStatus } from "../../api/kind.ts";
import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { createLog } from "../log.ts";
import { ApiModel } from "./api-model.ts";
import { WriteBudget } from "../status/budget.ts";
import type { DesiredStatus } from "../status/plan.ts";
import { StatusWriter, type StatusWriterOptions } from "../status/status-writer.ts";

export type Report = DesiredStatus<RouterNodeConfigurationStatus>;
type Options = StatusWriterOptions<RouterNodeConfigurationStatus>;

export const owner = { apiVersion: "v1", kind: "Node", name: "n1", uid: "node-uid" };
export const create = { metadata: { labels: { node: "n1" }, annotations: { "plumbline.dev/node": "n1" }, ownerReferences: [owner] } };

/** A picture of an object of ours with one condition. */
export const ready = (status: ConditionStatus, message = "", more: object = {}): Report => ({
  create,
  status: { conditions: [{ type: "Ready", status, reason: "Because", message }], ...more },
});

/** A writer on a model of an API server, in fake time from 2026-11-15T08:00:00 on. */
export class WriterHarness {
  readonly api = new ApiModel<RouterNodeConfigurationStatus>();
  readonly logged: { level: string; msg: string }[] = [];
  stop = new AbortController();
  ended: Promise<void> = Promise.resolve();

  start(options: Partial<Options> = {}): StatusWriter<RouterNodeConfigurationStatus> {
    const log = createLog({ write: (line) => this.logged.push(JSON.parse(line) as { level: string; msg: string }) });
    const { api } = this;
    const writer = new StatusWriter({
      kind: RouterNodeConfigurationStatus,
      client: api,
      cache: api.cache,
      budget: new WriteBudget(),
      log,
      ...options,
    });
    this.run(writer);
    return writer;
  }

  run(writer: StatusWriter<RouterNodeConfigurationStatus>): void {
    this.stop = new AbortController();
    this.ended = writer.run(this.stop.signal);
  }

  status(key = "n1"): RouterNodeConfigurationStatus["status"] {
    return this.api.object(key)?.status;
  }

  message(key = "n1"): string | undefined {
    return this.status(key)?.conditions?.[0]?.message;
  }

  get messages(): string[] {
    return this.logged.map(({ msg }) => msg);
  }
}

export const pass = (ms = 50) => vi.advanceTimersByTimeAsync(ms);

/** Gives each test a fresh stage. */
export function useWriterHarness(): () => WriterHarness {
  let harness: WriterHarness;
  beforeEach(() => {
    vi.useFakeTimers({ now: new Date("2026-11-15T08:00:00.500Z") });
    harness = new WriterHarness();
  });
  afterEach(async () => {
    harness.stop.abort();
    await pass(70_000);
    await harness.ended;
    const timers = vi.getTimerCount();
    vi.useRealTimers();
    if (timers > 0) throw new Error(`${timers} timers are left behind`);
  });
  return () => harness;
}
