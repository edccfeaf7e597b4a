import { useComputed } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Answer, Cause } from "../../../explain/answer.ts";
import { HIDDEN_KIND } from "../../api.ts";
import { liveRows, answers } from "../live/rows.ts";
import { Copy } from "../parts/copy.tsx";
import { HealthIcon, ComponentName, healthText } from "../parts/health.tsx";
import { Empty, Pane, Waiting } from "../parts/pane.tsx";
import { only } from "../parts/sorting.ts";
import { Since } from "../parts/time.tsx";
import { go, linkTo, route } from "../live/route.ts";
import { Causes } from "./causes.tsx";
import { Path } from "./path.tsx";
import { componentId } from "../../../api/health.ts";

export function WhyView() {
  const { component } = route.value;
  const causes = useComputed(() => only(liveRows.overview.value, "cause"));
  return (
    <>
      <Ask component={component} />
      {component === undefined ? (
        liveRows.overview.value ? (
          <Causes causes={causes.value} />
        ) : (
          <Waiting what="what is wrong" />
        )
      ) : (
        <Answered component={component} />
      )}
    </>
  );
}

/** Takes what `plumbline why` takes; offers what is wrong now. */
function Ask({ component }: { component: string | undefined }) {
  const field = useRef<HTMLInputElement>(null);
  const known = useComputed(() => {
    const causes = only(liveRows.overview.value, "cause");
    return [...new Set(causes.flatMap(({ verdict, symptoms }) => [verdict, ...symptoms].flatMap((one) => one?.id ?? [])))];
  });
  return (
    <form
      class="ask"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        const requested = field.current?.value.trim() ?? "";
        go({ view: "why", ...(requested !== "" && { component: requested }) });
      }}
    >
      <label for="search">Why is</label>
      <input
        id="search"
        class="field mono"
        ref={field}
        key={component ?? ""}
        defaultValue={component ?? ""}
        list="known"
        placeholder="Service/shop/web, Node/node1, L3VNI/openperouter-system/red@node1 …"
        autocomplete="off"
        spellcheck={false}
      />
      <datalist id="known">
        {known.value.slice(0, 100).map((id) => (
          <option key={id} value={id} />
        ))}
      </datalist>
      <span>unhealthy?</span>
      <button type="submit" class="button">
        Ask
      </button>
      {component !== undefined && (
        <a class="button" href={linkTo({ view: "why" })}>
          All problems
        </a>
      )}
    </form>
  );
}

function Answered({ component }: { component: string }) {
  const found = answers.value[component];
  if (!found) return <Waiting what={component} />;
  if ("missing" in found)
    return (
      <Empty title={`${component} not found, or you have no access`}>
        {found.missing} Name a component KIND/NAMESPACE/NAME, or KIND/NAME without a namespace; add @NODE for its part on one node.
      </Empty>
    );
  const { answer } = found;
  return (
    <>
      <Pane title="From symptom to cause" class="path" count={spoken(answer)}>
        <Path answer={answer} />
      </Pane>
      <Pane title={answer.causes.length > 1 ? "Causes and fixes" : "Cause and fix"} class="remedies">
        {answer.causes.length === 0 ? (
          <Empty title="No problems found">Its dependencies are healthy too.</Empty>
        ) : (
          <ol>
            {answer.causes.slice(0, 50).map((cause) => (
              <li key={cause.id}>
                <Remedied cause={cause} />
              </li>
            ))}
          </ol>
        )}
      </Pane>
    </>
  );
}

function spoken({ path, causes }: Answer): string {
  if (path.health === "Healthy" && causes.length === 0) return "healthy";
  return `${healthText(path.health)}, ${causes.length === 1 ? "one cause" : `${causes.length} causes`}`;
}

function Remedied({ cause: { component, health, reason, message, since, fix, symptoms } }: { cause: Cause }) {
  const hidden = component.kind === HIDDEN_KIND;
  return (
    <article class={`cause ${health}`}>
      <header>
        <HealthIcon health={health} size={18} />
        <strong>{hidden ? "No access" : <ComponentName component={component} />}</strong>
        <span class="soft nowrap">
          {healthText(health)} <Since time={since} prefix="for " />
        </span>
      </header>
      {(message !== undefined || reason !== undefined) && <p>{message ?? reason}</p>}
      {fix && (
        <p class="do">
          <span class="arrow" aria-hidden="true">
            →
          </span>
          <span>
            {fix.text}
            {fix.change && (
              <span class="change">
                {" "}
                <code>
                  {componentId(fix.change.component)}
                  {fix.change.field !== undefined && ` ${fix.change.field}`}
                </code>
              </span>
            )}
            {fix.command !== undefined && <Copy text={fix.command} />}
          </span>
        </p>
      )}
      {symptoms.length > 0 && (
        <p class="soft">
          {symptoms.length === 1 ? "Affects 1 component: " : `Affects ${symptoms.length} components: `}
          {symptoms.slice(0, 6).map(({ id, component }, at) => (
            <span key={id}>
              {at > 0 && ", "}
              {component.kind === HIDDEN_KIND ? "something you cannot access" : <a href={linkTo({ view: "why", component: id })}>{id}</a>}
            </span>
          ))}
          {symptoms.length > 6 && " …"}
        </p>
      )}
    </article>
  );
}
