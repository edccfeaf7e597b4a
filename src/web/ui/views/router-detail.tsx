import { type Health, worseHealth } from "../../../api/health.ts";
import type { RouterDetailData, TreeNode } from "../../api.ts";
import { Conditions, Detail, DetailTitle, Part } from "../parts/detail.tsx";
import { HealthIcon, healthText } from "../parts/health.tsx";
import { worstFirst } from "../parts/sorting.ts";
import { Since } from "../parts/time.tsx";
import { linkTo } from "../live/route.ts";

/** Enough to read; what is wrong is always among them. */
const MAX_ROWS = 60;

export function RouterDetail({ id }: { id: string }) {
  return (
    <Detail id={id} type="router">
      {(router) => <Router router={router} />}
    </Detail>
  );
}

function Router({ router: { row, conditions, tree, sessions, vnis } }: { router: RouterDetailData }) {
  const branches = flattened(tree);
  return (
    <>
      <DetailTitle health={row.health} message={row.message} since={row.since} />
      <Part title="Resources" note={`${row.resources.applied} of ${row.resources.total} applied`}>
        {branches.length === 0 ? (
          <p class="soft">No Underlay selects this node. A router needs one first.</p>
        ) : (
          <ul class="tree">
            {branches.slice(0, MAX_ROWS * 2).map((branch) => (
              <Branch key={branch.node.id} {...branch} />
            ))}
          </ul>
        )}
        <Omitted visible={MAX_ROWS * 2} all={branches.length} />
      </Part>
      <Part title="BGP sessions" note={`${row.sessions.up} of ${row.sessions.total} up`}>
        <table class="plain">
          <tbody>
            {worstFirst(sessions, ({ vrf, neighbor }) => `${vrf} ${neighbor}`)
              .slice(0, MAX_ROWS)
              .map(({ id, vrf, neighbor, state, health, since }) => (
                <tr key={id}>
                  <td>
                    <HealthIcon health={health} />
                  </td>
                  <td class="mono">
                    <a href={linkTo({ view: "why", component: id })}>{neighbor}</a>
                  </td>
                  <td class="soft">{vrf}</td>
                  <td>{state}</td>
                  <td class="number soft">
                    <Since time={since} />
                  </td>
                </tr>
              ))}
          </tbody>
        </table>
        <Omitted visible={MAX_ROWS} all={sessions.length} />
      </Part>
      <Part title="VNIs" note={`${row.vnis.up} of ${row.vnis.total} up`}>
        <table class="plain">
          {vnis.length > 0 && (
            <thead>
              <tr>
                <th aria-label="Health" />
                <th>VNI</th>
                <th>Type</th>
                <th>VRF</th>
                <th>State</th>
                <th class="number">MACs</th>
                <th class="number">VTEPs</th>
                <th class="number">Prefixes</th>
              </tr>
            </thead>
          )}
          <tbody>
            {worstFirst(vnis, ({ vni }) => String(vni))
              .slice(0, MAX_ROWS)
              .map(({ vni, type, vrf, state, message, health, macs, vteps, prefixes }) => (
                <tr key={vni}>
                  <td>
                    <HealthIcon health={health} />
                  </td>
                  <td class="mono">{vni}</td>
                  <td>{type}</td>
                  <td class="soft">{vrf}</td>
                  <td>
                    {state}
                    {message !== undefined && <div class="soft">{message}</div>}
                  </td>
                  <td class="number">{macs ?? "–"}</td>
                  <td class="number">{vteps ?? "–"}</td>
                  <td class="number">{prefixes ?? "–"}</td>
                </tr>
              ))}
          </tbody>
        </table>
        <Omitted visible={MAX_ROWS} all={vnis.length} />
      </Part>
      <Conditions conditions={conditions} />
    </>
  );
}

export function Omitted({ visible, all }: { visible: number; all: number }) {
  return all > visible ? <p class="soft">{all - visible} more, none of them worse.</p> : null;
}

interface BranchRow {
  readonly node: TreeNode;
  readonly depth: number;
  /** For each level above: whether a line goes on down to a later one. */
  readonly rails: readonly boolean[];
}

/** Depth first, the worst branch of each first. */
function flattened(nodes: readonly TreeNode[], rails: readonly boolean[] = []): BranchRow[] {
  const sorted = worstFirst(
    nodes.map((node) => ({ node, health: worstWithin(node) })),
    ({ node: { kind, name } }) => `${kind} ${name}`,
  );
  return sorted.flatMap(({ node }, at) => {
    const goesOn = at < sorted.length - 1;
    const own = [...rails, goesOn];
    const branch: BranchRow[] = [{ node, depth: rails.length, rails: own }];
    return branch.concat(flattened(node.children, own));
  });
}

const worstWithin = ({ health, children }: TreeNode): Health => children.map(worstWithin).reduce(worseHealth, health);

const STEP = 18;

function Branch({ node, depth, rails }: BranchRow) {
  const { kind, name, state, health, reason, message, field } = node;
  return (
    <li>
      <span class="rails" style={{ width: `${(depth + 1) * STEP}px` }} aria-hidden="true">
        {rails.slice(1).map((goesOn, level) => {
          const own = level === depth - 1;
          const shape = own ? (goesOn ? "fork" : "end") : goesOn ? "rail" : "gap";
          return <i key={level} class={shape} style={{ left: `${level * STEP + STEP / 2 - 1}px` }} />;
        })}
      </span>
      <HealthIcon health={health} />
      <span class="message">
        <a href={linkTo({ view: "why", component: node.id })}>
          <span class="kind">{kind}</span> <span class="mono">{name}</span>
        </a>{" "}
        <span class={`state ${health}`}>{stateText(state, health)}</span>
        {(message !== undefined || reason !== undefined) && health !== "Healthy" && (
          <span class="because">
            {reason}
            {message !== undefined && `: ${message}`}
            {field !== undefined && (
              <>
                {" "}
                <code>{field}</code>
              </>
            )}
          </span>
        )}
      </span>
    </li>
  );
}

const STATES: Readonly<Record<TreeNode["state"], string>> = {
  Applied: "applied",
  Failed: "failed",
  KeptPrevious: "the last good version is still applied",
  Rebuilding: "being rebuilt",
};
/** What is applied may still not work. */
const stateText = (state: TreeNode["state"], health: Health) =>
  state === "Applied" && health !== "Healthy" ? `applied, ${healthText(health)}` : STATES[state];
