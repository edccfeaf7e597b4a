import type { Command } from "commander";
import { crdYaml } from "../../api/crds/crd.ts";
import { CUSTOM_KINDS } from "../../api/crds/kinds.ts";
import { CliError, EXIT } from "../shared/exit.ts";

export function configure(command: Command): void {
  command
    .argument("[kinds...]", "kind, plural or short name")
    .addHelpText("after", "\nExample:\n  plumbline crds | kubectl apply --server-side -f -\n")
    .action((names: string[]) => {
      const chosen = names.length === 0 ? CUSTOM_KINDS : names.map(find);
      process.stdout.write(chosen.map(crdYaml).join("---\n"));
    });
}

function find(name: string): (typeof CUSTOM_KINDS)[number] {
  const wanted = name.toLowerCase();
  const kind = CUSTOM_KINDS.find((kind) => [kind.kind.toLowerCase(), kind.plural, ...(kind.shortNames ?? [])].includes(wanted));
  if (!kind) throw new CliError(`unknown kind "${name}"; kinds: ${CUSTOM_KINDS.map(({ kind }) => kind).join(", ")}`, EXIT.misuse);
  return kind;
}
