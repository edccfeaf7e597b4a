export interface BundleManifest {
  readonly apiVersion: "plumbline.dev/bundle/v1";
  readonly kind: "Bundle";
  readonly version: string;
  readonly time: string;
  /** The URL of the API server. */
  readonly server: string;
  readonly files: readonly { readonly path: string; readonly objects?: number }[];
  readonly missing: readonly Missing[];
}

export interface Missing {
  readonly what: string;
  readonly why: string;
}

export const MANIFEST = "MANIFEST.json";
export const BUNDLE_VERSION = "plumbline.dev/bundle/v1";
