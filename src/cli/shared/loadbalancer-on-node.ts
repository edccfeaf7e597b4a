import { join } from "node:path";
import { FrrPass } from "../../frr/apply.ts";
import { FrrInstance } from "../../frr/instance.ts";
import { originatedTag } from "../../frr/show.ts";
import type { Log } from "../../kube/log.ts";
import type { SigningKey } from "../../kube/members/signing-key.ts";
import type { SpeakerCallbacks } from "../../loadbalancer/speaker/agent.ts";
import { BgpSpeaker } from "../../loadbalancer/speaker/bgp/bgp-speaker.ts";
import { SessionPoller } from "../../loadbalancer/speaker/bgp/sessions.ts";
import type { SpeakerBackends } from "../../loadbalancer/speaker/drivers.ts";
import { L2Announcer } from "../../loadbalancer/speaker/l2/announcer.ts";
import { replaceFile } from "../../resilience/atomic-file.ts";
import type { LoadBalancerHostOptions, RouterHostOptions } from "./agent-options.ts";

const FRR_NAME = "plumbline-lb";

/** The load balancer's FRR: in the machine's namespace, and only with outgoing connections. */
export function loadBalancerFrr(
  { hostNetns, stateDirectory, frrRoot }: Pick<RouterHostOptions, "hostNetns" | "stateDirectory" | "frrRoot">,
  { lbFrrRunDirectory }: Pick<LoadBalancerHostOptions, "lbFrrRunDirectory">,
  log: Log,
): FrrInstance {
  return new FrrInstance({
    name: FRR_NAME,
    ...(hostNetns !== undefined && { netns: hostNetns }),
    runDirectory: lbFrrRunDirectory,
    stateDirectory: join(stateDirectory, "loadbalancer"),
    ...(frrRoot !== undefined && { root: frrRoot }),
    bgpPort: 0,
    log,
  });
}

interface Options {
  frr: FrrInstance;
  node: string;
  hostOptions: RouterHostOptions;
  loadbalancer: LoadBalancerHostOptions;
  signingKey: SigningKey;
  log: Log;
  /** Resolves when FRR runs; rejects with the reason why it does not, if known. */
  frrUp?: () => Promise<void>;
}

export interface LoadBalancerOnMachine extends SpeakerBackends {
  readonly l2: L2Announcer;
  readonly poll: SessionPoller;
}

export function loadBalancerOnMachine(
  { frr, node, hostOptions, loadbalancer, signingKey, log, frrUp }: Options,
  callbacks: SpeakerCallbacks,
): LoadBalancerOnMachine {
  const poll = new SessionPoller({
    router: frr.router,
    everyMs: loadbalancer.sessionPollInterval,
    onChange: () => callbacks.onSessions(),
    onRestart: () => callbacks.onRestart(),
  });
  const l2 = new L2Announcer({
    node,
    netns: hostOptions.hostNetns,
    peers: () => callbacks.nodeAddresses(),
    isMember: (other) => callbacks.isMember(other),
    keys: { own: signingKey.privateKey, of: (other) => callbacks.keys.of(other), shared: () => callbacks.keys.shared() },
    onChange: () => callbacks.onL2(),
    exemptPorts: loadbalancer.lbExemptPorts,
    log,
  });
  return {
    l2,
    poll,
    sessions: () => poll.sessions,
    wantPrefixes: (wanted) => poll.want(wanted),
    takeLostVrfs: () => poll.takeLostVrfs(),
    forgetSessions: (gone) => poll.forget(gone),
    bgp: (applied) =>
      new BgpSpeaker({
        frr: {
          async open(fragments, signal) {
            await frrUp?.();
            return FrrPass.open(frr, fragments, signal);
          },
          tagOf: ({ vrf, prefix }, signal) => originatedTag(frr.router, vrf, prefix, signal),
          writeBootFile: (text) => replaceFile(frr.bootFile, text),
        },
        applied,
        namespace: loadbalancer.metallbNamespace,
      }),
  };
}
