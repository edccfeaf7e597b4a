import { sweepWhenGone } from "../lab/child.ts";
import { holderId } from "../lab/holder.ts";

/** The environment variable that all processes of a test run have, also those that left their parent. */
const VARIABLE = "PLUMBLINE_TEST_RUN";
/** A lab takes seconds to end. */
const GRACE_SECONDS = 30;

// Sweepers end by themselves and remove what others left: they, and what they run, are not killed. They ignore SIGTERM.
const SCRIPT = `mark=$1 grace=$2; unset ${VARIABLE}
is_sweeper() { tr '\\0' '\\n' <"/proc/$1/cmdline" | grep -qx sweeper; }
marked() {
  grep -zlsxF -- "$mark" /proc/[0-9]*/environ | while IFS=/ read -r _ _ pid _; do
    parent=$(sed 's/.*) [^ ]* //; s/ .*//' "/proc/$pid/stat") && [ "$parent" ] || continue
    is_sweeper "$pid" || is_sweeper "$parent" || echo "$pid"
  done 2>/dev/null
}
signal() { for pid in $(marked); do kill -s "$1" "$pid" 2>/dev/null; done; }
signal TERM
until [ -z "$(marked)" ] || [ "$grace" -le 0 ]; do sleep 1; grace=$((grace - 1)); done
for _ in 1 2 3 4 5; do [ -z "$(marked)" ] || { signal KILL; sleep 0.2; }; done`;

/**
 * Ends everything that this process starts from now on once it is gone itself, however it ends: a lab that a suite leaves in the background has no parent
 * that would notice.
 */
export function endProcessesWithRun({ graceSeconds = GRACE_SECONDS } = {}): void {
  const run = holderId();
  process.env[VARIABLE] = run;
  sweepWhenGone(SCRIPT, `${VARIABLE}=${run}`, String(graceSeconds));
}
