/** What a bundle says of itself, in its MANIFEST.json. */
export interface BundleManifest {
  readonly apiVersion: "plumbline.dev/bundle/v1";
  readonly kind: "Bundle";
  /** Of the plumbline that wrote it. */
  readonly version: string;
  readonly time: string;
  /** The API server that was asked. */
  readonly server: string;
  readonly files: readonly { readonly path: string; readonly objects?: number }[];
  readonly missing: readonly Missing[];
}

/** Something that is not in the bundle. */
export interface Missing {
  readonly what: string;
  readonly why: string;
}

export const MANIFEST = "MANIFEST.json";
export const BUNDLE_VERSION = "plumbline.dev/bundle/v1";
