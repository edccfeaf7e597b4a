import { useRef } from "preact/hooks";
import { HIDDEN_KIND, type CauseRow } from "../../api.ts";
import { healthRank, HealthIcon, ComponentName, healthText } from "../parts/health.tsx";
import { Empty, Pane } from "../parts/pane.tsx";
import { Copy } from "../parts/copy.tsx";
import { Since } from "../parts/time.tsx";
import { useWindow } from "../parts/window.ts";
import { linkTo } from "../live/route.ts";

const HEIGHT = 126;
const CHIPS = 4;

/** What is wrong now, the causes before what they break: the worst first, then what breaks most. */
export function Causes({ causes }: { causes: readonly CauseRow[] }) {
  const scroller = useRef<HTMLDivElement>(null);
  const { first, end } = useWindow(scroller, causes.length, HEIGHT);
  const sorted = causes.toSorted(
    (one, other) =>
      healthRank(other.health) - healthRank(one.health) ||
      other.symptomCount - one.symptomCount ||
      (one.since ?? "").localeCompare(other.since ?? ""),
  );
  return (
    <Pane title="Problems" class="causes" count={causes.length === 0 ? undefined : `${causes.length}, causes first`}>
      <div class="cards" ref={scroller} tabIndex={causes.length > 0 ? 0 : undefined} role="group" aria-label="Causes">
        {causes.length === 0 && (
          <Empty title="No problems found">
            Problems appear here with their causes and fixes. Try it in the lab: <code>plumbline lab break link-down</code>
          </Empty>
        )}
        <ul style={{ height: `${sorted.length * HEIGHT}px` }}>
          {sorted.slice(first, end).map((cause, at) => (
            <li key={cause.key} style={{ top: `${(first + at) * HEIGHT}px` }} aria-posinset={first + at + 1} aria-setsize={sorted.length}>
              <CauseCard cause={cause} />
            </li>
          ))}
        </ul>
      </div>
    </Pane>
  );
}

function CauseCard({ cause: { verdict, health, since, symptoms, symptomCount } }: { cause: CauseRow }) {
  return (
    <article class={`card ${health}`}>
      <header>
        <HealthIcon health={health} />
        {verdict ? (
          <a class="cut" href={linkTo({ view: "why", component: verdict.id })}>
            <ComponentName component={verdict.component} />
          </a>
        ) : (
          <span class="cut">No access</span>
        )}
        <span class="grow" />
        <span class="soft nowrap">
          {healthText(health)} <Since time={since} prefix="for " />
        </span>
      </header>
      <p class="message cut" title={verdict?.message}>
        {verdict?.message ?? verdict?.reason ?? ""}
      </p>
      <p class="remedy cut">
        {verdict?.fix && (
          <>
            <span class="soft">→ </span>
            <span class="cut" title={verdict.fix.text}>
              {verdict.fix.text}
            </span>
            {verdict.fix.change?.field !== undefined && <code>{verdict.fix.change.field}</code>}
          </>
        )}
      </p>
      {verdict?.fix?.command !== undefined && (
        <p class="cut">
          <Copy text={verdict.fix.command} />
        </p>
      )}
      <p class="symptoms">
        {symptomCount === 0 ? (
          <span class="soft">affects nothing else</span>
        ) : (
          <>
            <span class="soft">breaks {symptomCount}: </span>
            {symptoms.slice(0, CHIPS).map(({ id, component, health }) =>
              component.kind === HIDDEN_KIND ? (
                <span key={id}>something you cannot access</span>
              ) : (
                <a key={id} class="chip" href={linkTo({ view: "why", component: id })}>
                  <HealthIcon health={health} size={12} /> {component.kind} {component.name}
                  {component.node !== undefined && `@${component.node}`}
                </a>
              ),
            )}
          </>
        )}
      </p>
    </article>
  );
}
