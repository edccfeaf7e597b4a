import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { LAUNCHER } from "../support/command-line.ts";
import { run } from "../support/frr.ts";

/** Isolated namespaces, daemons and files: `up --router` uses fixed names. */
const MACHINE = `
set -eu
mount --make-rprivate /
mount -t tmpfs plumbline /run
mkdir -p /run/netns /run/frr /run/lock /var/lib/plumbline
mount -t tmpfs plumbline /var/lib/plumbline
ip link set lo up
ip link add eth1 type veth peer name fabric
ip addr add 192.168.11.3/24 dev eth1
ip link set eth1 up
ip link set fabric up
export TERM=dumb
"$PLUMBLINE" up --dir "$SITE" --router >"$SITE.log" 2>&1 &
up=$!
trap 'kill -KILL $up 2>/dev/null; "$PLUMBLINE" router clean --yes >/dev/null' EXIT
for attempt in $(seq 600); do
  if "$PLUMBLINE" get rncs -A --dir "$SITE" 2>/dev/null | grep -q ' True  *False '; then break; fi
  sleep 0.1
done
"$PLUMBLINE" get node,rncs -A -o name --dir "$SITE"
kill -TERM $up
wait $up
echo "up ended with $?"
ip -n perouter -br address show dev pt-ns | grep -o 192.169.20.1/24
"$PLUMBLINE" router clean --yes
trap - EXIT
ip -br address show dev eth1 | grep -o 192.168.11.3/24
ls -A /run/netns /run/frr /var/lib/plumbline
`;

const ROUTER = `
apiVersion: openpe.openperouter.github.io/v1alpha1
kind: Underlay
metadata: { name: fabric, namespace: openperouter-system }
spec:
  asn: 64514
  nics: [eth1]
  neighbors: [{ asn: 64512, address: 192.168.11.2 }]
---
apiVersion: openpe.openperouter.github.io/v1alpha1
kind: L3Passthrough
metadata: { name: host, namespace: openperouter-system }
spec:
  hostsession: { asn: 64514, hostasn: 64515, localcidr: { ipv4: 192.169.20.0/24 } }
`;

async function site(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "plumbline-up-router-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  await mkdir(join(directory, "site"));
  await writeFile(join(directory, "site", "router.yaml"), ROUTER);
  return join(directory, "site");
}

test("up --router runs the router of its machine, leaves it running, and clean removes it", async () => {
  const host = (await run("hostname")).trim();
  const output = await run("unshare", "-n", "-m", "env", `PLUMBLINE=${LAUNCHER}`, `SITE=${await site()}`, "sh", "-c", MACHINE);
  expect(output).toContain(`node/${host}\n`);
  expect(output).toContain(`routernodeconfigurationstatus.openpe.openperouter.github.io/${host}\n`);
  expect(output).toContain("up ended with 0\n192.169.20.1/24\n");
  expect(output).toContain("Move interface eth1 back to the host\n");
  expect(output).toMatch(/192\.168\.11\.3\/24\n\/run\/frr:\n\n\/run\/netns:\n\n\/var\/lib\/plumbline:\n$/);
});

test("up --router without root is an error", async () => {
  const directory = await site();
  const output = await run("setpriv", "--reuid=65534", "--clear-groups", "--", LAUNCHER, "up", "--dir", directory, "--router").catch(
    String,
  );
  expect(output).toContain("--router needs root: it changes this machine's network");
});
