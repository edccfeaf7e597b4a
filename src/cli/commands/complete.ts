import type { Command } from "commander";
import { Namespace } from "../../api/core/namespace.ts";
import type { Kind } from "../../api/kind.ts";
import { CUSTOM_KINDS } from "../../api/crds/kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { printable } from "../../kube/printable.ts";
import { type Completion, type Line, parseCommandLine } from "../completion/parse-line.ts";
import { connect } from "../shared/connection.ts";
import { discover } from "../resources/discovery.ts";
import { firstObjects } from "../resources/glance.ts";
import { resolve } from "../resources/resolve.ts";
import { namespaceOf } from "../resources/selection.ts";

/** The longest that a shell waits for a completion. */
const PATIENCE_MS = 2_000;

export function configure(command: Command, program: () => Promise<Command>): void {
  command
    .argument("[args...]", "the arguments so far; the last one is completed")
    .action(async (args: readonly string[]) => complete(await program(), args));
}

async function complete(program: Command, args: readonly string[]): Promise<void> {
  const current = args.at(-1) ?? "";
  const line = parseCommandLine(program, args.length === 0 ? [""] : args);
  const fitting = (await candidatesOf(line)).filter(({ text }) => text.startsWith(current) && printable(text) === text);
  process.stdout.write(fitting.map(({ text, about = "" }) => `${text}\t${about}\n`).join(""));
}

async function candidatesOf({ context, options }: Line): Promise<readonly Completion[]> {
  if (context.is === "one of") return context.candidates;
  if (context.is === "other") return [];
  const client = await connect(options).catch(() => undefined);
  try {
    if (client) return await askServer(client, context, options);
  } catch {
  } finally {
    client?.close();
  }
  return context.is === "kind" ? CUSTOM_KINDS.map(kindCandidate) : [];
}

type ServerContext = Exclude<Line["context"], { is: "one of" | "other" }>;

async function askServer(client: KubeClient, context: ServerContext, options: Line["options"]): Promise<Completion[]> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  if (context.is === "namespace") return named(await firstObjects(client, Namespace, { signal }));
  const discovered = await discover(client, signal);
  if (context.is === "kind") return discovered.resources.filter(({ verbs }) => verbs.includes("list")).map(kindCandidate);
  const namespace = options["allNamespaces"] ? undefined : namespaceOf(client, options);
  const objects = await firstObjects(client, resolve(context.kind, discovered), { namespace, signal });
  return named(objects.filter(({ name }) => !context.taken.includes(name)));
}

function named(objects: readonly { name: string }[]): Completion[] {
  return objects.map(({ name }) => ({ text: name }));
}

function kindCandidate({ plural, kind, group }: Kind): Completion {
  return { text: plural, about: group === "" ? kind : `${kind} of ${group}` };
}
