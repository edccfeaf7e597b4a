/** What one file and one object may have. A real API server stores no object over 1.5 MB. */
export const FILE_BYTES = 16 * 1024 * 1024;
export const OBJECT_BYTES = 1536 * 1024;
export const DEPTH = 100;
/** What the parser may be given at once: it needs about 10 µs and 1 KB for each, and nothing else happens meanwhile. */
export const YAML_TOKENS = 100_000;

export const tooDeep = `nested more than ${DEPTH} levels deep`;
