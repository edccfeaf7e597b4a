import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { Child } from "../child.ts";
import type { GobgpBinaries } from "./binaries.ts";

export interface GobgpPeerOptions {
  readonly binaries: GobgpBinaries;
  /** The network namespace that it runs in. */
  readonly netns: string;
  /** For its configuration and its log. */
  readonly directory: string;
  readonly asn: number;
  readonly routerId: string;
  /** Who dials in, and with which AS and password. */
  readonly neighbor: { readonly address: string; readonly asn: number; readonly password?: string };
}

/** A prefix as GoBGP has learned it. */
export interface LearnedRoute {
  readonly prefix: string;
  readonly nextHop: string;
  readonly asPath: readonly number[];
  readonly localPref?: number;
  /** `64512:1`. */
  readonly communities: readonly string[];
  /** `64512:1:2`. */
  readonly largeCommunities: readonly string[];
}

/** A BGP speaker that shares no code with FRR. It waits for connections and accepts all routes of both families. */
export class GobgpPeer {
  readonly #options: GobgpPeerOptions;
  readonly #child: Child;

  private constructor(options: GobgpPeerOptions, child: Child) {
    this.#options = options;
    this.#child = child;
  }

  static async start(options: GobgpPeerOptions): Promise<GobgpPeer> {
    const { binaries, netns, directory } = options;
    const file = join(directory, "gobgpd.toml");
    await writeFile(file, configuration(options), { mode: 0o600 });
    const args = [`--net=/run/netns/${netns}`, binaries.gobgpd, "-f", file, "-p", "--pprof-disable", "--api-hosts", "127.0.0.1:50051"];
    return new GobgpPeer(options, new Child("gobgpd", "nsenter", args, { logFile: join(directory, "gobgpd.log") }));
  }

  async routes(family: "ipv4" | "ipv6"): Promise<LearnedRoute[]> {
    const { binaries, netns } = this.#options;
    const args = [`--net=/run/netns/${netns}`, binaries.gobgp, "-j", "global", "rib", "-a", family];
    const { stdout } = await promisify(execFile)("nsenter", args, { maxBuffer: 1 << 26 });
    const rib = JSON.parse(stdout || "{}") as Rib;
    return Object.entries(rib).flatMap(([prefix, paths]) => paths.map(({ attrs }) => learned(prefix, attrs)));
  }

  async stop(): Promise<void> {
    await this.#child.kill();
  }
}

type Rib = Readonly<Record<string, readonly { readonly attrs: readonly Attribute[] }[]>>;

interface Attribute {
  readonly type: number;
  readonly value?: unknown;
  readonly nexthop?: string;
  readonly as_paths?: readonly { readonly asns: readonly number[] }[];
  readonly communities?: readonly number[];
}

const TYPE = { asPath: 2, nextHop: 3, localPref: 5, communities: 8, reachable: 14, large: 32 };

function learned(prefix: string, attributes: readonly Attribute[]): LearnedRoute {
  const of = (type: number) => attributes.find((attribute) => attribute.type === type);
  const localPref = of(TYPE.localPref)?.value;
  const large = (of(TYPE.large)?.value ?? []) as readonly { ASN: number; LocalData1: number; LocalData2: number }[];
  return {
    prefix,
    nextHop: of(TYPE.nextHop)?.nexthop ?? of(TYPE.reachable)?.nexthop ?? "",
    asPath: of(TYPE.asPath)?.as_paths?.flatMap(({ asns }) => asns) ?? [],
    ...(typeof localPref === "number" && { localPref }),
    communities: (of(TYPE.communities)?.communities ?? []).map((value) => `${value >>> 16}:${value & 0xffff}`),
    largeCommunities: large.map(({ ASN, LocalData1, LocalData2 }) => `${ASN}:${LocalData1}:${LocalData2}`),
  };
}

function configuration({ asn, routerId, neighbor }: GobgpPeerOptions): string {
  const families = ["ipv4-unicast", "ipv6-unicast"].map(
    (name) => `[[neighbors.afi-safis]]
[neighbors.afi-safis.config]
afi-safi-name = "${name}"
`,
  );
  return `[global.config]
as = ${asn}
router-id = "${routerId}"

[[neighbors]]
[neighbors.config]
neighbor-address = "${neighbor.address}"
peer-as = ${neighbor.asn}
auth-password = ${JSON.stringify(neighbor.password ?? "")}
[neighbors.transport.config]
passive-mode = true
${families.join("")}`;
}
