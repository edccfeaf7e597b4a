import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Child } from "../../lab/child.ts";
import { accessAs, kubeconfigOf } from "../../lab/kube/identities.ts";
import type { Random } from "../fuzz/random.ts";
import { LAUNCHER } from "./command-line.ts";
import { TestController } from "./failover-controller.ts";
import type { FailoverSite } from "./failover-site.ts";

/** A site's failover controller that dies between two writes, again and again, and is replaced at once. */
class DyingController {
  deaths = 0;
  readonly #site: FailoverSite;
  readonly #random: Random;
  readonly #lifetime: number;
  #controller: TestController;
  readonly #isMortal: boolean;
  #isOver = false;

  /** `lifetime`: the most writes of one; it dies after fewer. */
  constructor(site: FailoverSite, random: Random, { isMortal, lifetime }: { isMortal: boolean; lifetime: number }) {
    this.#site = site;
    this.#random = random;
    this.#lifetime = lifetime;
    this.#isMortal = isMortal;
    this.#controller = this.#start();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    this.#controller.dieAfter(Infinity);
    await this.#controller.stop();
  }

  #start(): TestController {
    const controller = new TestController({ access: this.#site.access });
    if (this.#isMortal) controller.dieAfter(3 + this.#random.int(this.#lifetime));
    void controller.death.then(() => {
      this.deaths += 1;
      if (this.#isOver) return;
      this.#controller = this.#start();
    });
    return controller;
  }
}

/** `plumbline controller` as it ships, with the chart's identity and its election, started again whenever it ends. */
class ControllerProcess {
  readonly #start: () => Child;
  #child: Child;
  #isOver = false;
  readonly #kept: Promise<void>;

  private constructor(start: () => Child) {
    this.#start = start;
    this.#child = start();
    this.#kept = this.#keep();
  }

  static async start({ site }: FailoverSite): Promise<ControllerProcess> {
    const { directory } = site.server;
    const kubeconfig = join(directory, "controller.kubeconfig");
    await writeFile(kubeconfig, await kubeconfigOf(accessAs("controller", site.client.access)), { mode: 0o600 });
    const args = ["controller", "--kubeconfig", kubeconfig, "--webhook-mode", "disabled", "--health-address", "127.0.0.1:0"];
    return new ControllerProcess(() => new Child("controller", LAUNCHER, args, { logFile: join(directory, "controller.log") }));
  }

  /** As kill -9. The next one waits until the Lease of this one has run out. */
  async kill(): Promise<void> {
    await this.#child.kill();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#child.kill();
    await this.#kept;
  }

  async #keep(): Promise<void> {
    for (;;) {
      await this.#child.ended;
      if (this.#isOver) return;
      // As a kubelet does, also for one that gave up because its API server is away.
      await sleep(500);
      if (this.#isOver) return;
      this.#child = this.#start();
    }
  }
}

type Sites = readonly [FailoverSite, FailoverSite];

interface MortalOptions {
  readonly isMortal: boolean;
  /** The most writes of the one that dies at its writes. */
  readonly lifetime: number;
  /** Without a process: both are in this one, where the test can change how they decide. */
  readonly isInProcess: boolean;
}

/** The controllers of two sites: at one it dies at its writes, at the other it is a process. They change places. */
export class MortalControllers {
  readonly #sites: Sites;
  readonly #random: Random;
  readonly #options: MortalOptions;
  #dying: DyingController;
  #process: Pick<ControllerProcess, "kill" | "stop">;
  #deaths = 0;
  #isSwapped = false;

  private constructor(sites: Sites, random: Random, options: MortalOptions, process: Pick<ControllerProcess, "kill" | "stop">) {
    this.#sites = sites;
    this.#random = random;
    this.#options = options;
    this.#dying = new DyingController(sites[0], random, options);
    this.#process = process;
  }

  static async start(sites: Sites, random: Random, options: MortalOptions): Promise<MortalControllers> {
    return new MortalControllers(sites, random, options, await processAt(sites[1], random, options));
  }

  get deaths(): number {
    return this.#deaths + this.#dying.deaths;
  }

  async swap(): Promise<void> {
    await this.stop();
    this.#deaths += this.#dying.deaths;
    this.#isSwapped = !this.#isSwapped;
    const [dying, other] = this.#isSwapped ? [this.#sites[1], this.#sites[0]] : this.#sites;
    this.#dying = new DyingController(dying, this.#random, this.#options);
    this.#process = await processAt(other, this.#random, this.#options);
  }

  async killProcess(): Promise<void> {
    await this.#process.kill();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#dying.stop(), this.#process.stop()]);
  }
}

async function processAt(site: FailoverSite, random: Random, { isInProcess, lifetime }: MortalOptions) {
  if (!isInProcess) return ControllerProcess.start(site);
  const controller = new DyingController(site, random, { isMortal: false, lifetime });
  return { kill: () => Promise.resolve(), stop: () => controller.stop() };
}

export interface Deaths {
  "csi-addons": number;
  "kube-apiserver": number;
  "kube-controller-manager": number;
  "kube-scheduler": number;
  "plumbline controller": number;
}

interface Mortals {
  readonly sites: readonly FailoverSite[];
  readonly controllers: MortalControllers;
  readonly random: Random;
  readonly signal: AbortSignal;
}

/** Kills one process after the other, each with SIGKILL and back before the next one: first one of each kind, then any. */
export async function killProcesses({ sites, controllers, random, signal }: Mortals): Promise<Deaths> {
  const deaths: Deaths = {
    "csi-addons": 0,
    "kube-apiserver": 0,
    "kube-controller-manager": 0,
    "kube-scheduler": 0,
    "plumbline controller": 0,
  };
  const kills: Record<keyof Deaths, () => Promise<void>> = {
    "csi-addons": () => random.pick(sites).site.csiAddons.restart(),
    "kube-apiserver": () => random.pick(sites).site.server.restart(),
    "kube-controller-manager": () => random.pick(sites).site.restart("kube-controller-manager"),
    "kube-scheduler": () => random.pick(sites).site.restart("kube-scheduler"),
    "plumbline controller": () => controllers.killProcess(),
  };
  const kinds = Object.keys(kills) as (keyof Deaths)[];
  for (let n = 0; ; n += 1) {
    const kind = kinds[n] ?? random.pick(kinds);
    await sleep((n < kinds.length ? 3_000 : 15_000) + random.int(n < kinds.length ? 6_000 : 45_000), undefined, { signal }).catch(() => {});
    if (signal.aborted) return deaths;
    await kills[kind]();
    deaths[kind] += 1;
  }
}
