import { isObject } from "../../api/admission/value.ts";

type Step = { field: string } | { index: number } | { every: true } | { where: string; equals: string };

/** The JSONPath of printer columns: `.spec.vni`, `.spec.ports[0].port`, `.status.conditions[?(@.type=="Ready")].status`. */
export function compilePath(path: string): (object: unknown) => unknown {
  const steps = stepsOf(path);
  return (object) => steps.reduce<unknown[]>((found, step) => found.flatMap((value) => taken(value, step)), [object])[0];
}

const STEP = /^(?:\.((?:[^.[\\]|\\.)+)|\[\?\(@\.([\w.-]+)\s*==\s*["']([^"']*)["']\)\]|\[(\d+)\]|\[\*\]|\[['"]([^'"]+)['"]\])/;

function stepsOf(path: string): Step[] {
  const steps: Step[] = [];
  for (let rest = path; rest !== "";) {
    const match = STEP.exec(rest);
    if (!match) throw new Error(`the column path ${path} cannot be read from ${rest} on`);
    const [text, field, where, equals, index, quoted] = match;
    if (where !== undefined) steps.push({ where, equals: equals ?? "" });
    else if (index !== undefined) steps.push({ index: Number(index) });
    else if (field !== undefined || quoted !== undefined) steps.push({ field: (field ?? quoted ?? "").replaceAll(/\\(.)/g, "$1") });
    else steps.push({ every: true });
    rest = rest.slice(text.length);
  }
  return steps;
}

function taken(value: unknown, step: Step): unknown[] {
  if ("field" in step) return isObject(value) && Object.hasOwn(value, step.field) ? [value[step.field]] : [];
  if (!Array.isArray(value)) return [];
  if ("index" in step) return step.index < value.length ? [value[step.index]] : [];
  if ("where" in step) return value.filter((item) => isObject(item) && String(item[step.where]) === step.equals);
  return value;
}
