import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parseAddress } from "../../src/ip/address.ts";
import { createLog } from "../../src/kube/log.ts";
import { SpeakerStateStore } from "../../src/loadbalancer/speaker/stored-decisions.ts";
import { LAUNCHER, plumbline } from "../support/command-line.ts";
import { run } from "../support/frr.ts";

/** A machine of its own for an API server on TCP and an agent that speaks to it, both as processes. */
const MACHINE = `
set -eu
mount --make-rprivate /
mount -t tmpfs plumbline /run
mkdir -p /run/netns /run/frr /run/lock /var/lib/plumbline
mount -t tmpfs plumbline /var/lib/plumbline
ip link set lo up
ip link add eth1 type veth peer name fabric
ip addr add 192.168.11.3/24 dev eth1
export TERM=dumb
"$PLUMBLINE" up --dir "$SITE" --listen 127.0.0.1:7443 >"$SITE.log" 2>&1 &
up=$!
agent=
trap 'kill -KILL $up $agent 2>/dev/null; "$PLUMBLINE" router clean --yes >/dev/null' EXIT
for attempt in $(seq 300); do grep -q KUBECONFIG= "$SITE.log" && break; sleep 0.1; done
kubeconfig=$(sed -n 's/.*KUBECONFIG=//p' "$SITE.log")
"$PLUMBLINE" agent --node n1 --kubeconfig "$kubeconfig" --frr-start --health-address 127.0.0.1:7081 >"$SITE.agent.log" 2>&1 &
agent=$!
for attempt in $(seq 600); do
  if "$PLUMBLINE" get rncs -A --dir "$SITE" 2>/dev/null | grep -q ' True  *False '; then break; fi
  sleep 0.1
done
exec 3<>/dev/tcp/127.0.0.1/7081
printf 'GET /metrics HTTP/1.0\\r\\n\\r\\n' >&3
grep -o '^plumbline_router_unavailable .*' <&3
exec 3<&-
kill -TERM $agent
wait $agent && echo "agent ended with 0"
vtysh --vty_socket /run/frr/plumbline-router -c 'show running-config' 2>/dev/null | grep 'router bgp'
"$PLUMBLINE" router clean --yes >/dev/null
kill -TERM $up
wait $up
trap - EXIT
`;

const SITE = `
apiVersion: v1
kind: Node
metadata: { name: n1 }
---
apiVersion: openpe.openperouter.github.io/v1alpha1
kind: Underlay
metadata: { name: fabric, namespace: openperouter-system }
spec:
  asn: 64514
  nics: [eth1]
  neighbors: [{ asn: 64512, address: 192.168.11.2 }]
`;

test("an agent connects to its API server, reports, and stops without changing the router", async () => {
  const directory = await mkdtemp(join(tmpdir(), "plumbline-agent-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  await mkdir(join(directory, "site"));
  await writeFile(join(directory, "site", "router.yaml"), SITE);
  const environment = [`PLUMBLINE=${LAUNCHER}`, `SITE=${join(directory, "site")}`];
  expect(await run("unshare", "-n", "-m", "env", ...environment, "bash", "-c", MACHINE)).toBe(
    "plumbline_router_unavailable 0\nagent ended with 0\nrouter bgp 64514\n",
  );
});

/** A rebooted machine with an agent that the API server rejects. */
const REJECTED = `
set -eu
ip link set lo up
ip link add eth0 type veth peer name segment
ip addr add 192.168.50.10/24 dev eth0
ip link set eth0 up
ip link set segment up
"$PLUMBLINE" agent --node n1 --router off --kubeconfig "$KUBE" --state-directory "$STATE" --health-address 127.0.0.1:7081 >"$STATE.log" 2>&1 &
agent=$!
trap 'kill -KILL $agent 2>/dev/null' EXIT
for attempt in $(seq 300); do ip -o addr show dev plumbline-vip 2>/dev/null | grep -q 192.168.50.200/32 && break; sleep 0.1; done
ip -o addr show dev plumbline-vip | grep -o 192.168.50.200/32
kill -TERM $agent
wait $agent && echo "agent ended with 0"
trap - EXIT
`;

test("an unauthorized agent ends with an error, but restores the last live state if one ran before", async () => {
  const directory = await mkdtemp(join(tmpdir(), "plumbline-agent-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const server = createServer((_request, response) => {
    const status = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "Forbidden", message: "it is not for you", code: 403 };
    response.writeHead(403, { "content-type": "application/json" }).end(JSON.stringify(status));
  });
  server.listen(join(directory, "api.sock"));
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const [kubeconfig, state] = [join(directory, "kubeconfig"), join(directory, "state")];
  const config = {
    clusters: [{ name: "c", cluster: { server: `unix:${join(directory, "api.sock")}` } }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    users: [{ name: "u", user: {} }],
    "current-context": "c",
  };
  await writeFile(kubeconfig, JSON.stringify(config));

  const rejected = await plumbline(["agent", "--node", "n1", "--kubeconfig", kubeconfig, "--state-directory", state]);
  expect([rejected.code, rejected.stderr]).toEqual([3, expect.stringContaining("it is not for you")]);

  const owned = { address: parseAddress("192.168.50.200"), service: "shop/web", candidates: ["n1"] };
  await new SpeakerStateStore(state, createLog({ level: "silent" })).keep({ addresses: [owned] });
  const environment = [`PLUMBLINE=${LAUNCHER}`, `KUBE=${kubeconfig}`, `STATE=${state}`];
  expect(await run("unshare", "-n", "env", ...environment, "bash", "-c", REJECTED)).toBe("192.168.50.200/32\nagent ended with 0\n");
});

test("an agent without an API server ends with an error", async () => {
  const { code, stderr } = await plumbline(["agent", "--kubeconfig", "/nowhere/config"]);
  expect(code).toBe(3);
  expect(stderr).toContain("/nowhere/config");
});

test.each([
  [["--router", "maybe"], "Allowed choices are on, off."],
  [["--loadbalancer", "no"], "Allowed choices are on, off."],
  [["--session-poll-interval", "1"], "Must be a duration from 100ms to 60m, such as 1s."],
  [["--session-poll-interval", "10ms"], "Must be a duration from 100ms to 60m, such as 1s."],
  [["--check-interval", "11m"], "Must be a duration from 100ms to 10m, such as 1m."],
  [["--lb-exempt-ports", "80,x"], "Must be ports from 1 to 65535, such as 80,8000-8100."],
  [["--lb-exempt-ports", "8100-8000"], "Must be ports from 1 to 65535, such as 80,8000-8100."],
])("the error about option %j has a fix", async (args, fix) => {
  const { code, stderr } = await plumbline(["agent", ...args]);
  expect(code).toBe(2);
  expect(stderr).toContain(fix);
});
