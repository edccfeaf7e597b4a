import * as fc from "fast-check";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { admit } from "../../src/api/admission/admit.ts";
import type { FieldError } from "../../src/api/admission/field-error.ts";
import type { Write } from "../../src/api/admission/validation.ts";
import { CustomResourceDefinition, crdOf } from "../../src/api/crd.ts";
import type { CustomKind } from "../../src/api/define-kind.ts";
import { apiVersionOf, type KubeObject } from "../../src/api/kind.ts";
import { CUSTOM_KINDS } from "../../src/api/kinds.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { KubeError, isKubeError } from "../../src/kube/client/error.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { battered, edited, fitting } from "./generate.ts";
import { Specimen } from "./specimen.ts";

/** What became of an object: refused with these errors, or stored like this. */
interface Verdict {
  errors: FieldError[];
  stored?: unknown;
  unknownFields?: string[];
}

const SEED = 3;
const AT_ONCE = 24;

const KINDS = [...CUSTOM_KINDS, Specimen];
const verdicts: string[] = [];
const reasons = new Set<string>();

const { signal } = new AbortController();
let api: SuiteApiServer;
let client: KubeClient;

beforeAll(async () => {
  api = await apiServer("differential");
  client = new KubeClient(api.access, { retries: 0 });
  for (const kind of KINDS) await install(kind);
  console.log(`seed ${SEED}`);
});

afterAll(async () => {
  client.close();
  await api.stop();
});

/** Five hundred of each kind; what has no spec is all status. */
const withSpec = { creates: 200, updates: 150, statuses: 150 };
const withoutSpec = { creates: 10, updates: 10, statuses: 480 };

describe.each(KINDS.map((kind) => [kind.kind, kind] as const))("%s", (_, kind) => {
  const { creates, updates, statuses } = "spec" in kind.schema.properties ? withSpec : withoutSpec;

  test("an object that is created is defaulted, pruned and judged the same by both", async () => {
    const writes = samples(battered(kind.schema, acceptable(kind)), creates).map((parts, at) => ({
      object: objectOf(kind, `new-${at}`, parts),
    }));
    expect(await differences(kind, writes)).toEqual([]);
  });

  test("an object that is changed is judged the same by both, rules about the old one included", async () => {
    const olds = await stored(kind, 7);
    const edits = fc.oneof(...olds.map((old) => fc.tuple(fc.constant(old), edited(kind.schema, specOf(old)))));
    const writes = samples(edits, updates).map(([old, parts]) => ({
      object: { ...objectOf(kind, "", parts), metadata: old.metadata },
      old,
    }));
    expect(await differences(kind, writes)).toEqual([]);
  });

  test("a status is defaulted, pruned and judged the same by both", async () => {
    const olds = await stored(kind, 4);
    const status = kind.schema.properties["status"] ?? kind.schema;
    const writes = samples(fc.tuple(fc.constantFrom(...olds), battered(status, fitting(status))), statuses).map(([old, status]) => ({
      object: { ...old, status: status ?? null },
      old,
      subresource: "status" as const,
    }));
    expect(await differences(kind, writes)).toEqual([]);
  });

  test("enough of these objects were accepted, and enough refused, that this means something", () => {
    expect(verdicts.filter((verdict) => verdict === `${kind.kind} accepted`).length).toBeGreaterThan(150);
    expect(verdicts.filter((verdict) => verdict === `${kind.kind} refused`).length).toBeGreaterThan(100);
  });
});

test("among the refused objects there was every sort of error", () => {
  expect([...reasons].sort()).toEqual([
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueNotSupported",
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
  ]);
});

/** Asks both about each write; the first few that they answer differently. */
async function differences(kind: CustomKind, writes: readonly (Write & { object: KubeObject })[]): Promise<object[]> {
  const found: object[] = [];
  const queue = [...writes];
  const ask = async () => {
    for (let next = queue.pop(); next && found.length < 3; next = queue.pop()) {
      const { object, ...write } = next;
      const theirs = await judgedByServer(kind, object, write);
      const ours = judgedHere(kind, object, write);
      if (!isDeepStrictEqual(ours, theirs)) found.push(difference(object, write, ours, theirs));
      verdicts.push(`${kind.kind} ${theirs.errors.length > 0 ? "refused" : "accepted"}`);
      for (const { reason } of theirs.errors) reasons.add(reason);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, ask));
  return found;
}

/** What is needed to see what went wrong, and no more. */
function difference(object: KubeObject, { old, subresource }: Write, ours: Verdict, theirs: Verdict): object {
  const only = (verdict: Verdict, other: Verdict) => ({
    errors: verdict.errors.filter((error) => !other.errors.some((same) => isDeepStrictEqual(same, error))),
    ...(!isDeepStrictEqual(verdict.unknownFields, other.unknownFields) && { unknownFields: verdict.unknownFields }),
    ...(!isDeepStrictEqual(verdict.stored, other.stored) && { stored: verdict.stored }),
  });
  const replaced = old && { old: withoutMetadata(old) };
  return { written: withoutMetadata(object), ...replaced, subresource, onlyOurs: only(ours, theirs), onlyTheirs: only(theirs, ours) };
}

function judgedHere(kind: CustomKind, object: object, write: Write): Verdict {
  const { object: admitted, errors, unknownFields } = admit(kind, object, write);
  return { errors: sorted(errors), unknownFields: [...unknownFields], ...(errors.length === 0 && { stored: withoutMetadata(admitted) }) };
}

async function judgedByServer(kind: CustomKind, object: KubeObject, write: Write): Promise<Verdict> {
  // A strict write names the fields that a lenient one drops; where there are none the two are the same.
  const strict = await answerOf(kind, object, write, "Strict");
  if (!isKubeError(strict, "BadRequest")) return verdictOf(strict, []);
  const unknown = [...strict.message.matchAll(/unknown field "((?:[^"\\]|\\.)*)"/g)].map(([, field]) => field ?? "");
  return verdictOf(await answerOf(kind, object, write, "Ignore"), unknown.sort());
}

function verdictOf(answer: object, unknownFields: string[]): Verdict {
  if (!(answer instanceof KubeError)) return { errors: [], unknownFields, stored: withoutMetadata(answer) };
  return { errors: sorted((answer.details?.causes ?? []) as FieldError[]), unknownFields };
}

async function answerOf(kind: CustomKind, object: KubeObject, write: Write, fieldValidation: string): Promise<object> {
  try {
    return await send(kind, object, write, fieldValidation);
  } catch (error) {
    if (isKubeError(error, "Invalid", "BadRequest")) return error;
    throw error;
  }
}

async function send(kind: CustomKind, object: KubeObject, { old, subresource }: Write, fieldValidation: string): Promise<object> {
  const base = `/apis/${apiVersionOf(kind)}/namespaces/default/${kind.plural}`;
  const path = old ? `${base}/${object.metadata.name}${subresource ? "/status" : ""}` : base;
  return client.request(old ? "PUT" : "POST", path, { body: object, query: { dryRun: "All", fieldValidation }, signal });
}

/** Objects that are there, with a status where the kind has one. */
async function stored(kind: CustomKind, count: number): Promise<KubeObject[]> {
  const resource = client.resource(kind);
  const objects: KubeObject[] = [];
  for (const parts of samples(acceptable(kind), count)) {
    const object = objectOf(kind, `old-${count}-${objects.length}`, parts);
    const created = await resource.create(object, { signal });
    objects.push(await resource.replaceStatus({ ...object, metadata: created.metadata }, { signal }));
  }
  return objects;
}

async function install(kind: CustomKind): Promise<void> {
  const crds = client.resource(CustomResourceDefinition);
  await crds.create(crdOf(kind), { signal });
  await vi.waitFor(() => client.resource(kind).list({ namespace: "default", signal }), { timeout: 20_000, interval: 50 });
}

function acceptable(kind: CustomKind): fc.Arbitrary<unknown> {
  return fitting(kind.schema).filter((parts) => admit(kind, objectOf(kind, "any", parts)).errors.length === 0);
}

function samples<T>(arbitrary: fc.Arbitrary<T>, numRuns: number): T[] {
  return fc.sample(arbitrary, { seed: SEED, numRuns });
}

function objectOf(kind: CustomKind, name: string, parts: unknown): KubeObject {
  return { ...(parts as object), apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { name, namespace: "default" } };
}

const specOf = (object: KubeObject) => ("spec" in object ? { spec: object.spec } : {});

function withoutMetadata(object: object): object {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== "metadata"));
}

const sorted = (errors: readonly FieldError[]) =>
  [...errors]
    .map(({ reason, field, message }) => ({ reason, field, message }))
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
