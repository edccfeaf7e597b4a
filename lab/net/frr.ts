import type { LabHost } from "./lab-host.ts";

const DAEMONS = "/usr/lib/frr";

export interface PlainFrr {
  /** The `-N` of its daemons; without it, FRR's own directories. */
  readonly name?: string;
  readonly config: readonly string[];
  /** With bfdd too. */
  readonly bfd?: boolean;
}

/** FRR with a configuration file, for the routers of the lab that are not Plumbline's. */
export async function startPlainFrr(host: LabHost, { name, config, bfd = false }: PlainFrr): Promise<void> {
  const directory = name === undefined ? "/etc/frr" : `/etc/frr/${name}`;
  const run = name === undefined ? "/run/frr" : `/run/frr/${name}`;
  const space = name === undefined ? "" : `-N ${name}`;
  const file = `${directory}/frr.conf`;
  const script = [
    "set -e",
    `mkdir -p ${directory} ${run}`,
    `cat >${file}`,
    `touch ${directory}/vtysh.conf`,
    `chown -R frr:frr ${directory} ${run}`,
    ...["zebra", ...(bfd ? ["bfdd"] : []), "bgpd"].map(
      (daemon) => `${DAEMONS}/${daemon} -d ${space} -A 127.0.0.1 -f ${file} >/dev/null 2>&1`,
    ),
  ].join("\n");
  await host.do(["sh", "-c", script], { input: `${config.join("\n")}\n` });
}
