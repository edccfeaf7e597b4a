import { badRequest } from "./api-error.ts";
import type { ServedKind, StoredObject } from "../kinds/served-kind.ts";

/** Field selectors as they stand in a query: `metadata.name=web,spec.nodeName!=n1`. Throws an ApiFault. */
export function parseFieldSelector(text: string, kind: ServedKind): (object: StoredObject) => boolean {
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
