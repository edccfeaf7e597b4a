import { useLayoutEffect } from "preact/hooks";
import { domainName, HealthIcon } from "./parts/health.tsx";
import { helpVisible, KEYS } from "./keys.ts";
import { liveRows } from "./live/rows.ts";
import { isOld, link, logOut, viewer } from "./live/stream.ts";
import { Login } from "./login.tsx";
import { clockTime, durationSince, second } from "./parts/time.tsx";
import { linkTo, route, TITLES, type PageView, VIEWS } from "./live/route.ts";
import { nextTheme, theme } from "./parts/theme.ts";
import { ConnectivityView } from "./views/connectivity.tsx";
import { FailoverView } from "./views/failover.tsx";
import { LoadBalancerView } from "./views/loadbalancer.tsx";
import { OverviewView } from "./views/overview.tsx";
import { RouterView } from "./views/router.tsx";
import { TimelineView } from "./views/timeline.tsx";
import { TopologyView } from "./views/topology.tsx";
import { WhyView } from "./views/why.tsx";

const DRAWN: Readonly<Record<PageView, () => preact.JSX.Element>> = {
  overview: OverviewView,
  topology: TopologyView,
  router: RouterView,
  loadbalancer: LoadBalancerView,
  failover: FailoverView,
  connectivity: ConnectivityView,
  timeline: TimelineView,
  why: WhyView,
};

export function App() {
  const { view } = route.value;
  const old = isOld.value;
  useLayoutEffect(() => {
    document.title = `${TITLES[view]} · Plumbline`;
  }, [view]);
  useLayoutEffect(() => {
    document.documentElement.toggleAttribute("data-old", old);
  }, [old]);
  if (viewer.value === "denied") return <Login />;
  const Drawn = DRAWN[view];
  return (
    <div class="frame">
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>
        Skip to content
      </a>
      <Bar />
      <Notices />
      <main id="main" tabIndex={-1} class={`view view-${view}`}>
        <h1 class="unseen">{TITLES[view]}</h1>
        <Drawn key={view} />
      </main>
      {helpVisible.value && <Help />}
    </div>
  );
}

function Bar() {
  return (
    <header class="bar">
      <a class="brand" href={linkTo({ view: "overview" })} aria-label="Plumbline, overview">
        <svg width="16" height="20" viewBox="0 0 16 20" aria-hidden="true">
          <path class="cord" d="M8 0V8" />
          <path class="bob" d="M3.5 8H12.5L8 19.5Z" />
        </svg>
        Plumbline
      </a>
      <nav aria-label="Views">
        {VIEWS.map((view) => (
          <a key={view} href={linkTo({ view })} aria-current={route.value.view === view ? "page" : undefined}>
            {TITLES[view]}
            <Badge view={view} />
          </a>
        ))}
      </nav>
      <span class="right">
        <Liveness />
        <button type="button" class="button plain" onClick={nextTheme} title="Theme: light, dark or system (t)">
          <span class="unseen">Colors: </span>
          {{ system: "◐ Auto", light: "○ Light", dark: "● Dark" }[theme.value]}
        </button>
        <button type="button" class="button plain" onClick={() => (helpVisible.value = true)} title="Keys (?)" aria-label="Help: keys">
          ?
        </button>
        {typeof viewer.value === "object" && viewer.value.login && (
          <button type="button" class="button plain" onClick={() => void logOut()} title={viewer.value.user}>
            Log out
          </button>
        )}
      </span>
    </header>
  );
}

/** How it stands with a domain, beside its name; nothing where all is well. */
function Badge({ view }: { view: PageView }) {
  for (const row of liveRows.overview.value?.values() ?? [])
    if (row.type === "domain" && row.domain === view && row.health !== "Healthy") return <HealthIcon health={row.health} size={12} />;
  return null;
}

function Liveness() {
  const { state, since } = link.value;
  if (state === "live")
    return (
      <span class="liveness live" role="status" title={`Live since ${clockTime(since)}`}>
        <i class="dot beating" /> live
      </span>
    );
  return (
    <span class="liveness" role="status">
      <i class="dot hollow" />
      {state === "connecting" ? " connecting" : ` reconnecting since ${clockTime(since)}`}
    </span>
  );
}

/** What one must know before believing what is shown. */
function Notices() {
  const { state, since } = link.value;
  const [sync] = liveRows.sync.value?.values() ?? [];
  return (
    <div class="notices" role="alert">
      {state === "lost" && (
        <p>
          No message from the server since {clockTime(since)}. This page is {durationSince(second.value - since)} old and may be out of
          date. Without the page: <code>plumbline status</code>.
        </p>
      )}
      {sync && !sync.complete && <p>Reading the cluster. Some objects may be missing.</p>}
      {sync && sync.lost.length > 0 && (
        <p>
          Not live at present, the API server does not answer:{" "}
          {sync.lost.map(({ kind, since }) => `${kind} (as of ${clockTime(since)})`).join(", ")}
        </p>
      )}
      {sync?.incomplete && (
        <p>
          Some objects are missing: you have access to more namespaces than the page reads. With a role for all namespaces it shows
          everything.
        </p>
      )}
      {sync && sync.hidden.length > 0 && <p class="calm">You may not list, and so do not see: {sync.hidden.join(", ")}</p>}
    </div>
  );
}

const closeHelp = () => (helpVisible.value = false);

function Help() {
  return (
    <div class="veil" onClick={closeHelp}>
      <div class="help" role="dialog" aria-modal="true" aria-label="Keys" onClick={(event) => event.stopPropagation()}>
        <header>
          <h2>Keys</h2>
          <button type="button" class="button plain" ref={(button) => button?.focus()} onClick={closeHelp}>
            Close
          </button>
        </header>
        <dl>
          {KEYS.map(([keys, does]) => (
            <div key={does}>
              <dt>
                {keys.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
        <p class="legend">
          {(["Healthy", "Degraded", "Unknown", "Down"] as const).map((health) => (
            <span key={health}>
              <HealthIcon health={health} bare /> {health.toLowerCase()}
            </span>
          ))}
        </p>
        <p class="soft">Unknown: no running agent or controller reports it. {domainName("cluster")}: nodes, agents and the controller.</p>
      </div>
    </div>
  );
}
