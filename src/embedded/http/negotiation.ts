import { ApiError } from "../store/api-error.ts";
import type { Encoding } from "./response.ts";

export interface ResponseFormat {
  readonly encoding: Encoding;
  readonly as: "object" | "table" | "metadata" | "discovery";
}

const PLAIN: ResponseFormat = { encoding: "json", as: "object" };

const FORMATS: Record<string, ResponseFormat["as"]> = {
  "Table.meta.k8s.io/v1": "table",
  "PartialObjectMetadata.meta.k8s.io/v1": "metadata",
  "PartialObjectMetadataList.meta.k8s.io/v1": "metadata",
  "APIGroupDiscoveryList.apidiscovery.k8s.io/v2": "discovery",
};

/** The first of the client's accepted types that is possible. */
export function negotiate(accept: string | undefined, possible: readonly ResponseFormat["as"][]): ResponseFormat {
  if (accept === undefined || accept === "application/json") return PLAIN;
  for (const clause of accept.split(",")) {
    const wanted = read(clause);
    if (wanted && possible.includes(wanted.as)) return wanted;
  }
  throw new ApiError(406, "NotAcceptable", "only the following media types are accepted: application/json, application/yaml", {});
}

function read(clause: string): ResponseFormat | undefined {
  const [type = "", ...rest] = clause.split(";").map((part) => part.trim());
  const encoding = encodingOf(type);
  if (!encoding) return undefined;
  const parameters = new Map(rest.map((parameter) => parameter.split("=", 2) as [string, string | undefined]));
  const format = parameters.get("as");
  if (format === undefined) return { encoding, as: "object" };
  const as = FORMATS[`${format}.${parameters.get("g") ?? ""}/${parameters.get("v") ?? ""}`];
  return as && { encoding, as };
}

function encodingOf(type: string): Encoding | undefined {
  if (type === "application/json" || type === "*/*" || type === "application/*") return "json";
  return type === "application/yaml" ? "yaml" : undefined;
}
