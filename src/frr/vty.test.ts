import * as fc from "fast-check";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readlink, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { FrrClient } from "./client.ts";
import { Vty } from "./vty.ts";

const never = new AbortController().signal;

/** What a daemon does with a line: `answer` sends text and status, in as many pieces as are given. */
type Daemon = (line: string, answer: (status: number, ...pieces: (string | Buffer)[]) => void, socket: Socket) => void;

let directory: string;
let closers: (() => Promise<unknown>)[];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "plumbline-vty-"));
  closers = [];
});
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(closers.map((close) => close()));
  await rm(directory, { recursive: true });
});

/** A daemon at `bgpd.vty` that accepts every connection and answers as the test says. */
async function bgpd(daemon: Daemon): Promise<{ path: string; heard: string[]; stop(): Promise<void> }> {
  const path = join(directory, "bgpd.vty");
  const heard: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk.toString();
      for (let end = received.indexOf("\0"); end >= 0; end = received.indexOf("\0")) {
        const line = received.slice(0, end);
        received = received.slice(end + 1);
        heard.push(line);
        const answer = (status: number, ...pieces: (string | Buffer)[]) => {
          for (const piece of [...pieces, Buffer.from([0, 0, 0, status])]) socket.write(piece);
        };
        if (line === "enable") answer(0);
        else daemon(line, answer, socket);
      }
    });
  });
  await new Promise<void>((resolve) => void server.listen(path, resolve));
  const stop = async () => {
    for (const socket of sockets) socket.destroy();
    if (server.listening) await once(server.close(), "close");
  };
  closers.push(stop);
  return { path, heard, stop };
}

const open = (path: string, deadlineMs?: number) =>
  Vty.connect(path, { daemon: "bgpd", signal: never, ...(deadlineMs ? { deadlineMs } : {}) });

/** The file descriptors of this process's sockets. */
async function ownSockets(): Promise<string[]> {
  const targets = await Promise.all(
    (await readdir("/proc/self/fd")).map(async (fd) => ({ fd, target: await readlink(`/proc/self/fd/${fd}`).catch(() => "") })),
  );
  return targets.flatMap(({ fd, target }) => (target.startsWith("socket:") ? [fd] : []));
}

describe("an answer", () => {
  test("is text and status, however it is split", async () => {
    const sent = { text: "", cuts: [0] };
    const { path } = await bgpd((_line, _answer, socket) => {
      const all = Buffer.concat([Buffer.from(sent.text), Buffer.from([0, 0, 0, 13])]);
      const cuts = [0, ...sent.cuts.map((cut) => cut % all.length).sort((a, b) => a - b), all.length];
      const pieces = cuts.slice(1).map((cut, at) => all.subarray(cuts[at], cut));
      const next = () => {
        const piece = pieces.shift();
        if (piece) socket.write(piece, () => setImmediate(next));
      };
      next();
    });
    const vty = await open(path);
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme" }), fc.array(fc.nat(100), { maxLength: 6 }), async (text, cuts) => {
        Object.assign(sent, { text: text.replaceAll("\0", ""), cuts });
        expect(await vty.run("show", never)).toEqual({ status: 13, text: sent.text });
      }),
      { seed: 5, numRuns: 100 },
    );
    vty.close();
  });

  test("of some megabytes is read completely", async () => {
    const text = "0123456789abcde\n".repeat(200_000);
    const { path } = await bgpd((_line, answer) => answer(0, text));
    const vty = await open(path);
    expect((await vty.run("show", never)).text === text).toBe(true);
    vty.close();
  });

  test("that is a rejection is thrown with FRR's message by must()", async () => {
    const { path } = await bgpd((_line, answer) => answer(13, "% [BGPD] BGP is already running; AS is 65000\n"));
    const vty = await open(path);
    await expect(vty.must("router bgp 1", never)).rejects.toMatchObject({
      name: "VtyError",
      code: "Rejected",
      daemon: "bgpd",
      line: "router bgp 1",
      status: 13,
      text: "BGP is already running; AS is 65000",
      message: "bgpd: BGP is already running; AS is 65000 (router bgp 1)",
    });
    vty.close();
  });

  test("without text gets a default message", async () => {
    const { path } = await bgpd((_line, answer) => answer(4));
    const vty = await open(path);
    await expect(vty.must("router", never)).rejects.toMatchObject({ text: "command incomplete" });
    vty.close();
  });

  test("that is not JSON is reported as Malformed", async () => {
    const { path } = await bgpd((line, answer) => (line === "show warning" ? answer(1, "{}\n") : answer(0, "Hello\n")));
    const vty = await open(path);
    expect(await vty.json("show warning", never)).toEqual({});
    await expect(vty.json("show", never)).rejects.toMatchObject({ code: "Malformed", text: "the answer is not JSON: Hello\n" });
    vty.close();
  });

  test("that is unexpected ends the connection", async () => {
    const { path } = await bgpd((_line, answer) => (answer(0, "one"), answer(0, "two")));
    const vty = await open(path);
    await vty.run("show", never).catch(() => {});
    await vi.waitFor(() => expect(vty.open).toBe(false), 30_000);
    await expect(vty.run("show", never)).rejects.toMatchObject({ code: "Malformed" });
  });
});

describe("lines", () => {
  test("are sent one at a time, in order", async () => {
    let waiting = 0;
    const { path, heard } = await bgpd((line, answer) => {
      expect(++waiting).toBe(1);
      setImmediate(() => (waiting--, answer(0, line)));
    });
    const vty = await open(path);
    const lines = Array.from({ length: 20 }, (_, at) => `show ${at}`);
    expect(await Promise.all(lines.map((line) => vty.run(line, never)))).toEqual(lines.map((text) => ({ status: 0, text })));
    expect(heard).toEqual(["enable", ...lines]);
    vty.close();
  });

  test("in configuration mode stop at the first rejected one, and leave the mode", async () => {
    const { path, heard } = await bgpd((line, answer) => answer(line === "bad" ? 2 : 0));
    const vty = await open(path);
    await expect(vty.configure(["router bgp 1", "bad", "never sent"], never)).rejects.toMatchObject({ code: "Rejected", line: "bad" });
    expect(heard).toEqual(["enable", "configure terminal", "router bgp 1", "bad", "end"]);
    vty.close();
  });

  test.each([
    ["a newline", "a\nb"],
    ["a NUL", "a\0b"],
    ["a return", "a\rb"],
    ["an escape", "\u001b[A"],
    ["too many characters", "x".repeat(4001)],
  ])("are not sent with %s", async (_what, line) => {
    const { path, heard } = await bgpd((_line, answer) => answer(0));
    const vty = await open(path);
    await expect(vty.run(line, never)).rejects.toMatchObject({ code: "Malformed" });
    expect(heard).toEqual(["enable"]);
    vty.close();
  });

  test("are sent again while mgmtd is busy", async () => {
    let times = 0;
    const { path, heard } = await bgpd((_line, answer) =>
      ++times < 4 ? answer(255, "% command failed, could not lock candidate DS\n") : answer(0),
    );
    const vty = await open(path);
    expect(await vty.run("vni 100", never)).toEqual({ status: 0, text: "" });
    expect(heard.filter((line) => line === "vni 100")).toHaveLength(4);
    vty.close();
  });

  test("are sent again while mgmtd is busy for longer than the answer timeout", async () => {
    const until = performance.now() + 1_500;
    const { path } = await bgpd((line, answer) =>
      line !== "enable" && performance.now() < until ? answer(255, "% command failed, could not lock running DS\n") : answer(0, "done"),
    );
    const vty = await open(path, 1_000);
    expect(await vty.run("vni 100", never)).toEqual({ status: 0, text: "done" });
  });

  test("are sent again while mgmtd is busy, also with the message of later versions", async () => {
    let times = 0;
    const { path } = await bgpd((line, answer) =>
      line !== "enable" && ++times < 4 ? answer(13, "% could not lock candidate DS\n") : answer(0, "done"),
    );
    const vty = await open(path);
    expect(await vty.run("vni 100", never)).toEqual({ status: 0, text: "done" });
  });

  test("fail with the message of mgmtd if it is busy for too long", async () => {
    const { path } = await bgpd((_line, answer) => answer(255, "% command failed, could not lock running DS\n"));
    const vty = await open(path, 1_000);
    await expect(vty.run("vni 100", never)).rejects.toMatchObject({ code: "Timeout", text: "command failed, could not lock running DS" });
  });
});

describe("a daemon", () => {
  test("that does not answer in time loses the connection, with all queued requests", async () => {
    const { path } = await bgpd(() => {});
    const vty = await open(path);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const reply = vty.run("show one", never);
    const behind = vty.run("show two", never);
    const outcomes = Promise.allSettled([reply, behind]);
    await vi.advanceTimersByTimeAsync(9_999);
    expect(vty.open).toBe(true);
    await vi.advanceTimersByTimeAsync(1);
    expect(await outcomes).toMatchObject([
      { reason: { code: "Timeout", line: "show one", text: "no answer in 10 s" } },
      { reason: { code: "Closed", line: "show two" } },
    ]);
    expect(vty.open).toBe(false);
  });

  test("that answers while this process is suspended has answered in time", async () => {
    const { path } = await bgpd((line, answer) => {
      answer(0, "done");
      if (line !== "enable") for (const until = performance.now() + 300; performance.now() < until;);
    });
    const vty = await open(path, 200);
    expect(await vty.run("show", never)).toEqual({ status: 0, text: "done" });
    vty.close();
  });

  test("that disconnects fails running and later requests", async () => {
    const { path } = await bgpd((_line, _answer, socket) => socket.end("half an ans"));
    const vty = await open(path);
    const closed = { code: "Closed", text: "the daemon closed the connection" };
    await expect(vty.run("show", never)).rejects.toMatchObject(closed);
    await expect(vty.run("show", never)).rejects.toMatchObject(closed);
  });

  test("that disconnects during a password is reported without the password", async () => {
    const { path } = await bgpd((_line, _answer, socket) => socket.end());
    const vty = await open(path);
    const error: unknown = await vty.run("neighbor 192.0.2.1 password hunter2", never).catch((error: unknown) => error);
    expect(error).toMatchObject({ code: "Closed", line: "neighbor 192.0.2.1 password ***" });
    expect(String(error)).not.toContain("hunter2");
  });

  test("that does not run is reported with its socket", async () => {
    await expect(open(join(directory, "bgpd.vty"))).rejects.toMatchObject({
      code: "Unreachable",
      message: expect.stringMatching(/^bgpd: not running, .*bgpd\.vty does not exist$/) as string,
    });
  });
});

describe("a caller", () => {
  test("that aborts gets its reason, and the connection is not reused for another answer", async () => {
    const { path } = await bgpd(() => {});
    const vty = await open(path);
    const giveUp = new AbortController();
    const reply = vty.run("show", giveUp.signal);
    giveUp.abort(new Error("enough"));
    await expect(reply).rejects.toThrow("enough");
    expect(vty.open).toBe(false);
  });

  test("that closes ends the session at once, also while a child process has a copy of the socket", async () => {
    const ended = vi.fn<() => void>();
    const { path } = await bgpd((_line, answer, socket) => {
      socket.once("end", ended);
      answer(0);
    });
    const before = new Set(await ownSockets());
    const vty = await open(path);
    await vty.must("show", never);
    const opened = (await ownSockets()).filter((socket) => !before.has(socket));
    const holder = spawn("sleep", ["60"], { stdio: opened.map(Number) });
    closers.push(() => (holder.kill(), once(holder, "close")));
    await once(holder, "spawn");
    vty.close();
    await vi.waitFor(() => expect(ended).toHaveBeenCalled(), { timeout: 5_000 });
  });

  test("that aborts while queued does not affect other requests", async () => {
    const answers: (() => void)[] = [];
    const { path, heard } = await bgpd((_line, answer) => answers.push(() => answer(0)));
    const vty = await open(path);
    const giveUp = new AbortController();
    const first = vty.run("show one", never);
    const second = vty.run("show two", giveUp.signal);
    giveUp.abort(new Error("enough"));
    await vi.waitFor(() => expect(answers).toHaveLength(1), 30_000);
    answers[0]?.();
    await expect(second).rejects.toThrow("enough");
    expect(await first).toEqual({ status: 0, text: "" });
    expect(heard).toEqual(["enable", "show one"]);
    vty.close();
  });
});

describe("a router", () => {
  test("reconnects after a daemon restart, and shares the connection", async () => {
    const router = new FrrClient({ directory });
    const first = await bgpd((_line, answer) => answer(0, "first"));
    const [one, same] = await Promise.all([router.vty("bgpd", never), router.vty("bgpd", never)]);
    expect(same).toBe(one);
    await first.stop();
    await vi.waitFor(() => expect(one.open).toBe(false), 30_000);
    await expect(router.vty("bgpd", never)).rejects.toMatchObject({ code: "Unreachable" });
    await bgpd((_line, answer) => answer(0, "second"));
    expect((await (await router.vty("bgpd", never)).run("show", never)).text).toBe("second");
    router.close();
  });

  test("does not fail a request because another one aborted the connection attempt", async () => {
    const router = new FrrClient({ directory });
    await bgpd((_line, answer) => answer(0, "here"));
    const giveUp = new AbortController();
    const given = router.vty("bgpd", giveUp.signal);
    const kept = router.vty("bgpd", never);
    giveUp.abort(new Error("enough"));
    await expect(given).rejects.toThrow("enough");
    expect((await (await kept).run("show", never)).text).toBe("here");
    router.close();
  });

  test("identifies daemons by their sockets, and detects a restart", async () => {
    const router = new FrrClient({ directory });
    expect(await router.daemons()).toEqual([]);
    expect(await router.identity("bgpd")).toBeUndefined();
    const first = await bgpd(() => {});
    expect(await router.daemons()).toEqual(["bgpd"]);
    const before = await router.identity("bgpd");
    await first.stop();
    await bgpd(() => {});
    expect(await router.identity("bgpd")).not.toBe(before);
  });

  test("detects by its connection whether a daemon still runs or was replaced", async () => {
    const router = new FrrClient({ directory });
    expect(router.connection("bgpd")).toBeUndefined();
    const first = await bgpd(() => {});
    const vty = await router.vty("bgpd", never);
    const before = await router.identity("bgpd");
    expect(before).toBeDefined();
    await rm(join(directory, "bgpd.vty"));
    expect([router.connection("bgpd"), await router.identity("bgpd")]).toEqual([vty, before]);

    const lost = new Promise<void>((resolve) => vty.onLoss(resolve));
    const unheard = vi.fn<() => void>();
    vty.onLoss(unheard)();
    await first.stop();
    await lost;
    expect(unheard).not.toHaveBeenCalled();
    expect(router.connection("bgpd")).toBeUndefined();
    expect(await router.identity("bgpd")).toBeUndefined();
    await bgpd(() => {});
    await router.vty("bgpd", never);
    expect(router.connection("bgpd")).toBeDefined();
    expect(await router.identity("bgpd")).not.toBe(before);
    router.close();
  });
});
