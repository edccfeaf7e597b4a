import type { ServiceDetailData } from "../../api.ts";
import { Conditions, Detail, DetailTitle, Part } from "../parts/detail.tsx";
import { HealthIcon } from "../parts/health.tsx";
import { worstFirst } from "../parts/sorting.ts";
import { Omitted } from "./router-detail.tsx";

const MAX_ROWS = 60;

export function ServiceDetail({ id }: { id: string }) {
  return (
    <Detail id={id} type="service">
      {(service) => <Service service={service} />}
    </Detail>
  );
}

function Service({ service: { row, conditions, announcements, eligible, endpoints } }: { service: ServiceDetailData }) {
  return (
    <>
      <DetailTitle health={row.health} message={row.message} since={row.since} />
      <dl class="facts">
        <dt>Addresses</dt>
        <dd class="mono">{row.addresses.join(", ") || "none"}</dd>
        <dt>Pool</dt>
        <dd>{row.pool ?? "none"}</dd>
        <dt>Endpoints</dt>
        <dd class={endpoints.ready < endpoints.total || endpoints.total === 0 ? "short" : ""}>
          {endpoints.ready} of {endpoints.total} ready
        </dd>
        {eligible.length > 0 && (
          <>
            <dt>Takes over</dt>
            <dd>{eligible.slice(0, 8).join(", then ")}</dd>
          </>
        )}
      </dl>
      <Part title="Announcements" note="per node: announced to which peers, or why not">
        {announcements.length === 0 && <p class="soft">No node announces it. It needs an advertisement that selects its pool.</p>}
        <ul class="announcements">
          {worstFirst(announcements, ({ node }) => node)
            .slice(0, MAX_ROWS)
            .map(({ node, protocol, health, peers = [], interfaces = [], advertisements = [], message }) => (
              <li key={`${protocol} ${node}`}>
                <HealthIcon health={health} />
                <span>
                  <span class="mono">{node}</span> <span class="soft">{protocol}</span>{" "}
                  {peers.map((peer) => (
                    <span key={peer.name} class="chip">
                      <HealthIcon health={peer.health} size={12} /> {peer.name} {peer.bgp}
                    </span>
                  ))}
                  {interfaces.length > 0 && <span>on {interfaces.join(", ")}</span>}
                  {advertisements.length > 0 && <span class="soft"> by {advertisements.join(", ")}</span>}
                  {message !== undefined && message !== "" && <span class="because">{message}</span>}
                </span>
              </li>
            ))}
        </ul>
        <Omitted visible={MAX_ROWS} all={announcements.length} />
      </Part>
      <Conditions conditions={conditions} />
    </>
  );
}
