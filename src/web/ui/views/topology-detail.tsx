import type { ComponentChildren } from "preact";
import { linkHere, linkTo } from "../live/route.ts";
import { Detail, DetailTitle, Part } from "../parts/detail.tsx";
import { HealthIcon } from "../parts/health.tsx";
import { worstFirst } from "../parts/sorting.ts";
import { Since } from "../parts/time.tsx";
import type { Fabric, TorSession } from "./fabric.ts";
import { Omitted } from "./router-detail.tsx";

const MAX_ROWS = 60;

export function SessionDetail({ id, fabric }: { id: string; fabric: Fabric }) {
  const session = fabric.nodes.flatMap(({ sessions }) => sessions).find((one) => one.id === id);
  return (
    <Detail id={id} type="plain">
      {({ verdict: { health, message, since } }) => (
        <>
          <DetailTitle health={health} message={health === "Healthy" ? undefined : message} since={since} />
          {session && (
            <dl class="facts">
              <Fact name="Node">
                <a href={linkHere(fabric.nodes.find(({ name }) => name === session.node)?.id)}>{session.node}</a>
              </Fact>
              <Fact name="Neighbor">
                <a href={linkHere(`ToR/${session.tor}`)}>{session.neighbor}</a>
              </Fact>
              <Fact name="State">{session.state}</Fact>
              <Fact name="Since">{session.since === undefined ? "unknown" : <Since time={session.since} />}</Fact>
            </dl>
          )}
        </>
      )}
    </Detail>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd class="mono">{children}</dd>
    </>
  );
}

/** What the nodes report of a switch: it reports nothing itself. */
export function TorDetail({ tor, fabric }: { tor: string; fabric: Fabric }) {
  const sessions = fabric.nodes.flatMap((node) => node.sessions.filter((session) => session.tor === tor));
  const up = sessions.filter(({ health }) => health === "Healthy").length;
  return (
    <aside class="pane detail" aria-label={`Switch ${tor}`}>
      <header>
        <h2 class="cut mono" title={tor}>
          {tor}
        </h2>
        <span class="tools">
          <a class="button" href={linkHere(undefined)} aria-label="Close" title="Close (Esc)">
            ✕
          </a>
        </span>
      </header>
      <div class="scroll" tabIndex={0} role="group" aria-label="Details">
        <Part title="BGP sessions" note={`${up} of ${sessions.length} up, as the nodes report`}>
          <Sessions sessions={sessions} />
        </Part>
      </div>
    </aside>
  );
}

function Sessions({ sessions }: { sessions: readonly TorSession[] }) {
  return (
    <>
      <table class="plain">
        <tbody>
          {worstFirst(sessions, ({ node, id }) => `${node} ${id}`)
            .slice(0, MAX_ROWS)
            .map(({ id, node, neighbor, state, health, since }) => (
              <tr key={id}>
                <td>
                  <HealthIcon health={health} />
                </td>
                <td class="mono">
                  <a href={linkHere(id)}>{node}</a>
                </td>
                <td class="soft mono">{neighbor}</td>
                <td>{health === "Healthy" ? state : <a href={linkTo({ view: "why", component: id })}>{state}</a>}</td>
                <td class="number soft">
                  <Since time={since} />
                </td>
              </tr>
            ))}
        </tbody>
      </table>
      <Omitted visible={MAX_ROWS} all={sessions.length} />
    </>
  );
}
