import { progressOn } from "../progress.ts";
import type { SiteName } from "../sites/names.ts";
import { startTwoSites } from "../sites/two-sites.ts";
import { seconds } from "../../src/util/duration.ts";
import { FailoverPolicy, type Role } from "../../src/api/failover/failover-policy.ts";
import type { KubeObject } from "../../src/api/kind.ts";
import { humanDuration } from "../../src/util/age.ts";
import { readLive } from "../../src/failover/observe/live-reader.ts";
import { watchedKindsOf } from "../../src/failover/observe/watched-kinds.ts";
import { ServedKinds } from "../../src/failover/observe/served-kinds.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { print } from "../../src/kube/printable.ts";
import { connect } from "../../src/cli/shared/connection.ts";
import { CliError, EXIT } from "../../src/cli/shared/exit.ts";
import { controllerOn } from "../cli/sites.ts";
import { validateManifest } from "../../src/cli/manifests/schema-rules.ts";
import { readInputs } from "../../src/cli/manifests/input.ts";
import { Columns } from "../../src/cli/print/columns.ts";
import { printItems } from "../../src/cli/print/items.ts";
import { colorizeFor } from "../../src/cli/print/color.ts";
import { warn } from "../../src/cli/print/warn.ts";
import { untilStopped } from "../../src/cli/shared/signals.ts";
import { type HoldUp, StepDelays } from "./step-delays.ts";
import { type ApplicationCopy, isCopied, copyApplication } from "./copy.ts";
import { createCopy } from "./create-copy.ts";
import type { DrillOptions } from "../../src/cli/commands/failover.ts";
import { follow } from "../../src/cli/failover/follow.ts";
import { blockedBy } from "../../src/cli/failover/progress.ts";
import { readPolicy, titleOf } from "../../src/cli/failover/read-policy.ts";
import { switchesOf } from "../../src/cli/failover/transitions.ts";
import { managedBy, type Managed } from "../../src/failover/policy/managed.ts";

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

/** How one half went; an item of `-o json`. */
interface Result extends Half {
  readonly state: "complete" | "failed";
  readonly seconds?: number;
  readonly longestStep?: { readonly name: string; readonly seconds: number; readonly heldUpBy?: HoldUp };
  /** Why it was not done. */
  readonly message?: string;
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
  if (timeout <= 0) throw new CliError(`--timeout ${options.timeout} is not a duration; use 90s, 30m or 2h`, EXIT.misuse);
  const original = options.filename ? await fromManifests(name, options.filename, options) : await fromCluster(name, options);
  const { policy, missing } = original;
  const objects = original.objects.filter(({ resource }) => isCopied(resource));
  for (const { kind, namespace, name: called } of missing) warn(`${kind} ${namespace}/${called} does not exist; left out`);
  for (const { resource } of original.objects.filter((one) => !isCopied(one.resource))) {
    warn(`${resource.kind} ${resource.namespace}/${resource.name} cannot be copied into the lab; left out`);
  }
  if (objects.length === 0) throw new CliError(`No object that FailoverPolicy ${titleOf(policy)} manages exists`, EXIT.no);

  const { namespace = "" } = policy.metadata;
  const copy: ApplicationCopy & { home: string } = { ...copyApplication(objects), home: namespace };
  const managedResources = objects.map(({ resource: { kind, namespace: where, name: called } }) => ({
    kind,
    namespace: where,
    name: called,
  }));
  const { mode } = policy.spec;
  const stopping = new AbortController();
  void untilStopped().then(() => stopping.abort(new CliError("Stopped; the drill is removed", EXIT.unknown)));
  const lab = await startTwoSites({
    progress: progressOn(process.stderr),
    // A copy needs no consent.
    controller: (kubeconfig) => [...controllerOn(kubeconfig), "--failover-namespaces", "*"],
    signal: stopping.signal,
    application: {
      namespace,
      policy: name,
      spec: { managedResources, ...(mode !== undefined && { mode }) },
      create: (site, role, signal) => createCopy(site, copy, role, signal),
    },
  });
  try {
    const quiet = options.output === "json";
    const results: Result[] = [];
    for (const half of COURSE) {
      if (!quiet) print(`\n${half.site} to ${half.to}:\n`);
      results.push(await move(lab.sites[half.site].client, { name, namespace }, half, { timeoutMs: timeout * 1000, quiet }));
      if (results.at(-1)?.state === "failed") break;
    }
    if (quiet) printItems("FailoverDrillMove", results);
    const failed = results.find(({ state }) => state === "failed");
    if (failed) throw new CliError(`${failed.site} is not ${failed.to}: ${failed.message}`, EXIT.no);
    if (!quiet) print(["", ...table(results), ""].join("\n"));
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
    const reader = await readLive(client, new ServedKinds(client), watchedKindsOf(managed), signal);
    return gathered(policy, managed, (resource) => {
      const result = reader.object(resource.kind, resource.namespace, resource.name);
      if ("error" in result) throw new CliError(`${resource.kind} ${resource.namespace}/${resource.name}: ${result.error}`, EXIT.unknown);
      return "found" in result ? result.found : undefined;
    });
  } finally {
    client.close();
  }
}

async function fromManifests(name: string, paths: readonly string[], { namespace = "default" }: DrillOptions): Promise<Original> {
  const { inputs, unreadable } = await readInputs(paths);
  const [bad] = unreadable;
  if (bad) throw new CliError(`${bad.file}:${bad.line}: ${bad.message}`, EXIT.no);
  const all = new Map(inputs.map(({ object }) => [`${object.kind} ${nameOf(object)}`, object]));
  const found = all.get(`${FailoverPolicy.kind} ${namespace}/${name}`);
  if (!found) throw new CliError(`The manifests have no FailoverPolicy ${namespace}/${name}`, EXIT.no);
  const { admitted, complaints } = validateManifest(found);
  const [complaint] = complaints;
  if (!admitted || complaint)
    throw new CliError(`FailoverPolicy ${namespace}/${name}: ${complaint?.field}: ${complaint?.message}`, EXIT.no);
  const policy = admitted as FailoverPolicy;
  return gathered(policy, managedBy(policy).managed, (one) => all.get(`${one.kind} ${one.namespace}/${one.name}`));
}

function nameOf({ metadata: { namespace = "default", name } }: KubeObject): string {
  return `${namespace}/${name}`;
}

function gathered(policy: FailoverPolicy, managed: readonly Managed[], find: (resource: Managed) => KubeObject | undefined): Original {
  const found = managed.map((resource) => ({ resource, object: find(resource) }));
  return {
    policy,
    objects: found.flatMap(({ resource, object }) => (object ? [{ resource, object }] : [])),
    missing: found.flatMap(({ resource, object }) => (object ? [] : [resource])),
  };
}

async function move(
  client: KubeClient,
  ref: { name: string; namespace: string },
  half: Half,
  options: { timeoutMs: number; quiet: boolean },
): Promise<Result> {
  const { signal } = new AbortController();
  const requested = await client.resource(FailoverPolicy).patch(ref, { spec: { desiredState: half.to } }, { signal });
  const generation = requested.metadata.generation ?? 0;
  const holdUps = new StepDelays();
  const onUpdate = ({ status }: FailoverPolicy) => holdUps.see(status?.transition?.steps ?? [], Date.now());
  const ending = await follow(client, requested, { to: half.to, generation }, { ...options, onUpdate });
  if (ending.is === "stopped") throw new CliError("Stopped; the drill is removed", EXIT.unknown);
  if (ending.is !== "complete") {
    return { ...half, state: "failed", message: ending.message ?? blockedBy(ending.policy, { to: half.to, generation }, Date.now()) };
  }
  const [made] = switchesOf(ending.policy);
  const [longest] = (made?.steps ?? []).toSorted((one, other) => (other.seconds ?? 0) - (one.seconds ?? 0));
  const by = longest && holdUps.of(longest.name);
  return {
    ...half,
    state: "complete",
    seconds: made?.seconds ?? 0,
    ...(longest && { longestStep: { name: longest.name, seconds: longest.seconds ?? 0, ...(by && { heldUpBy: by }) } }),
  };
}

function table(results: readonly Result[]): string[] {
  const head = ["SITE", "TO", "TOOK", "LONGEST STEP", "HELD UP BY"].map((text) => ({ text }));
  const rows = results.map(({ site, to, seconds: took = 0, longestStep }) => {
    const longest = longestStep ? `${longestStep.name} ${humanDuration(longestStep.seconds * 1000)}` : "";
    const { heldUpBy: by } = longestStep ?? {};
    return [site, to, humanDuration(took * 1000), longest, by ? `${by.object}, ${humanDuration(by.seconds * 1000)}` : ""].map((text) => ({
      text,
    }));
  });
  return new Columns(colorizeFor(process.stdout)).lines([head, ...rows]);
}
