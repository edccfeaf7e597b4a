import type { IncomingMessage, ServerResponse } from "node:http";
import type { Log } from "../../kube/log.ts";
import { ApiError, badRequest, internalError, methodNotAllowed, notFound } from "../store/api-error.ts";
import type { FileWriteBack } from "../directory/write-back.ts";
import type { Store } from "../store/store.ts";
import { sendFault, sendText } from "./response.ts";
import { ReadHandler } from "./get-list.ts";
import { parseRequest, ClientGone, isTrue, type ApiRequest } from "./request.ts";
import { notFoundPath, Paths, type RequestTarget } from "./target.ts";
import { WriteHandler } from "./create-update-delete.ts";

export type Handler = (message: IncomingMessage, response: ServerResponse) => void;

/** Handles other paths; returns false if the path is not its own. */
export type Extra = (request: ApiRequest, response: ServerResponse) => boolean | Promise<boolean>;

/** Every error is answered with a Status; the process continues. */
export function apiHandler(options: { store: Store; keeping: FileWriteBack; log: Log; extras: readonly Extra[] }): Handler {
  const { store, keeping, log, extras } = options;
  const paths = new Paths(store.kinds);
  const reading = new ReadHandler(store, log);
  const writing = new WriteHandler(store, keeping);

  async function serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = parseRequest(message);
    const target = paths.find(request.segments);
    if (target) return dispatch(request, target, response);
    for (const extra of extras) if (await extra(request, response)) return;
    sendText(response, 404, "404 page not found\n");
  }

  function dispatch(request: ApiRequest, target: RequestTarget, response: ServerResponse): void | Promise<void> {
    const { method } = request;
    const one = target.name !== undefined;
    checkSubresource(target, method);
    switch (method) {
      case "GET":
      case "HEAD":
        if (isTrue(request.query, "watch")) return reading.watch(request, target, response);
        return one ? reading.get(request, target, response) : reading.list(request, target, response);
      case "POST":
        if (one || !hasScope(target)) throw notAllowed(target, "create");
        return writing.create(request, target, response);
      case "PUT":
        if (!one) throw unnamed(target, "update");
        return writing.replace(request, target, response);
      case "PATCH":
        if (!one) throw unnamed(target, "patch");
        return writing.patch(request, target, response);
      case "DELETE":
        if (one) return writing.delete(request, target, response);
        if (!hasScope(target) || target.kind.kind === "Namespace") throw notAllowed(target, "deletecollection");
        return writing.deleteCollection(request, target, response);
      default:
        throw notAllowed(target, "");
    }
  }

  return (message, response) => {
    serve(message, response).catch((error: unknown) => sendError(error, message, response, log));
  };
}

/** A namespaced kind is written within a namespace only. */
const hasScope = ({ kind, namespace }: RequestTarget) => kind.scope === "Cluster" || namespace !== undefined;

function notAllowed({ kind }: RequestTarget, verb: string): ApiError {
  if (kind.custom) return methodNotAllowed(kind, verb);
  return new ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {});
}

function unnamed(target: RequestTarget, verb: string): ApiError {
  return target.kind.custom ? badRequest("name must be provided") : notAllowed(target, verb);
}

function checkSubresource(target: RequestTarget, method: string): void {
  const { kind, subresource, name = "" } = target;
  if (subresource === undefined) return;
  if (subresource !== "status" || !kind.rules.hasStatus) throw kind.custom ? notFound(kind, name) : notFoundPath();
  if (method === "DELETE") throw notAllowed(target, "delete");
}

function sendError(error: unknown, message: IncomingMessage, response: ServerResponse, log: Log): void {
  if (error instanceof ClientGone) return;
  const fault = faultOf(error);
  // A full disk or an unwritable directory is no bug: its sentence is enough, without a stack.
  const cause = error instanceof ApiError ? { reason: error.message } : { error };
  if (fault.code === 500) log.error({ method: message.method, url: message.url, ...cause }, "a request failed");
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // The rest of the request is not read.
  if (!message.complete) response.setHeader("connection", "close");
  sendFault(response, fault);
}

function faultOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof RangeError && error.message.includes("call stack")) return badRequest("json: exceeded max depth");
  return internalError(error instanceof Error ? error.message : String(error), error);
}
