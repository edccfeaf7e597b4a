import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Answer, PathNode } from "../../../explain/answer.ts";
import { HIDDEN_KIND } from "../../api.ts";
import { HealthIcon, ComponentName, healthText } from "../parts/health.tsx";
import { Since } from "../parts/time.tsx";
import { linkTo, option, refine } from "../live/route.ts";
import { layoutOf, type LayoutNode } from "./path-layout.ts";

const CARD = { least: 150, usual: 220, most: 340, height: 104 };
const GAP = { least: 22, most: 56, y: 16 };
const EDGE = 4;
const PADDING = 32;

export function Path({ answer }: { answer: Answer }) {
  const container = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState(1_000);
  useLayoutEffect(() => {
    const element = container.current;
    if (!element) return undefined;
    const resized = new ResizeObserver(() => setRoom(element.clientWidth - PADDING));
    resized.observe(element);
    return () => resized.disconnect();
  }, []);
  // Where not all of it can be seen, the cause can.
  useLayoutEffect(() => {
    if (container.current) container.current.scrollLeft = container.current.scrollWidth;
  }, [answer.path.id, room]);
  const { nodes, columns, rows } = layoutOf(answer, option("all") === "1");
  const each = (room - 2 * EDGE) / columns;
  const gap = Math.max(GAP.least, Math.min(GAP.most, Math.floor(each - CARD.usual)));
  const width = Math.max(CARD.least, Math.min(CARD.most, Math.floor((room - 2 * EDGE - (columns - 1) * gap) / columns)));
  const guilty = guiltyWithin(answer.path);
  const left = ({ column }: LayoutNode) => EDGE + column * (width + gap);
  const top = ({ row }: LayoutNode) => EDGE + row * (CARD.height + GAP.y);
  const whole = { width: columns * (width + gap) - gap + 2 * EDGE, height: rows * (CARD.height + GAP.y) - GAP.y + 2 * EDGE };
  return (
    <div class="drawing" ref={container} tabIndex={0} role="group" aria-label="Path from symptom to cause">
      <div class="sheet" style={{ width: `${whole.width}px`, height: `${whole.height}px` }}>
        <svg width={whole.width} height={whole.height} aria-hidden="true">
          {nodes.map((child) => {
            const parent = child.parent === undefined ? undefined : nodes[child.parent];
            return (
              parent && (
                <Line
                  key={child.key}
                  from={[left(parent) + width, top(parent) + CARD.height / 2]}
                  to={[left(child), top(child) + CARD.height / 2]}
                  guilty={child.step !== undefined && guilty.has(child.step.id)}
                />
              )
            );
          })}
        </svg>
        <ol>
          {nodes.map((card) => (
            <li key={card.key} style={{ left: `${left(card)}px`, top: `${top(card)}px`, width: `${width}px`, height: `${CARD.height}px` }}>
              {card.step ? (
                <Card step={card.step} first={card.column === 0} />
              ) : (
                <button type="button" class="step folded" onClick={() => refine({ all: "1" })}>
                  and {card.folded} more like these
                </button>
              )}
            </li>
          ))}
        </ol>
      </div>
    </div>
  );
}

function Line({ from: [x1, y1], to: [x2, y2], guilty }: { from: [number, number]; to: [number, number]; guilty: boolean }) {
  const middle = (x1 + x2) / 2;
  return (
    <g class={guilty ? "line guilty" : "line"}>
      <path d={`M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2 - 6} ${y2}`} />
      <path class="tip" d={`M${x2 - 8} ${y2 - 4}L${x2 - 1} ${y2}L${x2 - 8} ${y2 + 4}Z`} />
    </g>
  );
}

/** What leads to a cause, also where it stands a second time and is not drawn out again. */
function guiltyWithin(path: PathNode): ReadonlySet<string> {
  const guilty = new Set<string>();
  const leads = (step: PathNode): boolean => {
    const leading = step.dependencies.map(leads).includes(true) || step.cause || guilty.has(step.id);
    if (leading) guilty.add(step.id);
    return leading;
  };
  // Once for where it is drawn out, once more for where it is not.
  leads(path);
  leads(path);
  return guilty;
}

function Card({ step, first }: { step: PathNode; first: boolean }) {
  const { id, component, health, reason, message, since, cause } = step;
  const content = (
    <>
      <span class="top">
        <HealthIcon health={health} />
        <span class="label">{cause ? "cause" : first ? "symptom" : ""}</span>
        <span class="grow" />
        <span class="soft nowrap">{since === undefined ? healthText(health) : <Since time={since} />}</span>
      </span>
      <span class="who">{component.kind === HIDDEN_KIND ? "No access" : <ComponentName component={component} brief={!first} />}</span>
      <span class="says" title={message}>
        {message ??
          reason ??
          (step.dependencies.length > 0 ? "unhealthy because of a dependency" : step.health === "Healthy" ? "" : "see above")}
      </span>
    </>
  );
  const kind = `step ${health} ${cause ? "cause" : ""}`;
  if (component.kind === HIDDEN_KIND) return <div class={kind}>{content}</div>;
  return (
    <a class={kind} href={linkTo({ view: "why", component: id })} aria-current={first ? "true" : undefined}>
      {content}
    </a>
  );
}
