import { afterAll, beforeAll, describe } from "vitest";
import { deleting } from "./conformance/deleting.ts";
import { describing } from "./conformance/describing.ts";
import { misuse } from "./conformance/misuse.ts";
import { patching } from "./conformance/patching.ts";
import { reading } from "./conformance/reading.ts";
import { errorTests } from "./conformance/errors.ts";
import { startServer, type Conforming, type ServerName } from "./conformance/servers.ts";
import { watching } from "./conformance/watching.ts";
import { writing } from "./conformance/writing.ts";

/** The same expectations of a cluster's API server and of the embedded one. */
describe.each<ServerName>(["embedded", "kube-apiserver"])("%s", (name) => {
  let started: Conforming;
  const server = () => started;
  beforeAll(async () => {
    started = await startServer(name);
  });
  afterAll(() => started.stop());

  describe("writing", () => {
    writing(server);
  });
  describe("patching", () => {
    patching(server);
  });
  describe("rejections", () => {
    errorTests(server);
  });
  describe("misuse", () => {
    misuse(server);
  });
  describe("reading", () => {
    reading(server);
  });
  describe("watching", () => {
    watching(server);
  });
  describe("describing", () => {
    describing(server);
  });
  describe("deleting", () => {
    deleting(server);
  });
});
