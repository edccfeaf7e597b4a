import type { ComponentHealth } from "../../explain/answer.ts";
import { EXPLAINED_KINDS } from "../../explain/explainers.ts";
import { nearest } from "../resources/nearest.ts";
import { CliError, EXIT } from "../shared/exit.ts";
import { joinFirst } from "../../util/text.ts";

/** Finds the component for `service/shop/web`, `svc/web` or `l3vni/red@node1`; throws unless exactly one matches. */
export function findComponent(reference: string, namespace: string | undefined, healths: Iterable<ComponentHealth>): ComponentHealth {
  const { kind, name, within = namespace, whole, node } = parse(reference);
  const all = [...healths];
  const ofKind = all.filter(({ component }) => meansKind(kind, component.kind));
  if (ofKind.length === 0) {
    const kinds = [...new Set(all.map(({ component }) => component.kind))].sort();
    const known = EXPLAINED_KINDS.some((known) => meansKind(kind, known.kind));
    const what = known ? `no ${kind} found` : `unknown kind "${kind}"`;
    throw new CliError(`${what}; kinds found: ${kinds.join(", ") || "none"}`, EXIT.no);
  }
  const isMeant = ({ component }: ComponentHealth) =>
    component.name === name
      ? within === undefined || (component.namespace ?? within) === within
      : component.namespace === undefined && component.name === whole;
  const named = ofKind.filter(isMeant);
  const found = named.filter(({ component }) => component.node === node);
  const [only] = found;
  if (only && found.length === 1) return only;
  if (found.length > 1) throw new CliError(`${reference} is ambiguous: ${ids(found)}; use one of these names`, EXIT.misuse);
  if (named.length > 0) throw new CliError(`${reference} not found, but ${ids(named)}; use one of these names`, EXIT.misuse);
  const near = nearest(
    name,
    ofKind.map(({ component }) => component.name),
  );
  const hint = near.length === 0 ? `; found: ${ids(ofKind)}` : `; did you mean ${near.join(" or ")}?`;
  throw new CliError(`${reference} not found${hint}`, EXIT.no);
}

function ids(healths: readonly ComponentHealth[]): string {
  return joinFirst(healths.map(({ id }) => id).sort(), 10);
}

interface Meant {
  readonly kind: string;
  readonly name: string;
  /** Its name, if what is before the slash is no namespace: `service/shop/web` of a Target, `red/10.1.0.2` of a Session. */
  readonly whole: string;
  readonly within?: string;
  readonly node?: string;
}

/** `KIND/[NAMESPACE/]NAME[@NODE]`. */
function parse(reference: string): Meant {
  const [, kind, rest, node] = /^([^/]+)\/(.+?)(?:@([^@]+))?$/.exec(reference) ?? [];
  if (kind === undefined || rest === undefined) {
    throw new CliError(`invalid name "${reference}": use KIND/NAME, KIND/NAMESPACE/NAME or KIND/NAME@NODE`, EXIT.misuse);
  }
  const slash = rest.indexOf("/");
  const parts = slash < 0 ? { name: rest } : { within: rest.slice(0, slash), name: rest.slice(slash + 1) };
  return { kind, ...parts, whole: rest, ...(node !== undefined && { node }) };
}

function meansKind(given: string, kind: string): boolean {
  const wanted = given.toLowerCase();
  if (wanted === kind.toLowerCase() || wanted === `${kind.toLowerCase()}s`) return true;
  const known = EXPLAINED_KINDS.find((one) => one.kind === kind);
  return known !== undefined && (wanted === known.plural || (known.shortNames ?? []).includes(wanted));
}
