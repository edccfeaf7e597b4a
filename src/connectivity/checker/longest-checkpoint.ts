/** The longest that the API is told nothing of a check while nothing happens: the first result after that is written. */
export const LONGEST_CHECKPOINT_MS = 600_000;
