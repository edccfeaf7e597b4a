import * as fc from "fast-check";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { admit } from "../../src/api/admission/validation.ts";
import { CustomResourceDefinition, crdOf } from "../../src/api/crds/crd.ts";
import type { CustomKind } from "../../src/api/define-kind.ts";
import { apiVersionOf, type KubeObject } from "../../src/api/kind.ts";
import { CUSTOM_KINDS, NETWORK_KINDS } from "../../src/api/crds/kinds.ts";
import { NetworkUnderlay } from "../../src/api/network/underlay.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { battered, edited, validValue } from "./generate.ts";
import { SampleKind } from "./fixtures.ts";
import { difference, ourResult, serverResult, type WrittenObject } from "./validation-result.ts";

const SOAK_MINUTES = Number(process.env["PLUMBLINE_SOAK_MINUTES"] ?? 0);
const SEED = SOAK_MINUTES > 0 ? Date.now() % 1_000_000 : 3;
const TIMES = 1 + SOAK_MINUTES;
const AT_ONCE = 24;
vi.setConfig({ testTimeout: 600_000 * TIMES });

/** Five hundred of each kind; what has no spec is all status. */
const WITH_SPEC = { creates: 200 * TIMES, updates: 150 * TIMES, statuses: 150 * TIMES };
const WITHOUT_SPEC = { creates: 10, updates: 10, statuses: 480 * TIMES };

/** Hardly any random Underlay of main has interfaces that fit. */
const KINDS = [...CUSTOM_KINDS, ...NETWORK_KINDS.filter((kind) => kind !== NetworkUnderlay), SampleKind];
const nameOf = ({ plural, group }: CustomKind) => `${plural}.${group}`;
const verdicts: string[] = [];
const reasons = new Set<string>();

const { signal } = new AbortController();
let api: SuiteApiServer;
let client: KubeClient;

beforeAll(async () => {
  console.log(`seed ${SEED}`);
  api = await apiServer("differential");
  client = new KubeClient(api.access, { retries: 0 });
  for (const kind of KINDS) await install(kind, crdOf(kind));
});

afterAll(async () => {
  client.close();
  await api.stop();
});

describe.each(KINDS.map((kind) => [nameOf(kind), kind] as const))("%s", (_, kind) => {
  const { creates, updates, statuses } = "spec" in kind.schema.properties ? WITH_SPEC : WITHOUT_SPEC;

  test("both default, prune and validate a created object the same way", async () => {
    const writes = samples(battered(kind.schema, acceptable(kind)), creates).map((parts, at) => ({
      object: objectOf(kind, `new-${at}`, parts),
    }));
    expect(await differences(kind, writes)).toEqual([]);
  });

  test("both validate a changed object the same way, including transition rules", async () => {
    const olds = await stored(kind, acceptable(kind), "changed", 7);
    expect(await differences(kind, samples(updatesOf(kind, olds), updates))).toEqual([]);
  });

  test("both default, prune and validate a status the same way", async () => {
    const olds = await stored(kind, acceptable(kind), "status", 4);
    expect(await differences(kind, samples(statusesOf(kind, olds), statuses))).toEqual([]);
  });

  test("enough objects were accepted and enough rejected", () => {
    expect(verdicts.filter((verdict) => verdict === `${nameOf(kind)} accepted`).length).toBeGreaterThan(150);
    expect(verdicts.filter((verdict) => verdict === `${nameOf(kind)} refused`).length).toBeGreaterThan(100);
  });
});

test("both accept unchanged values that an older schema allowed", async () => {
  const Relic: CustomKind = { ...SampleKind, kind: "Relic", plural: "relics", shortNames: ["rel"] };
  const strict = crdOf(Relic);
  await install(Relic, lenient(strict));
  const names = (await stored(Relic, forgivable(Relic), "relic", 40)).map(({ metadata }) => metadata.name);
  const crds = client.resource(CustomResourceDefinition);
  await crds.patch(strict.metadata, { spec: strict.spec }, { signal });
  await vi.waitFor(
    async () => expect((await serverResult(client, Relic, { object: objectOf(Relic, "bad", {}) }, signal)).errors).not.toEqual([]),
    { timeout: 60_000 },
  );

  const olds = await Promise.all(names.map((name) => client.resource(Relic).get(name, { namespace: "default", signal })));
  expect(await differences(Relic, samples(updatesOf(Relic, olds), WITH_SPEC.updates))).toEqual([]);
  expect(await differences(Relic, samples(statusesOf(Relic, olds), WITH_SPEC.statuses))).toEqual([]);
});

test("the rejected objects cover every kind of error", () => {
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
async function differences(kind: CustomKind, writes: readonly WrittenObject[]): Promise<object[]> {
  const found: object[] = [];
  const queue = [...writes];
  const ask = async () => {
    for (let written = queue.pop(); written && found.length < 3; written = queue.pop()) {
      const theirs = await serverResult(client, kind, written, signal);
      const ours = ourResult(kind, written);
      if (!isDeepStrictEqual(ours, theirs)) found.push(difference(written, ours, theirs));
      verdicts.push(`${nameOf(kind)} ${theirs.errors.length > 0 ? "refused" : "accepted"}`);
      for (const { reason } of theirs.errors) reasons.add(reason);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, ask));
  return found;
}

/** Objects of the kind that are really there, status and all. */
async function stored(kind: CustomKind, parts: fc.Arbitrary<unknown>, name: string, count: number): Promise<KubeObject[]> {
  const resource = client.resource(kind);
  const objects = samples(parts, count).map((part, at) => objectOf(kind, `${name}-${at}`, part));
  return Promise.all(
    objects.map(async (object) => {
      const created = await resource.create(object, { signal });
      return resource.replaceStatus({ ...object, metadata: created.metadata }, { signal });
    }),
  );
}

function updatesOf(kind: CustomKind, olds: readonly KubeObject[]): fc.Arbitrary<WrittenObject> {
  const edits = olds.map((old) =>
    edited(kind.schema, "spec" in old ? { spec: old.spec } : {}).map((parts) => ({
      object: { ...objectOf(kind, "", parts), metadata: old.metadata },
      old,
    })),
  );
  return fc.oneof(...edits);
}

function statusesOf(kind: CustomKind, olds: readonly KubeObject[]): fc.Arbitrary<WrittenObject> {
  const schema = kind.schema.properties["status"] ?? kind.schema;
  const edits = olds.map((old) => {
    const statuses =
      "status" in old ? fc.oneof(edited(schema, old.status), battered(schema, validValue(schema))) : battered(schema, validValue(schema));
    return statuses.map((status = null) => ({ object: { ...old, status }, old, subresource: "status" as const }));
  });
  return fc.oneof(...edits);
}

function acceptable(kind: CustomKind): fc.Arbitrary<unknown> {
  return validValue(kind.schema).filter((parts) => admit(kind, objectOf(kind, "any", parts)).errors.length === 0);
}

/** Refused today, but with values of the right type: on others the rules themselves would fail, each side's in its own words. */
function forgivable(kind: CustomKind): fc.Arbitrary<unknown> {
  return battered(kind.schema, validValue(kind.schema)).filter((parts) => {
    const object = objectOf(kind, "any", parts);
    const reasons = [admit(kind, object), admit(kind, object, { old: {}, subresource: "status" })].flatMap(({ errors }) =>
      errors.map(({ reason }) => reason),
    );
    return reasons.length > 0 && !reasons.includes("FieldValueTypeInvalid") && !reasons.includes("FieldValueRequired");
  });
}

function objectOf(kind: CustomKind, name: string, parts: unknown): KubeObject {
  return { ...(parts as object), apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { name, namespace: "default" } };
}

function samples<T>(arbitrary: fc.Arbitrary<T>, numRuns: number): T[] {
  return fc.sample(arbitrary, { seed: SEED, numRuns });
}

async function install(kind: CustomKind, crd: CustomResourceDefinition): Promise<void> {
  await client.resource(CustomResourceDefinition).create(crd, { signal });
  await vi.waitFor(() => client.resource(kind).list({ namespace: "default", signal }), { timeout: 60_000, interval: 50 });
}

/** The same kind, to a server that takes anything for it. */
function lenient(crd: CustomResourceDefinition): CustomResourceDefinition {
  const versions = crd.spec.versions.map((version) =>
    Object.assign({}, version, { schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } } }),
  );
  return { ...crd, spec: { ...crd.spec, versions } };
}
