import { createHash } from "node:crypto";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { deleteCookie, setCookie } from "hono/cookie";
import { secureHeaders } from "hono/secure-headers";
import type { HttpBindings } from "@hono/node-server";
import type { ConfigNamespaces } from "../../explain/explainers.ts";
import type { Log } from "../../kube/log.ts";
import { pageStreams, pageStreamsRejected } from "../metrics.ts";
import type { DashboardModel } from "../model/model.ts";
import type { RefreshTimer } from "../model/refresh-timer.ts";
import { AccessFilter } from "../access/access-filter.ts";
import { LoginError, type Viewer, type Authenticator } from "../access/viewer.ts";
import { RowReferences } from "../access/refs.ts";
import { type ErrorBody, VIEW_NAMES, type ViewName, type WhoAmI } from "../api.ts";
import { Slots } from "../slots.ts";
import type { Asset } from "./assets.ts";
import { DetailBuilder } from "./details.ts";
import { EventStream } from "./stream.ts";

export interface AppOptions {
  readonly model: DashboardModel;
  readonly timer: RefreshTimer;
  readonly namespaces: ConfigNamespaces;
  readonly authenticator: Authenticator;
  readonly assets: ReadonlyMap<string, Asset>;
  readonly version: string;
  readonly log: Log;
  /** Ends every stream. */
  readonly signal: AbortSignal;
}

const MOST_STREAMS = { each: 8, all: 64 };
/** Running requests per user and in all, until the last byte is sent. */
const MOST_REQUESTS = { each: 8, all: 64 };
/** Running requests, including those before login. */
const MOST_AT_ONCE = 128;
/** The limit per stream. */
const MOST_DETAILS = 8;
const LONGEST_TOKEN = 16 * 1024;
/** Browsers silently drop longer ones. */
const LONGEST_COOKIE = 4_096;

type Env = { Bindings: HttpBindings };

/** Serves rows, streams and the page. It changes nothing in the cluster. */
export function dashboardApp({ model, timer, namespaces, authenticator, assets, version, log, signal }: AppOptions): Hono<Env> {
  const app = new Hono<Env>();
  const details = new DetailBuilder(model, namespaces);
  const behind = new RowReferences(model.rows, namespaces);
  const streams = new Slots(MOST_STREAMS);
  const requests = new Slots(MOST_REQUESTS);
  let atOnce = 0;

  /** The viewer, unless there are too many requests. */
  const admitted = async (c: Context<Env>): Promise<Viewer> => {
    const viewer = await viewerOf(c);
    const { outgoing } = c.env;
    // The connection may have closed already, without a further event.
    if (outgoing.destroyed) throw new LoginError("Unreachable", "The client closed the request");
    const free = requests.take(viewer.user);
    if (free === "each") throw new LoginError("TooMany", `At most ${MOST_REQUESTS.each} requests per user at a time`);
    if (free === "all") throw new LoginError("TooMany", `At most ${MOST_REQUESTS.all} requests at a time`);
    outgoing.once("close", free);
    return viewer;
  };
  const viewerOf = (c: Context<Env>): Promise<Viewer> => {
    const { authorization, cookie } = c.req.header();
    const from = c.env.incoming.socket.remoteAddress ?? "";
    return authenticator.viewerOf({ from, ...(authorization && { authorization }), ...(cookie && { cookie }) }, c.req.raw.signal);
  };

  app.use(
    secureHeaders({
      contentSecurityPolicy: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'", "data:"],
        connectSrc: ["'self'"],
        baseUri: ["'none'"],
        formAction: ["'none'"],
        frameAncestors: ["'none'"],
      },
      xFrameOptions: "DENY",
      strictTransportSecurity: false,
    }),
  );
  app.use(async (c, next) => {
    if (!authenticator.knowsHost(c.req.header("host") ?? "")) return errorResponse(c, 421, "Unknown host name");
    return next();
  });
  app.use("/api/*", async (c, next) => {
    if (atOnce >= MOST_AT_ONCE) {
      c.header("Retry-After", "10");
      return errorResponse(c, 503, "Too many requests; try again in a moment");
    }
    atOnce += 1;
    try {
      await next();
    } finally {
      atOnce -= 1;
    }
    if (!c.res.headers.has("Cache-Control")) c.header("Cache-Control", "no-store");
    return undefined;
  });
  app.onError((error, c) => {
    if (error instanceof LoginError) {
      if (error.status === 401) c.header("WWW-Authenticate", 'Bearer realm="plumbline"');
      if (error.status !== 401) c.header("Retry-After", "10");
      return errorResponse(c, error.status, error.message);
    }
    log.error({ error, path: c.req.path }, "page request failed");
    return errorResponse(c, 500, "Internal error; see the server's log");
  });
  app.notFound((c) => errorResponse(c, 404, "Not found"));

  app.get("/api/whoami", async (c) => {
    const { user, login } = await viewerOf(c);
    return c.json({ user, login, version } satisfies WhoAmI);
  });

  app.get("/api/views/:view", async (c) => {
    const view = c.req.param("view");
    if (!isView(view)) return errorResponse(c, 404, `Unknown view ${view}; views: ${VIEW_NAMES.join(", ")}`);
    const viewer = await admitted(c);
    const access = new AccessFilter(viewer, namespaces);
    timer.freshen();
    await viewer.learn(access.asks([view], behind), c.req.raw.signal);
    const { epoch, revision } = model.rows;
    const rows = model.rows.snapshot(view, access.filter);
    // Viewers see different rows, so the revision alone is not enough.
    const tag = `"${epoch}-${createHash("sha256").update(rows).digest("base64url").slice(0, 22)}"`;
    c.header("ETag", tag);
    c.header("Cache-Control", "private, no-cache");
    if (c.req.header("if-none-match") === tag) return c.body(null, 304);
    return c.body(`{"view":"${view}","epoch":"${epoch}","revision":${revision},"rows":${rows}}`, 200, JSON_TYPE);
  });

  app.get("/api/components/:id{.+}", async (c) => {
    const viewer = await admitted(c);
    timer.freshen();
    const answer = await details.component(c.req.param("id"), viewer, new AccessFilter(viewer, namespaces), c.req.raw.signal);
    return c.json(answer, "missing" in answer ? 404 : 200);
  });

  app.get("/api/why", async (c) => {
    const id = c.req.query("component");
    if (!id) return errorResponse(c, 400, "Missing parameter component: /api/why?component=Service/shop/web");
    const viewer = await admitted(c);
    timer.freshen();
    const answer = await details.why(id, viewer, new AccessFilter(viewer, namespaces), c.req.raw.signal);
    return c.json(answer, "missing" in answer ? 404 : 200);
  });

  app.get("/api/stream", async (c) => {
    const requested = (c.req.query("views") ?? "").split(",").filter((name) => name !== "");
    const unknown = requested.find((name) => !isView(name));
    if (unknown !== undefined) return errorResponse(c, 404, `Unknown view ${unknown}; views: ${VIEW_NAMES.join(", ")}`);
    const components = c.req.queries("component") ?? [];
    const whys = c.req.queries("why") ?? [];
    if (components.length + whys.length > MOST_DETAILS) return errorResponse(c, 400, `At most ${MOST_DETAILS} components at a time`);
    const viewer = await viewerOf(c);
    // The connection may have closed already, without a further event.
    if (c.env.outgoing.destroyed) return c.body(null);
    const free = streams.take(viewer.user);
    if (typeof free === "string") {
      pageStreamsRejected.inc();
      c.header("Retry-After", "10");
      const whose = free === "each" ? `${MOST_STREAMS.each} browsers of ${viewer.user}` : `${MOST_STREAMS.all} browsers`;
      return errorResponse(c, 503, `${whose} are connected already; close one of them`);
    }
    const lastEventId = c.req.header("last-event-id");
    const ended = new AbortController();
    const stream = new EventStream({
      model,
      timer,
      viewer,
      access: new AccessFilter(viewer, namespaces),
      behind,
      details,
      views: [...new Set([...requested.filter(isView), "sync" as const])],
      components,
      whys,
      ...(lastEventId !== undefined && { lastEventId }),
      signal: AbortSignal.any([signal, ended.signal]),
    });
    pageStreams.set(streams.taken);
    c.env.outgoing.once("close", () => {
      free();
      pageStreams.set(streams.taken);
      ended.abort();
    });
    return c.body(stream.body(), 200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no" });
  });

  if (authenticator.cookie !== undefined) addLogin(app, authenticator.cookie, viewerOfToken);

  app.get("*", (c) => {
    const asset = assets.get(c.req.path);
    if (!asset) return errorResponse(c, 404, "Not found");
    const zipped = /\bgzip\b/.test(c.req.header("accept-encoding") ?? "");
    return c.body(zipped ? asset.gzipped : asset.body, 200, {
      "Content-Type": asset.type,
      "Cache-Control": asset.lasts ? "public, max-age=31536000, immutable" : "no-cache",
      Vary: "Accept-Encoding",
      ...(zipped && { "Content-Encoding": "gzip" }),
    });
  });
  return app;

  function viewerOfToken(c: Context<Env>, token: string): Promise<Viewer> {
    const from = c.env.incoming.socket.remoteAddress ?? "";
    return authenticator.viewerOf({ from, authorization: `Bearer ${token}` }, c.req.raw.signal);
  }
}

/** Rejects cross-site requests, which could log the browser in with another token. */
const ours: MiddlewareHandler<Env> = async (c, next) => {
  const type = (c.req.header("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json") return errorResponse(c, 415, "Content-Type must be application/json");
  // Browsers send it; other programs need not.
  if ((c.req.header("sec-fetch-site") ?? "same-origin") !== "same-origin") return errorResponse(c, 403, "Cross-site requests are rejected");
  return next();
};

/** The token is kept in a cookie that scripts cannot read and that is sent only to this page. */
function addLogin(app: Hono<Env>, cookie: string, viewerOf: (c: Context<Env>, token: string) => Promise<Viewer>): void {
  const attributes = { httpOnly: true, secure: true, sameSite: "Strict", path: "/" } as const;
  const small = bodyLimit({ maxSize: LONGEST_TOKEN, onError: (c) => errorResponse(c, 413, "Not a valid token") });
  app.post("/api/login", ours, small, async (c) => {
    const body: unknown = await c.req.json().catch(() => undefined);
    const token = typeof body === "object" && body !== null && "token" in body ? body.token : undefined;
    // JSON may contain a lone surrogate, a cookie may not.
    if (typeof token !== "string" || token.trim() === "" || !token.isWellFormed())
      return errorResponse(c, 400, 'Send the token as { "token": ... }');
    if (cookie.length + encodeURIComponent(token.trim()).length > LONGEST_COOKIE)
      return errorResponse(
        c,
        413,
        "This token is too long for a cookie; use one of a ServiceAccount: kubectl create token NAME -n NAMESPACE",
      );
    const { user } = await viewerOf(c, token.trim());
    setCookie(c, cookie, token.trim(), attributes);
    return c.json({ user });
  });
  app.post("/api/logout", ours, (c) => {
    deleteCookie(c, cookie, attributes);
    return c.json({});
  });
}

const JSON_TYPE = { "Content-Type": "application/json" };

function errorResponse(c: Context, status: 400 | 401 | 403 | 404 | 413 | 415 | 421 | 429 | 500 | 503, error: string): Response {
  return c.json({ error } satisfies ErrorBody, status);
}

function isView(name: string): name is ViewName {
  return (VIEW_NAMES as readonly string[]).includes(name);
}
