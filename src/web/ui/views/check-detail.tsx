import type { CheckDetailData } from "../../api.ts";
import { Detail, DetailTitle, Part } from "../parts/detail.tsx";
import { useEffect, useState } from "preact/hooks";
import type { LatencyPlot } from "../parts/latency-plot.tsx";
import { clockTime, durationSince, milliseconds, Since } from "../parts/time.tsx";

const MAX_ROWS = 12;

export function CheckDetail({ id }: { id: string }) {
  return (
    <Detail id={id} type="check">
      {(check) => <Check check={check} />}
    </Detail>
  );
}

/** What draws it is as large as the rest of the page, and read only by those who look at a check. */
function Latencies({ actions }: Pick<CheckDetailData, "actions">) {
  const [load, setLoad] = useState<{ Plot?: typeof LatencyPlot }>({});
  useEffect(() => {
    void import("../parts/latency-plot.tsx").then((module) => setLoad({ Plot: module.LatencyPlot }));
  }, []);
  return load.Plot ? <load.Plot actions={actions} /> : <div class="plot" />;
}

function Check({ check: { row, message, actions, outages } }: { check: CheckDetailData }) {
  return (
    <>
      <DetailTitle health={row.health} message={message} since={row.since} />
      <dl class="facts">
        <dt>From</dt>
        <dd class="mono">{row.source}</dd>
        <dt>To</dt>
        <dd class="mono">{row.target}</dd>
        <dt>Latency</dt>
        <dd>{row.latencyMs === undefined ? "no success yet" : milliseconds(row.latencyMs)}</dd>
      </dl>
      <Part title="Latency" note="the latest attempts; failures are marked below">
        <Latencies actions={actions} />
      </Part>
      <Part title="Outages" note={outages.length === 0 ? "" : String(outages.length)}>
        {outages.length === 0 && <p class="soft">None on record.</p>}
        <ul class="outage-list">
          {outages.slice(0, MAX_ROWS).map(({ start, end, startedAfter, message }) => (
            <li key={start}>
              <span class={end === undefined ? "short nowrap" : "nowrap"}>
                {start.slice(0, 10)} {clockTime(start)}
              </span>
              <span class="number nowrap">
                {end === undefined ? <Since time={start} prefix="lasts " /> : durationSince(Date.parse(end) - Date.parse(start))}
              </span>
              <span class="soft">
                {message}
                {startedAfter !== undefined && ` Worked last at ${clockTime(startedAfter)}.`}
              </span>
            </li>
          ))}
        </ul>
      </Part>
      <Part title="Attempts" note="newest first">
        <table class="plain">
          <tbody>
            {actions
              .toReversed()
              .slice(0, MAX_ROWS)
              .map(({ time, success, reason, message, latencyMs }) => (
                <tr key={`${time} ${reason}`}>
                  <td class="nowrap">{clockTime(time)}</td>
                  <td class={success ? "" : "short"}>
                    {success ? "✓" : "✕"} {reason}
                  </td>
                  <td class="number nowrap">{latencyMs === undefined ? "" : milliseconds(latencyMs)}</td>
                  <td class="soft cut">{message}</td>
                </tr>
              ))}
          </tbody>
        </table>
      </Part>
    </>
  );
}
