/** A kube-apiserver stores no object over 1.5 MB. */
export const FILE_BYTES = 16 * 1024 * 1024;
export const OBJECT_BYTES = 1536 * 1024;
export const DEPTH = 100;
/** The parser blocks the process for about 10 µs per token, and takes 1 KB for it. */
export const YAML_TOKENS = 100_000;

export const tooDeep = `nested more than ${DEPTH} levels deep`;
