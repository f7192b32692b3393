import { invalid, SnowraftError } from "./errors.js";
import type { Layout } from "./layout.js";
import { malformed } from "./wire.js";
import type { Grant } from "./lease.js";

/** plain returns the message of an error, to be a part of another one. */
export function plain(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/^snowraft: /, "");
}

/** timeExhausted returns the error of a layout without a tick left. */
export function timeExhausted(): SnowraftError {
  return new SnowraftError("snowraft: the time field of the layout is full; use a layout with more time bits or a later epoch", {
    reason: "TIME_EXHAUSTED",
  });
}

/** setBack returns the error of a sealed cluster. */
export function setBack(): SnowraftError {
  return new SnowraftError('snowraft: the cluster was set back in time and is sealed; restore it with "snowraft restore"', {
    reason: "SET_BACK",
  });
}

/** unreachable returns the error of a floor above which a layout has no ID. */
export function unreachable(layout: Layout, after: bigint): SnowraftError {
  return invalid(`no ID of layout "${layout.name}" is greater than ${after}`);
}

/** windowEnded returns the error of a lane without a window, given the end of the last one and why no other was granted. */
export function windowEnded(endedAtMs: number | undefined, why: SnowraftError | undefined): SnowraftError {
  const what = endedAtMs === undefined
    ? "no window was granted yet" : `the window ended at ${new Date(endedAtMs).toISOString()}, and no new one was granted yet`;
  const hint = why === undefined ? "; await ready() first" : `: ${plain(why)}`;
  return new SnowraftError(`snowraft: ${what}${hint}`, { reason: "WINDOW_ENDED", retryAfterMs: 500 });
}

/** The problems that explain more than the end of the window. */
export const specific = new Set([
  "CLOCK_BEHIND", "CLOCK_SKEW", "WORKERS_EXHAUSTED", "FENCED", "TIME_EXHAUSTED", "OLD_CLUSTER_ALIVE", "SET_BACK", "CONTRADICTED",
  "UNAUTHENTICATED", "PERMISSION_DENIED",
]);

/** The problems that last until someone intervenes. */
const lasting = new Set(["TIME_EXHAUSTED", "SET_BACK", "UNAUTHENTICATED", "PERMISSION_DENIED"]);

/** lastsMs returns the least time for which a problem is known to last. */
export function lastsMs(problem: SnowraftError, wall: number): number {
  if (lasting.has(problem.reason)) {
    return Infinity;
  }
  const retryAt = Number(problem.metadata["retry_at_ms"] ?? 0);
  return retryAt > 0 ? retryAt - wall : 0;
}

/**
 * delayed returns the error of a request that carried a reading of the clock. If the request took long to arrive, the cluster
 * may refuse it although the clock is not behind.
 */
export function delayed(error: SnowraftError, tookMs: number): SnowraftError {
  const late = Number(error.metadata["behind_ms"] ?? 0) - tookMs <= Number(error.metadata["limit_ms"] ?? 0);
  if (error.reason !== "CLOCK_BEHIND" || !late) {
    return error;
  }
  return new SnowraftError(`snowraft: the response took ${tookMs} ms and came too late: ${plain(error)}`, { reason: "TIMEOUT" });
}

/** impossible returns the error of a grant that no member makes. The member may have made another one, which is lost. */
export function impossible(grant: Grant): SnowraftError {
  return malformed(`impossible grant of worker ${grant.worker}: token ${grant.token}, ticks [${grant.fromTick}, ${grant.untilTick})`);
}

export function tooShort(): SnowraftError {
  return new SnowraftError(
    "snowraft: the granted window has already ended; compare the clock of this machine with the leader's",
    { reason: "WINDOW_ENDED" },
  );
}

export function unexpected(error: unknown): SnowraftError {
  return new SnowraftError(`snowraft: ${plain(error)}`, { reason: "INTERNAL" });
}
