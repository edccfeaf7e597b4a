import { progressOn } from "../progress.ts";
import type { SiteName } from "../sites/names.ts";
import { startTwoSites } from "../sites/two-sites.ts";
import { seconds } from "../../src/util/duration.ts";
import { FailoverPolicy, type Role } from "../../src/api/failover/failover-policy.ts";
import type { KubeObject } from "../../src/api/kind.ts";
import { humanDuration } from "../../src/util/age.ts";
import { lookLive } from "../../src/failover/observe/live-reader.ts";
import { managedBy } from "../../src/failover/managed.ts";
import { needsOf } from "../../src/failover/observe/watched-kinds.ts";
import type { Managed } from "../../src/failover/observe/observed.ts";
import { ServedKinds } from "../../src/failover/observe/served-kinds.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { print } from "../../src/kube/printable.ts";
import { connect } from "../../src/cli/shared/connection.ts";
import { CliError, EXIT } from "../../src/cli/shared/exit.ts";
import { controllerOn } from "../cli/sites.ts";
import { judge } from "../../src/cli/lint/schema-rules.ts";
import { readInputs } from "../../src/cli/manifests/input.ts";
import { Columns } from "../../src/cli/print/columns.ts";
import { paintFor } from "../../src/cli/print/color.ts";
import { warn } from "../../src/cli/print/warn.ts";
import { untilStopped } from "../../src/cli/shared/signals.ts";
import { HoldUps } from "./step-delays.ts";
import { type Staged, isCopied, staged } from "./copy.ts";
import { stage } from "./create-copy.ts";
import { follow } from "../../src/cli/failover/follow.ts";
import { heldUpBy } from "../../src/cli/failover/progress.ts";
import { type PolicyOptions, readPolicy, titleOf } from "../../src/cli/failover/read-policy.ts";
import { switchesOf } from "../../src/cli/failover/transitions.ts";

export interface DrillOptions extends PolicyOptions {
  filename?: string[];
  timeout: string;
}

interface Original {
  readonly policy: FailoverPolicy;
  readonly objects: readonly { readonly resource: Managed; readonly object: KubeObject }[];
  readonly missing: readonly Managed[];
}

/** One half of a move. */
interface Half {
  readonly site: SiteName;
  readonly to: Role;
}

interface Result extends Half {
  readonly took: string;
  readonly longest: string;
  readonly heldUpBy: string;
}

const COURSE: readonly Half[] = [
  { site: "east", to: "secondary" },
  { site: "west", to: "primary" },
  { site: "west", to: "secondary" },
  { site: "east", to: "primary" },
];

/** Copies a policy and what it manages into the lab's two sites, and moves it there and back. */
export async function drill(name: string, options: DrillOptions): Promise<void> {
  const timeout = seconds(options.timeout) ?? 0;
  if (timeout <= 0) throw new CliError(`--timeout ${options.timeout} is no length of time; write 90s, 30m or 2h`, EXIT.misuse);
  const original = options.filename ? await fromManifests(name, options.filename, options) : await fromCluster(name, options);
  const { policy, missing } = original;
  const objects = original.objects.filter(({ resource }) => isCopied(resource));
  for (const { kind, namespace, name: called } of missing) warn(`${kind} ${namespace}/${called} is not there, and left out`);
  for (const { resource } of original.objects.filter((one) => !isCopied(one.resource))) {
    warn(`${resource.kind} ${resource.namespace}/${resource.name} cannot be copied into the lab, and is left out`);
  }
  if (objects.length === 0) throw new CliError(`Nothing of what FailoverPolicy ${titleOf(policy)} manages is there`, EXIT.no);

  const { namespace = "" } = policy.metadata;
  const copy: Staged & { home: string } = { ...staged(objects), home: namespace };
  const managedResources = objects.map(({ resource: { kind, namespace: where, name: called } }) => ({
    kind,
    namespace: where,
    name: called,
  }));
  const { mode } = policy.spec;
  const stopping = new AbortController();
  void untilStopped().then(() => stopping.abort(new CliError("Stopped. Nothing is left of the drill", EXIT.unknown)));
  const lab = await startTwoSites({
    progress: progressOn(process.stderr),
    // A copy asks nobody for consent.
    controller: (kubeconfig) => [...controllerOn(kubeconfig), "--failover-namespaces", "*"],
    signal: stopping.signal,
    application: {
      namespace,
      policy: name,
      spec: { managedResources, ...(mode !== undefined && { mode }) },
      create: (site, role, signal) => stage(site, copy, role, signal),
    },
  });
  try {
    const results: Result[] = [];
    for (const half of COURSE) {
      print(`\n${half.site} to ${half.to}:\n`);
      results.push(await move(lab.sites[half.site].client, { name, namespace }, half, timeout * 1000));
    }
    print(["", ...table(results), ""].join("\n"));
  } finally {
    await lab.stop();
  }
}

async function fromCluster(name: string, options: DrillOptions): Promise<Original> {
  const { signal } = new AbortController();
  const client = await connect(options);
  try {
    const policy = await readPolicy(client, name, options, signal);
    const { managed } = managedBy(policy);
    const sight = await lookLive(client, new ServedKinds(client), needsOf(managed), signal);
    return gathered(policy, managed, (resource) => {
      const look = sight.object(resource.kind, resource.namespace, resource.name);
      if ("error" in look) throw new CliError(`${resource.kind} ${resource.namespace}/${resource.name}: ${look.error}`, EXIT.unknown);
      return "found" in look ? look.found : undefined;
    });
  } finally {
    client.close();
  }
}

async function fromManifests(name: string, paths: readonly string[], { namespace = "default" }: DrillOptions): Promise<Original> {
  const { inputs, unreadable } = await readInputs(paths);
  const [bad] = unreadable;
  if (bad) throw new CliError(`${bad.file}:${bad.line}: ${bad.message}`, EXIT.no);
  const all = new Map(inputs.map(({ object }) => [`${object.kind} ${placeOf(object)}`, object]));
  const found = all.get(`${FailoverPolicy.kind} ${namespace}/${name}`);
  if (!found) throw new CliError(`There is no FailoverPolicy ${namespace}/${name} among the manifests`, EXIT.no);
  const { admitted, complaints } = judge(found);
  const [complaint] = complaints;
  if (!admitted || complaint)
    throw new CliError(`FailoverPolicy ${namespace}/${name}: ${complaint?.field}: ${complaint?.message}`, EXIT.no);
  const policy = admitted as FailoverPolicy;
  return gathered(policy, managedBy(policy).managed, (one) => all.get(`${one.kind} ${one.namespace}/${one.name}`));
}

function placeOf({ metadata: { namespace = "default", name } }: KubeObject): string {
  return `${namespace}/${name}`;
}

function gathered(policy: FailoverPolicy, managed: readonly Managed[], find: (resource: Managed) => KubeObject | undefined): Original {
  const looked = managed.map((resource) => ({ resource, object: find(resource) }));
  return {
    policy,
    objects: looked.flatMap(({ resource, object }) => (object ? [{ resource, object }] : [])),
    missing: looked.flatMap(({ resource, object }) => (object ? [] : [resource])),
  };
}

async function move(client: KubeClient, ref: { name: string; namespace: string }, half: Half, timeoutMs: number): Promise<Result> {
  const { signal } = new AbortController();
  const asked = await client.resource(FailoverPolicy).patch(ref, { spec: { desiredState: half.to } }, { signal });
  const generation = asked.metadata.generation ?? 0;
  const holdUps = new HoldUps();
  const onSeen = ({ status }: FailoverPolicy) => holdUps.see(status?.transition?.steps ?? [], Date.now());
  const ending = await follow(client, asked, { to: half.to, generation }, { timeoutMs, onSeen });
  if (ending.is === "stopped") throw new CliError("Stopped. Nothing is left of the drill", EXIT.unknown);
  if (ending.is !== "complete") {
    const why = ending.message ?? heldUpBy(ending.policy, { to: half.to, generation }, Date.now());
    throw new CliError(`${half.site} is not ${half.to}: ${why}`, EXIT.no);
  }
  const [made] = switchesOf(ending.policy);
  const [longest] = (made?.steps ?? []).toSorted((one, other) => (other.seconds ?? 0) - (one.seconds ?? 0));
  return {
    ...half,
    took: humanDuration((made?.seconds ?? 0) * 1000),
    longest: longest ? `${longest.name} ${humanDuration((longest.seconds ?? 0) * 1000)}` : "",
    heldUpBy: longest ? holdUps.of(longest.name) : "",
  };
}

function table(results: readonly Result[]): string[] {
  const head = ["SITE", "TO", "TOOK", "LONGEST STEP", "HELD UP BY"].map((text) => ({ text }));
  const rows = results.map(({ site, to, took, longest, heldUpBy: by }) => [site, to, took, longest, by].map((text) => ({ text })));
  return new Columns(paintFor(process.stdout)).lines([head, ...rows]);
}
