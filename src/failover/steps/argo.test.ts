import { describe, expect, test } from "vitest";
import type { FailoverPolicy, Role } from "../../api/failover/failover-policy.ts";
import type { Application, ApplicationSet, Automated } from "../observe/external-kinds.ts";
import { plan } from "../plan.ts";
import { steps, writeTexts } from "../testing/harness.ts";
import { FakeSite } from "../testing/fake-site.ts";
import { application, deployment, named, policy } from "../testing/fixtures.ts";

const PRIOR = "plumbline.dev/failover-prior";
const REFRESH = "argocd.argoproj.io/refresh";

const wanting = (desiredState: Role): FailoverPolicy => policy({ desiredState, managedResources: named("Application shop") });
const memory = (automated: Automated) => JSON.stringify({ policy: "shop/site", automated });
const writes = (site: FakeSite, to: Role) =>
  plan(site.observe(wanting(to))).steps.flatMap((step) => (step.state === "Act" ? step.writes : []));
const carryOut = (site: FakeSite, to: Role) => {
  for (const write of writes(site, to)) site.write(write);
};
const shop = (site: FakeSite) => site.get("Application", "shop");
const edit = (site: FakeSite, change: (object: Application) => void) => site.edit("Application", shop(site), change);
/** Argo CD has compared on what was written. */
const answer = (site: FakeSite) => edit(site, ({ metadata }) => delete metadata.annotations?.[REFRESH]);

describe("turning automated sync off", () => {
  test("keeps the values, requests a refresh in the same patch, and waits until Argo CD has observed it and no operation runs", () => {
    const site = new FakeSite().put("Application", application("shop", { prune: true, selfHeal: true }));
    expect(writes(site, "secondary").map(({ patch }) => patch)).toEqual([
      {
        metadata: { annotations: { [PRIOR]: memory({ prune: true, selfHeal: true }), [REFRESH]: "normal" } },
        spec: { syncPolicy: { automated: { enabled: false } } },
      },
    ]);
    carryOut(site, "secondary");
    expect(shop(site).spec.syncPolicy?.automated).toEqual({ prune: true, selfHeal: true, enabled: false });
    const waiting = () => plan(site.observe(wanting("secondary"))).steps.flatMap(({ waits }) => waits.map(({ message }) => message));
    expect(waiting()).toEqual(["Application shop/shop has not been refreshed by Argo CD since it was changed"]);

    // One more sync that was decided on before.
    edit(site, (object) => Object.assign(object, { operation: { sync: {} } }));
    answer(site);
    expect(waiting()).toEqual(["Application shop/shop carries out a sync"]);
    edit(site, (object) => {
      delete object.operation;
      object.status = { operationState: { phase: "Running", message: "waiting for hook" } };
    });
    expect(waiting()).toEqual(["Application shop/shop carries out a sync: waiting for hook"]);
    edit(site, (object) => Object.assign(object, { status: { operationState: { phase: "Succeeded" } } }));
    expect(plan(site.observe(wanting("secondary"))).complete).toBe(true);
  });

  test("removes automated if Argo CD does not know field enabled, and restores it exactly", () => {
    const site = new FakeSite().put("Application", application("shop", { prune: true }));
    carryOut(site, "secondary");
    edit(site, ({ spec }) => delete spec.syncPolicy?.automated?.enabled);
    expect(writeTexts(plan(site.observe(wanting("secondary"))))).toEqual(["remove automated sync of Application shop/shop"]);
    carryOut(site, "secondary");
    answer(site);
    expect(shop(site).spec).toEqual({ syncPolicy: {} });
    expect(plan(site.observe(wanting("secondary"))).complete).toBe(true);
    carryOut(site, "primary");
    expect(shop(site).spec).toEqual({ syncPolicy: { automated: { prune: true } } });
  });

  test("skips an Application without automated sync, and does not turn it on later", () => {
    for (const automated of [undefined, { enabled: false, prune: true }]) {
      const site = new FakeSite().put("Application", application("shop", automated));
      expect(writes(site, "secondary")).toEqual([]);
      expect(writes(site, "primary")).toEqual([]);
      const { complete, resources } = plan(site.observe(wanting("primary")));
      expect(complete).toBe(true);
      expect(resources.map(({ state, message }) => `${state}: ${message}`)).toEqual([
        "Suspended: Left without automated sync: it had none before",
      ]);
    }
  });

  test("reports an Application that Argo CD is told to skip", () => {
    const annotations = { "argocd.argoproj.io/skip-reconcile": "true" };
    const site = new FakeSite().put("Application", application("shop", {}, { annotations }));
    carryOut(site, "secondary");
    expect(plan(site.observe(wanting("secondary"))).steps.flatMap(({ waits }) => waits)).toMatchObject([
      { message: expect.stringContaining("remove annotation argocd.argoproj.io/skip-reconcile") },
    ]);
  });
});

describe("turning it on again", () => {
  test.each<[Automated]>([[{}], [{ prune: true }], [{ enabled: true, selfHeal: true }], [{ selfHeal: false, allowEmpty: true }]])(
    "restores exactly %j",
    (automated) => {
      const site = new FakeSite().put("Application", application("shop", automated));
      carryOut(site, "secondary");
      answer(site);
      carryOut(site, "primary");
      expect(shop(site).spec).toEqual({ syncPolicy: { automated } });
      expect(shop(site).metadata.annotations).toEqual({ [REFRESH]: "normal" });
    },
  );

  test("starts a sync unless selfHeal does, with the options of the Application", () => {
    const site = new FakeSite().put("Application", application("shop", { prune: true }));
    edit(site, ({ spec }) => Object.assign(spec.syncPolicy ?? {}, { syncOptions: ["ServerSideApply=true"] }));
    carryOut(site, "secondary");
    answer(site);
    carryOut(site, "primary");
    expect(shop(site).operation).toMatchObject({ sync: { prune: true, syncOptions: ["ServerSideApply=true"] } });
    expect(steps(plan(site.observe(wanting("primary"))))).toContain("ResumeFlux Wait");

    const healing = new FakeSite().put("Application", application("shop", { selfHeal: true }));
    carryOut(healing, "secondary");
    carryOut(healing, "primary");
    expect(shop(healing).operation).toBeUndefined();
  });

  test.each(["Failed", "Error"])("starts a sync also with selfHeal if the last one ended %s: Argo CD does not repeat it", (phase) => {
    const site = new FakeSite().put("Application", application("shop", { prune: true, selfHeal: true }));
    edit(site, ({ status = {} }) => Object.assign(status, { operationState: { phase } }));
    carryOut(site, "secondary");
    answer(site);
    expect(writeTexts(plan(site.observe(wanting("primary"))))).toEqual([
      "turn automated sync of Application shop/shop on again and start a sync",
    ]);
    carryOut(site, "primary");
    expect(shop(site).operation).toEqual({ initiatedBy: { username: "plumbline-failover" }, sync: { prune: true } });
    expect(shop(site).spec).toEqual({ syncPolicy: { automated: { prune: true, selfHeal: true } } });
  });

  test("does not replace a sync that somebody requested after a failed one", () => {
    const site = new FakeSite().put("Application", application("shop", { selfHeal: true }));
    carryOut(site, "secondary");
    answer(site);
    edit(site, (object) => Object.assign(object, { operation: { sync: {} }, status: { operationState: { phase: "Failed" } } }));
    carryOut(site, "primary");
    expect(shop(site).operation).toEqual({ sync: {} });
  });

  test("makes its workloads wait for the sync before their replicas are restored", () => {
    const annotations = {
      "argocd.argoproj.io/tracking-id": "shop:apps/Deployment:shop/web",
      [PRIOR]: JSON.stringify({ policy: "shop/site", replicas: 2 }),
    };
    const site = new FakeSite()
      .put("Application", application("shop", {}, { annotations: { [REFRESH]: "normal" } }))
      .put("Deployment", deployment("web", { replicas: 0 }, { annotations }));
    const wanted = policy({ desiredState: "primary", managedResources: named("Application shop", "Deployment web") });
    expect(writeTexts(plan(site.observe(wanted)))).toEqual([]);
    answer(site);
    expect(writeTexts(plan(site.observe(wanted)))).toEqual(["scale Deployment shop/web from 0 to 2"]);
  });
});

describe("an Application that cannot be switched", () => {
  test("because it does not exist is rejected with its field and a fix, and nothing is written", () => {
    const site = new FakeSite().put("Deployment", deployment("web", { replicas: 2 }));
    const wanted = policy({ desiredState: "secondary", managedResources: named("Deployment web", "Application shop") });
    const planned = plan(site.observe(wanted));
    expect(planned.rejections).toEqual([
      {
        kind: "Application",
        namespace: "shop",
        name: "shop",
        field: "spec.managedResources[1]",
        reason: "NotFound",
        message: "Application shop/shop does not exist; create it, correct its name or namespace, or remove it from the policy",
        class: "Permanent",
      },
    ]);
    expect(planned.failures).toEqual([]);
    expect(writeTexts(planned)).toEqual([]);
  });

  const ownerReferences = [{ apiVersion: "argoproj.io/v1alpha1", kind: "ApplicationSet", name: "shops", uid: "shops" }];
  const templated = (spec: ApplicationSet["spec"]) =>
    new FakeSite()
      .put("Application", application("shop", {}, { ownerReferences }))
      .put("ApplicationSet", { metadata: { name: "shops", namespace: "shop" }, spec });

  test.each<[string, ApplicationSet["spec"]]>([
    ["nothing is set", {}],
    ["only the field is ignored", { ignoreApplicationDifferences: [{ jsonPointers: ["/spec/syncPolicy"] }] }],
    ["only the annotations are kept", { preservedFields: { annotations: [PRIOR] } }],
    [
      "another Application is meant",
      { ignoreApplicationDifferences: [{ name: "other", jsonPointers: ["/spec/syncPolicy"] }], preservedFields: { annotations: [PRIOR] } },
    ],
  ])("is rejected when an ApplicationSet creates it and %s", (_title, spec) => {
    expect(plan(templated(spec).observe(wanting("secondary"))).rejections).toMatchObject([
      {
        reason: "Refused",
        message:
          "Application shop/shop is made by ApplicationSet shops, which would turn automated sync on again; " +
          `set spec.ignoreApplicationDifferences with jsonPointers [/spec/syncPolicy] and spec.preservedFields.annotations [${PRIOR}] there`,
      },
    ]);
  });

  test.each<[string, ApplicationSet["spec"]]>([
    [
      "leaves the field and the annotations alone",
      { ignoreApplicationDifferences: [{ jsonPointers: ["/spec/syncPolicy"] }], preservedFields: { annotations: [PRIOR] } },
    ],
    ["only creates", { syncPolicy: { applicationsSync: "create-only" } }],
  ])("is switched when its ApplicationSet %s", (_title, spec) => {
    expect(plan(templated(spec).observe(wanting("secondary"))).rejections).toEqual([]);
  });

  test("is rejected when its ApplicationSet removes the annotation of the epoch, also after spec.peer was removed", () => {
    const spec = { ignoreApplicationDifferences: [{ jsonPointers: ["/spec/syncPolicy"] }], preservedFields: { annotations: [PRIOR] } };
    const holder = policy({ managedResources: named("Application shop") }, { status: { token: { epoch: 2, state: "Held" } } });
    expect(plan(templated(spec).observe(holder)).rejections.map(({ reason }) => reason)).toEqual(["Refused"]);
  });

  test("is rejected while its ApplicationSet cannot be read", () => {
    const site = templated({});
    site.errors.add("ApplicationSet shop");
    expect(plan(site.observe(wanting("secondary"))).rejections).toMatchObject([{ message: expect.stringContaining("cannot be listed") }]);
  });
});
