import { forbidden as forbiddenField, unsupported, type FieldError } from "../../api/admission/field-error.ts";
import { badRequest, invalid } from "../store/api-error.ts";
import type { StoredObject, ServedKind } from "../kinds/served-kind.ts";
import { parseLabelSelector } from "../store/label-selector.ts";
import type { RequestTarget } from "./target.ts";

export interface ListSelection {
  readonly namespace?: string;
  readonly matches?: (object: StoredObject) => boolean;
}

export function selectionOf(target: RequestTarget, query: URLSearchParams): ListSelection {
  const { kind, namespace, name } = target;
  const labels = query.get("labelSelector");
  const fields = query.get("fieldSelector");
  const byLabels = labels ? parseLabelSelector(labels) : undefined;
  const byFields = fields ? parseFieldSelector(fields, kind) : undefined;
  const tests = [
    ...(byLabels ? [({ metadata }: StoredObject) => byLabels(metadata.labels ?? {})] : []),
    ...(byFields ? [byFields] : []),
    ...(name === undefined ? [] : [({ metadata }: StoredObject) => metadata.name === name]),
  ];
  return {
    ...(namespace !== undefined && { namespace }),
    ...(tests.length > 0 && { matches: (object: StoredObject) => tests.every((test) => test(object)) }),
  };
}

export function isSelected({ namespace, matches }: ListSelection, object: StoredObject): boolean {
  return (namespace === undefined || object.metadata.namespace === namespace) && (!matches || matches(object));
}

/** Undefined if it is missing. */
export function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  if (!/^[+-]?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  return Number(text);
}

/** 0 means any revision. */
export function resourceVersionIn(query: URLSearchParams): number | undefined {
  const text = query.get("resourceVersion");
  if (text === null || text === "") return undefined;
  if (!/^\d+$/.test(text)) {
    const quoted = JSON.stringify(text);
    const why = `strconv.ParseUint: parsing ${quoted}: invalid syntax`;
    throw badRequest(`invalid resource version: resourceVersion: Invalid value: ${quoted}: ${why}`);
  }
  return Number(text);
}

/** Rejects contradicting options before anything is read. */
export function checkListOptions(query: URLSearchParams, watch: boolean): void {
  const match = query.get("resourceVersionMatch") ?? "";
  const initial = query.has("sendInitialEvents");
  const errors = watch ? watchErrors(query, match, initial) : listErrors(query, match, initial);
  if (errors.length > 0) throw invalid({ kind: "ListOptions", group: "meta.k8s.io" }, "", errors);
}

const when = (wrong: boolean, error: () => FieldError) => (wrong ? [error()] : []);
const matchForbidden = (why: string) => () => forbiddenField("resourceVersionMatch", why);

function listErrors(query: URLSearchParams, match: string, initial: boolean): FieldError[] {
  const given = match !== "";
  return [
    ...when(given && !query.get("resourceVersion"), matchForbidden("resourceVersionMatch is forbidden unless resourceVersion is provided")),
    ...when(given && Boolean(query.get("continue")), matchForbidden("resourceVersionMatch is forbidden when continue is provided")),
    ...when(given && match !== "Exact" && match !== "NotOlderThan", () =>
      unsupported("resourceVersionMatch", match, ["Exact", "NotOlderThan", ""]),
    ),
    ...when(
      match === "Exact" && query.get("resourceVersion") === "0",
      matchForbidden('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
    ),
    ...when(initial, () => forbiddenField("sendInitialEvents", "sendInitialEvents is forbidden for list")),
  ];
}

function watchErrors(query: URLSearchParams, match: string, initial: boolean): FieldError[] {
  const given = match !== "";
  return [
    ...when(initial && match !== "NotOlderThan", matchForbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")),
    ...when(given && !initial, matchForbidden("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")),
    ...when(given && match !== "NotOlderThan", () => unsupported("resourceVersionMatch", match, ["NotOlderThan"])),
    ...when(given && Boolean(query.get("continue")), matchForbidden("resourceVersionMatch is forbidden when continue is provided")),
  ];
}

/** `metadata.name=web,spec.nodeName!=n1`. Throws an ApiError. */
function parseFieldSelector(text: string, kind: ServedKind): (object: StoredObject) => boolean {
  const terms = text
    .split(/(?<!\\),/)
    .filter((term) => term !== "")
    .map((term) => parseTerm(term, text, kind));
  return (object) => terms.every((matches) => matches(object));
}

function parseTerm(term: string, whole: string, kind: ServedKind): (object: StoredObject) => boolean {
  const [, field = "", operator = "", rest = ""] = /^(.*?)(!=|==|=)(.*)$/s.exec(term) ?? [];
  if (operator === "") throw badRequest(`invalid selector: '${whole}'; can't understand '${term}'`);
  const value = unescaped(rest);
  const read = reader(field, kind);
  return operator === "!=" ? (object) => read(object) !== value : (object) => read(object) === value;
}

function unescaped(text: string): string {
  const [stray] = /(?<!\\)[=,]/.exec(text) ?? [];
  if (stray !== undefined) throw badRequest(`invalid field selector: unescaped character in value: ${stray.charCodeAt(0)}`);
  return text.replaceAll(/\\([\\,=])/g, "$1");
}

function reader(field: string, { scope, custom, rules }: ServedKind): (object: StoredObject) => string {
  if (field === "metadata.name") return ({ metadata }) => metadata.name;
  if (field === "metadata.namespace" && (scope === "Namespaced" || !custom)) return ({ metadata }) => metadata.namespace ?? "";
  const fields = rules.selectableFields ?? {};
  const own = Object.hasOwn(fields, field) ? fields[field] : undefined;
  if (own) return own;
  if (custom || rules.selectableFields) throw badRequest(`field label not supported: ${field}`);
  throw badRequest(`"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`);
}
