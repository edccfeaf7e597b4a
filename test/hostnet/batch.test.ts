import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Batch } from "../../src/hostnet/batch.ts";
import { createNamespaces, ipJson, type TestNamespaces } from "../support/namespaces.ts";

let namespaces: TestNamespaces;
let namespace: string;

beforeAll(() => {
  namespaces = createNamespaces(1);
  [namespace = ""] = namespaces.names;
});

afterAll(() => namespaces.remove());

const never = new AbortController().signal;
const args = (line: string) => line.split(" ");
const names = () => (ipJson(namespace, "link") as { ifname: string }[]).map(({ ifname }) => ifname);
/** It never ends by itself. */
const hang = [args("monitor link")];

describe("a batch", () => {
  test("answers the reads that come after the writes, in order", async () => {
    await using batch = new Batch(namespace, never);
    const { replies } = await batch.run(
      [args("link add name b1 type bridge"), args("link add name b2 type bridge")],
      [args("addr show dev b2"), args("addr show dev b1")],
    );
    expect(replies).toMatchObject([[{ ifname: "b2", addr_info: [] }], [{ ifname: "b1" }]]);
    expect(await batch.run([], [args("addr show dev lo")])).toMatchObject({
      replies: [[{ addr_info: [{ local: "127.0.0.1" }, { local: "::1" }] }]],
    });
  });

  test("stops at the first rejected line, reports it, and continues with the next lines", async () => {
    await using batch = new Batch(namespace, never);
    await batch.run([], [args("addr show dev lo")]);
    const { failed } = await batch.run(
      [args("link add name c1 type bridge"), args("link add name lo type bridge"), args("link add name c2 type bridge")],
      [],
    );
    expect(failed).toEqual({ line: 1, text: "RTNETLINK answers: File exists" });
    expect(names()).toContain("c1");
    expect(names()).not.toContain("c2");
    expect(await batch.run([args("link add name c3 type bridge")], [])).toEqual({ replies: [] });
    expect(names()).toContain("c3");
  });

  test("reports the line that ip cannot parse", async () => {
    await using batch = new Batch(namespace, never);
    const { failed } = await batch.run([args("link add name d1 type bridge"), args("link set dev d1 master nosuch")], []);
    expect(failed).toEqual({ line: 1, text: 'Error: argument "nosuch" is wrong: Device does not exist' });
  });

  test("keeps arguments with blanks, quotes and signs intact, on one line", async () => {
    await using batch = new Batch(namespace, never);
    const alias = "rack 7 'left' # \\ \" \n link del dev lo";
    const { replies } = await batch.run(
      [args("link add name e1 type bridge"), ["link", "set", "dev", "e1", "alias", alias]],
      [args("addr show dev e1")],
    );
    expect(replies).toMatchObject([[{ ifalias: "rack 7 'left' ? ? ? ? link del dev lo" }]]);
  });

  test("that hangs is killed at its deadline", async () => {
    await using batch = new Batch(namespace, never, 200);
    await expect(batch.run(hang, [])).rejects.toMatchObject({ name: "KernelError", code: "Timeout", namespace });
    expect(await batch.run([], [args("addr show dev lo")])).toMatchObject({ replies: [[{ ifname: "lo" }]] });
  });

  test("that hangs is killed when it is aborted", async () => {
    const stop = new AbortController();
    await using batch = new Batch(namespace, stop.signal);
    const running = batch.run(hang, []);
    const reason = new Error("the agent ends");
    setTimeout(() => stop.abort(reason), 50);
    await expect(running).rejects.toBe(reason);
    await expect(batch.run([], [args("addr show dev lo")])).rejects.toBe(reason);
  });

  test("cannot run in a missing namespace", async () => {
    await using batch = new Batch(`${namespace}x`, never);
    await expect(batch.run([], [args("addr")])).rejects.toMatchObject({
      code: "Unreachable",
      text: `Cannot open network namespace "${namespace}x": No such file or directory`,
    });
  });

  test("uses the new index of a recreated link once the process is retired", async () => {
    await using batch = new Batch(namespace, never);
    await batch.run([args("link add name f1 type bridge"), args("link set dev f1 up")], []);
    await using other = new Batch(namespace, never);
    await other.run([args("link del dev f1"), args("link add name f1 type bridge")], []);
    batch.retire();
    expect(await batch.run([args("link set dev f1 mtu 1400")], [args("addr show dev f1")])).toMatchObject({ replies: [[{ mtu: 1400 }]] });
  });
});
