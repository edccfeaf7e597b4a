import { X509Certificate } from "node:crypto";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createAuthority, issue } from "../x509.ts";
import { bundleOf, fromSecret, LIFETIMES, nextRenewal, renew, toSecretData, type Credentials } from "./credentials.ts";

const names = ["plumbline-webhook.plumbline-system.svc", "127.0.0.1"];
const start = new Date("2026-11-15T08:00:00Z");
const DAY = 24 * 3_600_000;
const after = (days: number) => new Date(start.getTime() + days * DAY);
const renewed = (existing: Credentials | undefined, now: Date) => renew(existing, names, LIFETIMES, now);

const life = (pem: string) => {
  const { validFromDate, validToDate } = new X509Certificate(pem);
  return { from: validFromDate, to: validToDate };
};
const signerOf = ({ authorities, serving }: Credentials) =>
  authorities.findIndex(({ certificate }) => new X509Certificate(serving.certificate).checkIssued(new X509Certificate(certificate)));

test("the first credentials are a CA for a year and a serving certificate for ninety days with all names", () => {
  const first = renewed(undefined, start);
  expect(first.authorities).toHaveLength(1);
  expect(life(first.authorities[0]?.certificate ?? "")).toEqual({
    from: new Date("2026-11-15T07:00:00Z"),
    to: new Date("2027-11-15T07:00:00Z"),
  });
  const serving = new X509Certificate(first.serving.certificate);
  expect(life(first.serving.certificate).to).toEqual(new Date("2027-02-13T07:00:00Z"));
  expect(serving.checkHost("plumbline-webhook.plumbline-system.svc")).toBeDefined();
  expect(serving.checkIP("127.0.0.1")).toBeDefined();
  expect(signerOf(first)).toBe(0);
});

test("nothing is renewed early, and the next renewal time is returned", () => {
  const first = renewed(undefined, start);
  expect(renewed(first, after(59.9))).toBe(first);
  expect(nextRenewal(first)).toEqual(new Date("2027-01-14T07:00:00Z"));
});

test("the same CA renews the serving certificate at two thirds of its lifetime", () => {
  const first = renewed(undefined, start);
  const second = renewed(first, after(60));
  expect(second.serving).not.toEqual(first.serving);
  expect(second.authorities).toEqual(first.authorities);
  expect(signerOf(second)).toBe(0);
});

test("a new CA is in the bundle for a day before it signs", () => {
  let credentials = renewed(undefined, start);
  for (const day of [60, 120, 180, 240]) credentials = renewed(credentials, after(day));
  const before = credentials;
  credentials = renewed(credentials, after(244));
  expect(credentials.authorities).toHaveLength(2);
  expect(credentials.authorities[1]).toEqual(before.authorities[0]);
  expect(credentials.serving).toEqual(before.serving);
  expect(bundleOf(credentials)).toBe(`${credentials.authorities[0]?.certificate}${credentials.authorities[1]?.certificate}`);

  const lost = { ...credentials, serving: { certificate: "", privateKey: "" } };
  expect(signerOf(renewed(lost, after(244.5)))).toBe(1);
  expect(signerOf(renewed(lost, after(245.1)))).toBe(0);
  const next = renewed(credentials, after(300));
  expect(signerOf(next)).toBe(0);
  expect(next.authorities).toHaveLength(2);
  expect(renewed(next, after(366)).authorities).toEqual([next.authorities[0]]);
});

test("an expired CA is removed from the bundle", () => {
  let credentials = renewed(undefined, start);
  for (const day of [60, 120, 180, 240, 244, 300, 360]) credentials = renewed(credentials, after(day));
  expect(credentials.authorities).toHaveLength(2);
  expect(nextRenewal(credentials)).toEqual(new Date("2027-11-15T07:00:00Z"));
});

test("a certificate does not outlive its CA", () => {
  const late = renewed(renewed(undefined, start), after(300));
  expect(signerOf(late)).toBe(1);
  expect(life(late.serving.certificate).to).toEqual(life(late.authorities[1]?.certificate ?? "").to);
});

test("after a year without renewal everything is created again at once", () => {
  const old = renewed(undefined, start);
  const fresh = renewed(old, after(400));
  expect(fresh.authorities).toHaveLength(1);
  expect(fresh.authorities[0]).not.toEqual(old.authorities[0]);
  expect(signerOf(fresh)).toBe(0);
});

test("a CA that is about to expire signs nothing, even if its successor is new", () => {
  const old = renewed(undefined, start);
  const fresh = renewed(old, after(364.9));
  expect(fresh.authorities).toHaveLength(2);
  expect(signerOf(fresh)).toBe(0);
  expect(nextRenewal(fresh).getTime()).toBeGreaterThan(after(364.9).getTime());
});

test.each<[string, (good: Credentials) => Credentials]>([
  [
    "a key of another certificate",
    (good) => ({ ...good, serving: { ...good.serving, privateKey: good.authorities[0]?.privateKey ?? "" } }),
  ],
  ["no certificate at all", (good) => ({ ...good, serving: { ...good.serving, certificate: "nonsense" } })],
  [
    "a certificate of another CA",
    (good) => {
      const dates = { notBefore: start, notAfter: after(90) };
      return {
        ...good,
        serving: issue(createAuthority({ commonName: "x", ...dates }), { commonName: "x", names, usage: "server", ...dates }),
      };
    },
  ],
  ["a certificate for other names", (good) => renew(good, ["elsewhere.svc"], LIFETIMES, start)],
])("%s is replaced", (_title, spoil) => {
  const good = renewed(undefined, start);
  const spoiled = spoil(good);
  const repaired = renewed(spoiled, after(1));
  expect(repaired.serving).not.toEqual(spoiled.serving);
  expect(repaired.authorities).toEqual(good.authorities);
  expect(renewed(repaired, after(1))).toBe(repaired);
});

test("a CA without its key is replaced", () => {
  const good = renewed(undefined, start);
  const [authority] = good.authorities;
  const keyless = { ...good, authorities: [{ certificate: authority?.certificate ?? "", privateKey: "" }] };
  expect(bundleOf(renewed(keyless, after(1)))).not.toContain(authority?.certificate);
});

test("a certificate with additional names is kept", () => {
  const good = renewed(undefined, start);
  expect(renew(good, ["127.0.0.1"], LIFETIMES, after(1))).toBe(good);
});

test("credentials survive a round trip through a Secret, in order", () => {
  let credentials = renewed(undefined, start);
  credentials = renewed(credentials, after(250));
  expect(credentials.authorities).toHaveLength(2);
  expect(fromSecret({ metadata: { name: "x" }, data: toSecretData(credentials) })).toEqual(credentials);
});

test.each([{}, { "tls.crt": "bm8=" }, { "tls.crt": "", "tls.key": "%%%" }])("a Secret with %j has no credentials", (data) => {
  expect(fromSecret({ metadata: { name: "x" }, data })).toBeUndefined();
});

test("a served certificate was always signed by a CA that had been trusted for a day, or since the start", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 40 }), (gaps) => {
      let now = start;
      let credentials: Credentials | undefined;
      const trustedSince = new Map<string, Date>();
      for (const gap of gaps) {
        now = new Date(now.getTime() + gap * DAY);
        const next = renewed(credentials, now);
        for (const { certificate } of next.authorities) if (!trustedSince.has(certificate)) trustedSince.set(certificate, now);
        const signer = next.authorities[signerOf(next)]?.certificate ?? "";
        const trusted = now.getTime() - (trustedSince.get(signer)?.getTime() ?? 0);
        expect(next.serving === credentials?.serving || next.authorities.length === 1 || trusted >= DAY).toBe(true);
        expect(life(next.serving.certificate).to.getTime()).toBeGreaterThan(now.getTime());
        expect(nextRenewal(next).getTime()).toBeGreaterThan(now.getTime());
        credentials = next;
      }
    }),
    { seed: 3, numRuns: 30 },
  );
});
