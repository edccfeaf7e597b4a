import type { ComponentChildren } from "preact";
import type { Health } from "../../../api/health.ts";
import type { ConditionRow, DetailAnswer } from "../../api.ts";
import { details } from "../live/rows.ts";
import { linkHere, linkTo } from "../live/route.ts";
import { HealthIcon, healthText } from "./health.tsx";
import { Empty, Waiting } from "./pane.tsx";
import { Since } from "./time.tsx";

type AnyDetail = Extract<DetailAnswer, { component: unknown }>["component"];

/** What is chosen, in a pane of its own beside the list. */
export function Detail<Type extends AnyDetail["type"]>({
  id,
  type,
  children,
}: {
  id: string;
  type: Type;
  children: (component: Extract<AnyDetail, { type: Type }>) => ComponentChildren;
}) {
  const answer = details.value[id];
  const component = answer && "component" in answer ? answer.component : undefined;
  return (
    <ComponentPane id={id}>
      {!answer && <Waiting what={id} />}
      {answer && "missing" in answer && <Empty title="Not there">{answer.missing}</Empty>}
      {component?.type === type && children(component as Extract<AnyDetail, { type: Type }>)}
    </ComponentPane>
  );
}

/** Titled with the component's name, with a link to its causes. */
export function ComponentPane({ id, children }: { id: string; children: ComponentChildren }) {
  const title = (
    <h2 class="cut mono" title={id}>
      {id.split("/").slice(1).join("/")}
    </h2>
  );
  return (
    <DetailPane label={id} title={title} why={id}>
      {children}
    </DetailPane>
  );
}

interface DetailPaneProps {
  label: string;
  title: ComponentChildren;
  why?: string;
  children: ComponentChildren;
}

export function DetailPane({ label, title, why, children }: DetailPaneProps) {
  return (
    <aside class="pane detail" aria-label={label}>
      <header>
        {title}
        <span class="tools">
          {why !== undefined && (
            <a class="button" href={linkTo({ view: "why", component: why })}>
              Why?
            </a>
          )}
          <a class="button" href={linkHere(undefined)} aria-label="Close" title="Close (Esc)">
            ✕
          </a>
        </span>
      </header>
      <div class="scroll" tabIndex={0} role="group" aria-label="Details">
        {children}
      </div>
    </aside>
  );
}

export function DetailTitle({
  health,
  message,
  since,
  extra,
}: {
  health: Health;
  message?: string | undefined;
  since?: string | undefined;
  extra?: ComponentChildren;
}) {
  return (
    <p class={`headline ${health}`}>
      <HealthIcon health={health} size={18} bare />
      <span>
        <strong>{healthText(health)}</strong> {health !== "Healthy" && <Since time={since} prefix="for " />}
        {message !== undefined && <span class="message">{message}</span>}
        {extra}
      </span>
    </p>
  );
}

export function Conditions({ conditions }: { conditions: readonly ConditionRow[] }) {
  if (conditions.length === 0) return null;
  return (
    <Part title="Conditions">
      <table class="plain">
        <thead class="unseen">
          <tr>
            <th>Condition</th>
            <th>Status</th>
            <th>Reason</th>
            <th>Since</th>
          </tr>
        </thead>
        <tbody>
          {conditions.map(({ type, status, reason, message, since }) => (
            <tr key={type}>
              <td>{type}</td>
              <td class="mono">{status}</td>
              <td>
                {reason} {message !== undefined && message !== "" && <span class="soft">{message}</span>}
              </td>
              <td class="number soft">
                <Since time={since} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Part>
  );
}

export function Part({ title, note, children }: { title: string; note?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="part">
      <h3>
        {title} {note !== undefined && <span class="note">{note}</span>}
      </h3>
      {children}
    </section>
  );
}
