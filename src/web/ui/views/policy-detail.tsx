import type { FailoverStep, PastTransition, PolicyRow } from "../../api.ts";
import { details } from "../live/rows.ts";
import { ComponentPane, Conditions, DetailTitle, Part } from "../parts/detail.tsx";
import { Empty } from "../parts/pane.tsx";
import { clockTime, durationSince, second, Since } from "../parts/time.tsx";

/** Everything of it is in its row; what its resources say comes with the thing. */
export function PolicyDetail({ row, id }: { row: PolicyRow | undefined; id: string }) {
  const answer = details.value[id];
  const more = answer && "component" in answer && answer.component.type === "policy" ? answer.component : undefined;
  return (
    <ComponentPane id={id}>
      {row ? <Policy row={row} /> : <Empty title="Not there">Policy not found, or you have no access.</Empty>}
      {more && more.resources.length > 0 && (
        <Part title="Managed resources">
          <table class="plain">
            <tbody>
              {more.resources.slice(0, 100).map(({ kind, namespace, name, state, error, message, lastSync }) => (
                <tr key={`${kind}/${namespace}/${name}`}>
                  <td>{kind}</td>
                  <td class="mono">{name}</td>
                  <td class={error === undefined ? "" : "short"}>{error ?? state ?? ""}</td>
                  <td class="soft">{message}</td>
                  <td class="number soft">{lastSync !== undefined && <Since time={lastSync} prefix="synced " />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Part>
      )}
      {more && <Conditions conditions={more.conditions} />}
    </ComponentPane>
  );
}

function Policy({ row }: { row: PolicyRow }) {
  const { current, desired, token, peer, workloads, volumes, transition, history } = row;
  return (
    <>
      <DetailTitle health={row.health} message={row.message} since={row.since} />
      <dl class="facts">
        <dt>Here</dt>
        <dd>
          {current}
          {current !== desired && `, desired: ${desired}`}
        </dd>
        <dt>Workloads</dt>
        <dd class={workloads.ok < workloads.total ? "short" : ""}>
          {workloads.ok} of {workloads.total} healthy
        </dd>
        <dt>Volumes</dt>
        <dd class={volumes.ok < volumes.total ? "short" : ""}>
          {volumes.ok} of {volumes.total} healthy
        </dd>
        {token && (
          <>
            <dt>Token</dt>
            <dd>
              {token.state === "Held" ? "held" : "released"}, epoch {token.epoch}
              {token.forced !== undefined && <span class="short"> forced: {token.forced}</span>}
            </dd>
          </>
        )}
        {peer && (
          <>
            <dt>Other site</dt>
            <dd class={peer.reachable ? "" : "short"}>
              {peer.reachable ? "reachable" : "not reachable"}
              {peer.desired !== undefined && `, desired: ${peer.desired}`}
              {peer.message !== undefined && <span class="because">{peer.message}</span>}
            </dd>
          </>
        )}
      </dl>
      {transition ? (
        <Part
          title={transition.end === undefined ? `Switching to ${transition.to}` : `Last switch, to ${transition.to}`}
          note={`${transition.mode}, began ${clockTime(transition.start)}, ${transition.end === undefined ? "running for" : "took"} ${durationSince((transition.end === undefined ? second.value : Date.parse(transition.end)) - Date.parse(transition.start))}`}
        >
          <Timeline steps={transition.steps} start={transition.start} end={transition.end} />
        </Part>
      ) : (
        <Part title="No switch yet">
          <p class="soft">
            Preview a switch: <code>plumbline failover plan</code>.
          </p>
        </Part>
      )}
      {history.length > 0 && <History history={history} />}
    </>
  );
}

const LINE = 26;
const NAME = 150;
const WIDTH = 620;
const TIME = 64;

/** Each step from its beginning to its end, on one line of time. */
function Timeline({ steps, start, end }: { steps: readonly FailoverStep[]; start: string; end: string | undefined }) {
  const from = Date.parse(start);
  const until = Math.max(end === undefined ? second.value : Date.parse(end), from + 1_000);
  const x = (time: number) => NAME + ((Math.min(time, until) - from) / (until - from)) * (WIDTH - NAME - TIME);
  const waiting = steps.find(({ waitingFor }) => waitingFor)?.waitingFor;
  return (
    <>
      <svg class="timeline" viewBox={`0 0 ${WIDTH} ${steps.length * LINE + 18}`} role="list" aria-label="Steps">
        {ticks(from, until).map((time) => (
          <g key={time} class="tick">
            <line x1={x(time)} x2={x(time)} y1="0" y2={steps.length * LINE} />
            <text x={x(time)} y={steps.length * LINE + 13}>
              {durationSince(time - from)}
            </text>
          </g>
        ))}
        {steps.map((step, at) => {
          const began = step.start === undefined ? undefined : Date.parse(step.start);
          const ended = step.end === undefined ? until : Date.parse(step.end);
          const took = began === undefined ? "" : durationSince(ended - began);
          return (
            <g
              key={step.name}
              role="listitem"
              aria-label={`${step.name}: ${step.state}${took && `, ${took}`}`}
              transform={`translate(0 ${at * LINE})`}
              class={`step ${step.state}`}
            >
              <text class="name" x="0" y="17">
                {SYMBOLS[step.state]} {step.name}
              </text>
              {began !== undefined && <rect x={x(began)} y="6" width={Math.max(3, x(ended) - x(began))} height="14" rx="2" />}
              <text class="took" x={WIDTH} y="17">
                {took || "–"}
              </text>
            </g>
          );
        })}
      </svg>
      {waiting && (
        <p class="waiting">
          Waits for {waiting.kind}{" "}
          <span class="mono">
            {waiting.namespace !== undefined && `${waiting.namespace}/`}
            {waiting.name}
          </span>
          {waiting.others !== undefined && waiting.others > 0 && ` and ${waiting.others} others`}: {waiting.message}{" "}
          <Since time={waiting.since} prefix="for " />
        </p>
      )}
    </>
  );
}

const SYMBOLS: Readonly<Record<FailoverStep["state"], string>> = { Pending: "·", Running: "▸", Waiting: "…", Done: "✓" };
const NICE = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 86_400];

function ticks(from: number, until: number): number[] {
  const step = (NICE.find((seconds) => (until - from) / 1_000 / seconds <= 6) ?? 86_400) * 1_000;
  return Array.from({ length: Math.min(8, Math.floor((until - from) / step) + 1) }, (_, at) => from + at * step);
}

/** Stacked, so that one sees which step grew. */
function History({ history }: { history: readonly PastTransition[] }) {
  const longest = Math.max(1, ...history.map(({ seconds = 0 }) => seconds));
  return (
    <Part title="History" note="newest first">
      <ul class="history">
        {history.map((past) => {
          let at = 0;
          return (
            <li key={past.start}>
              <span class="nowrap" title={past.start}>
                {past.start.slice(0, 16).replace("T", " ")}
              </span>
              <span class="nowrap">
                → {past.to} <span class="soft">{past.mode}</span>
              </span>
              <svg
                viewBox="0 0 100 10"
                preserveAspectRatio="none"
                role="img"
                aria-label={past.steps.map(({ name, seconds = 0 }) => `${name} ${durationSince(seconds * 1_000)}`).join(", ")}
              >
                {past.steps.map(({ name, seconds = 0 }, index) => {
                  const x = at;
                  at += (seconds / longest) * 100;
                  return (
                    <rect key={name} class={`piece p${index % 4}`} x={x} width={Math.max(0, at - x - 0.3)} height="10">
                      <title>{`${name} ${durationSince(seconds * 1_000)}`}</title>
                    </rect>
                  );
                })}
              </svg>
              <span class="number nowrap">
                {past.seconds === undefined ? "" : durationSince(past.seconds * 1_000)}
                {past.outcome === "Superseded" && <span class="short"> given up</span>}
                {past.lossSeconds !== undefined && past.lossSeconds > 0 && (
                  <span class="short"> lost {durationSince(past.lossSeconds * 1_000)}</span>
                )}
              </span>
            </li>
          );
        })}
      </ul>
    </Part>
  );
}
