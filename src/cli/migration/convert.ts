import { type Command, Option } from "commander";
import { stringify } from "yaml";
import { NETWORK_KINDS } from "../../api/crds/kinds.ts";
import { keyOf, type KubeObject } from "../../api/kind.ts";
import { print } from "../../kube/printable.ts";
import { type ApiTarget, convert, isRouterObject, routingDomains, type RoutingDomains } from "../../router/dialects/convert.ts";
import { UNCLEAR_VRF, unclearL2VNIs } from "../../router/dialects/read-objects.ts";
import { yamlView } from "../get/view.ts";
import { readInputs } from "../manifests/input.ts";
import { validateManifest } from "../manifests/schema-rules.ts";
import { failureLine } from "../print/failure-line.ts";
import { printItems } from "../print/items.ts";
import { warn } from "../print/warn.ts";
import { routerObjects } from "../router/offline-node.ts";
import { EXIT, failWith } from "../shared/exit.ts";

export function configureConvert(command: Command): void {
  command
    .requiredOption("-f, --filename <path...>", "files or directories (recursive), or - for standard input")
    .addOption(new Option("--to <version>", "version of OpenPERouter to write for").choices(["v0.1", "v0.2", "main"]).makeOptionMandatory())
    .addOption(new Option("-o, --output <format>", "output format").choices(["yaml", "json"]).default("yaml"))
    .addHelpText(
      "after",
      `
Prints all manifests, with those of the router in the fields of the other version. Reads any of the three versions, and changes nothing. Settings
that the other version does not have are listed with object and field, and the exit code is 1. Comments are not kept.

Examples:
  plumbline migrate convert -f site --to main
  plumbline migrate convert -f site --to v0.2 > site-v0.2.yaml
  kubectl get underlays,l2vnis,l3vnis -n openperouter-system -o yaml | plumbline migrate convert -f - --to v0.2 -o json
`,
    )
    .action(run);
}

interface ConvertOptions {
  filename: string[];
  to: ApiTarget;
  output: "yaml" | "json";
}

interface Loss {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly field: string;
  readonly message: string;
}

interface Conversion {
  readonly object?: KubeObject;
  readonly losses: readonly Loss[];
}

async function run({ filename, to, output }: ConvertOptions): Promise<void> {
  const { inputs, unreadable } = await readInputs(filename);
  for (const { file, line, message } of unreadable) failWith(`${file}:${line}: ${message}`, EXIT.no);
  const domains = routingDomains(inputs.map(({ object }) => object));
  const conversions = inputs.map((input) => {
    const conversion = conversionOf(input.object, to, domains);
    for (const loss of conversion.losses) failWith(`${input.file}:${input.lineOf(loss.field)}: ${failureLine(loss)}`, EXIT.no);
    return conversion;
  });
  const admitted = inputs.filter(({ object }) => isRouterObject(object) && validateManifest(object, NETWORK_KINDS).admitted);
  for (const unclear of unclearL2VNIs(routerObjects(admitted.map(({ object }) => object)))) {
    const input = inputs.find(({ object }) => object.metadata === unclear.metadata);
    warn(`${input?.file}:${input?.lineOf("spec.vrf")}: L2VNI ${keyOf(unclear)}: spec.vrf: ${UNCLEAR_VRF}`);
  }
  if (output === "json") printItems("Conversion", conversions);
  else print(YAML.whole(conversions.flatMap(({ object }) => object ?? [])));
}

const YAML = yamlView((value) => stringify(value, { aliasDuplicateObjects: false, lineWidth: 0, compat: "yaml-1.1" }));

/** Objects that are not the router's stay as they are. What the schema rejects is not converted. */
function conversionOf(object: KubeObject, to: ApiTarget, domains: RoutingDomains): Conversion {
  if (!isRouterObject(object)) return { object, losses: [] };
  const about = (losses: readonly { field: string; message: string }[]): Loss[] =>
    losses.map(({ field, message }) => ({
      kind: object.kind ?? "",
      namespace: object.metadata.namespace ?? "",
      name: object.metadata.name,
      field,
      message,
    }));
  const before = validateManifest(object, NETWORK_KINDS);
  if (!before.admitted) return { losses: about(before.complaints) };
  const { object: converted, losses } = convert(object, to, domains);
  const after = converted ? validateManifest(converted, NETWORK_KINDS).complaints : [];
  const rejected = after.map(({ field, message }) => ({ field, message: `Not valid in ${to}: ${message}` }));
  return { ...(converted && { object: converted }), losses: about([...losses, ...rejected]) };
}
